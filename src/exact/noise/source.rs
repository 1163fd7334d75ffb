//! The generator of all randomness: ChaCha20 keyed by the operating system, fresh for every fit.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::error::{Error, Result};

/// A stream of random bits for one release.
///
/// A secure source is keyed by the operating system. A seeded one exists for tests and for reproducing
/// figures; a release that used it carries no guarantee, and its certificate says so. A source is no copy of another,
/// and none is had twice:
/// ```compile_fail,E0624
/// let mut source = dpsparse::exact::noise::source::Source::secure().unwrap();
/// source.streams().stream(0);
/// ```
pub struct Source {
    generator: ChaCha20Rng,
    secure: bool,
    process: u32,
    /// Words that may still be drawn: tests bound the rounds of a sampler with it, and fail where it runs on.
    #[cfg(test)]
    left: u64,
}

#[cfg(test)]
impl Source {
    /// A seeded source of so many words; one more panics.
    pub(crate) fn limited(seed: u64, words: u64) -> Self {
        Self {
            left: words,
            ..Self::seeded(seed)
        }
    }

    /// A source of one fixed key that passes for secure, as a child forked from `process` finds it.
    pub(crate) fn inherited(process: u32) -> Self {
        Self {
            generator: ChaCha20Rng::from_seed([9; 32]),
            secure: true,
            process,
            left: u64::MAX,
        }
    }
}

impl Source {
    /// Keyed with 256 fresh bits from the operating system.
    ///
    /// # Errors
    /// [`Error::Randomness`] when the operating system gives none.
    pub fn secure() -> Result<Self> {
        Ok(Self {
            generator: Self::fresh()?,
            secure: true,
            process: std::process::id(),
            #[cfg(test)]
            left: u64::MAX,
        })
    }

    /// Reproducible and **not private**.
    pub fn seeded(seed: u64) -> Self {
        Self {
            generator: ChaCha20Rng::seed_from_u64(seed),
            secure: false,
            process: std::process::id(),
            #[cfg(test)]
            left: u64::MAX,
        }
    }

    fn fresh() -> Result<ChaCha20Rng> {
        let mut key = [0u8; 32];
        getrandom::fill(&mut key).map_err(|error| Error::Randomness(error.to_string()))?;
        Ok(ChaCha20Rng::from_seed(key))
    }

    /// Whether the key came from the operating system.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Draws a new key if the process was forked since the last one, so that parent and child never share
    /// noise. Every answer calls this first: the only place where foreign code can fork in the middle of a
    /// release is the progress callback between two answers.
    ///
    /// # Errors
    /// [`Error::Randomness`] when the operating system gives none.
    pub fn renew_after_fork(&mut self) -> Result<()> {
        if self.secure && self.process != std::process::id() {
            *self = Self::secure()?;
        }
        Ok(())
    }

    /// What tells the seeds of seeded sources apart; None for a secure one, of which nothing may be kept.
    pub fn mark(&self) -> Option<u64> {
        if self.secure {
            return None;
        }
        let mut other = ChaCha20Rng::from_seed(self.generator.get_seed());
        other.set_stream(u64::MAX);
        Some(other.next_u64())
    }

    /// How many words of 32 bits a seeded source has drawn; None for a secure one: it would tell of what was drawn.
    pub fn position(&self) -> Option<u64> {
        let words = || u64::try_from(self.generator.get_word_pos()).ok();
        if self.secure { None } else { words() }
    }

    /// Goes to where a seeded source was; a secure one stays where it is, so that no bit is drawn twice.
    pub fn go_to(&mut self, position: u64) {
        if !self.secure {
            self.generator.set_word_pos(u128::from(position));
        }
    }

    /// A family of independent streams, keyed with 256 bits of this one: work that is cut into fixed parts takes
    /// one stream a part, so that its result depends on no thread. Not for others: a stream can be had twice, and two
    /// releases with the same noise would each pass for private.
    pub(super) fn streams(&mut self) -> Streams {
        let mut key = [0u8; 32];
        for part in key.chunks_exact_mut(8) {
            part.copy_from_slice(&self.bits().to_le_bytes());
        }
        Streams {
            key,
            secure: self.secure,
        }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        #[cfg(test)]
        {
            self.left = (self.left.checked_sub(1)).expect("more words were drawn than the bound");
        }
        self.generator.next_u64()
    }

    /// Uniform integer in [0, bound), exact: rejection on raw bits, no modulo.
    ///
    /// # Panics
    /// If `bound` is 0.
    ///
    /// **Rounds:** fewer than 2 are expected, as `bound` exceeds half of the power of two that is drawn from.
    pub fn below(&mut self, bound: u128) -> u128 {
        assert!(bound > 0);
        let width = 128 - (bound - 1).leading_zeros();
        loop {
            let value = if width <= 64 {
                u128::from(self.bits().checked_shr(64 - width).unwrap_or(0))
            } else {
                (u128::from(self.bits()) << 64 | u128::from(self.bits())) >> (128 - width)
            };
            if value < bound {
                return value;
            }
        }
    }
}

/// Independent streams under one key: the stream number is ChaCha20's nonce (see [`Source::streams`]).
pub(super) struct Streams {
    key: [u8; 32],
    secure: bool,
}

impl Streams {
    /// The stream of a given number, from its beginning.
    pub(super) fn stream(&self, number: u64) -> Source {
        let mut generator = ChaCha20Rng::from_seed(self.key);
        generator.set_stream(number);
        Source {
            generator,
            secure: self.secure,
            process: std::process::id(),
            #[cfg(test)]
            left: u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_stream_is_stable() {
        let mut source = Source::seeded(7);
        let first: Vec<u64> = (0..2).map(|_| source.bits()).collect();
        let mut again = Source::seeded(7);
        assert_eq!(first, [again.bits(), again.bits()]);
        assert!(!source.is_secure() && Source::secure().unwrap().is_secure());
        assert_ne!(
            Source::secure().unwrap().bits(),
            Source::secure().unwrap().bits()
        );
    }

    /// From wherever a seeded source was it goes on alike; a secure one says nothing, and is not moved.
    #[test]
    fn seeded_sources_go_on_from_where_they_were() {
        let mut source = Source::seeded(7);
        let (mut places, mut words) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            places.push(source.position().unwrap());
            words.push(source.bits());
        }
        for k in [0, 1, 15, 31, 32, 33, 63, 64, 100, 255, 256] {
            let mut again = Source::seeded(7);
            again.bits();
            again.go_to(places[k]);
            let rest: Vec<u64> = words[k..].iter().map(|_| again.bits()).collect();
            assert_eq!(rest, words[k..], "{k}");
            assert_eq!(again.position(), source.position());
        }
        assert_eq!(Source::seeded(7).mark(), source.mark());
        assert_ne!(Source::seeded(8).mark(), source.mark());
        let mut secure = Source::inherited(std::process::id());
        assert_eq!((secure.mark(), secure.position()), (None, None));
        let first = secure.bits();
        secure.go_to(0);
        assert_ne!(secure.bits(), first);
    }

    #[test]
    fn streams_differ_and_are_reproducible() {
        let first = |seed: u64, number| Source::seeded(seed).streams().stream(number).bits();
        assert_eq!(first(7, 3), first(7, 3));
        assert_ne!(first(7, 3), first(7, 4));
        assert_ne!(first(7, 3), first(8, 3));
        let mut source = Source::seeded(7);
        // Families of one source are fresh, and none repeats the source itself.
        assert_ne!(
            source.streams().stream(0).bits(),
            source.streams().stream(0).bits()
        );
        assert_ne!(first(7, 0), Source::seeded(7).bits());
        assert!(
            Source::secure().unwrap().streams().stream(0).is_secure()
                && !source.streams().stream(0).is_secure()
        );
    }

    #[test]
    fn a_forked_source_gets_a_new_key() {
        let (mut parent, mut child) = (
            Source::inherited(std::process::id()),
            Source::inherited(std::process::id() ^ 1),
        );
        child.renew_after_fork().unwrap();
        parent.renew_after_fork().unwrap();
        assert_eq!(parent.bits(), Source::inherited(0).bits());
        assert_ne!(child.bits(), Source::inherited(0).bits());
    }

    #[test]
    #[should_panic(expected = "bound > 0")]
    fn nothing_is_below_zero() {
        Source::seeded(1).below(0);
    }

    #[test]
    fn below_is_uniform() {
        let mut source = Source::seeded(1);
        for bound in [1u128, 3, 7, 1 << 70] {
            assert!((0..100).all(|_| source.below(bound) < bound));
        }
        // Chi-square over 7 cells, 70 000 draws: 6 degrees of freedom, 40.3 is the 1 - 4e-7 quantile.
        let mut counts = [0f64; 7];
        (0..70_000).for_each(|_| counts[source.below(7) as usize] += 1.0);
        let statistic: f64 = counts.iter().map(|c| (c - 1e4) * (c - 1e4) / 1e4).sum();
        assert!(statistic < 40.3, "{statistic}");
    }

    /// Bounds of one word and of two: a word modulo the bound would give its lowest third twice as often, and a word
    /// that is drawn once and used twice would have equal halves. 1 - 1e-6 quantiles at 2 and 11 degrees of freedom.
    #[test]
    fn below_is_uniform_up_to_the_widest_bounds() {
        let mut source = Source::seeded(2);
        let mut statistic = |bound: u128, cells: usize, cell: &dyn Fn(u128) -> u128| {
            let mut counts = vec![0f64; cells];
            for _ in 0..12_000 {
                counts[cell(source.below(bound)) as usize] += 1.0;
            }
            let mean = 12_000.0 / cells as f64;
            let terms = counts.iter().map(|count| (count - mean).powi(2) / mean);
            terms.sum::<f64>()
        };
        let one_word = statistic(3 << 62, 3, &|value| value >> 62);
        assert!(one_word < 27.7, "{one_word}");
        let halves = |value: u128| 4 * (value >> 126) + (value >> 62 & 3);
        let two_words = statistic(3 << 126, 12, &halves);
        assert!(two_words < 48.9, "{two_words}");
    }
}
