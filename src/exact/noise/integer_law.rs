//! What the integer laws share: vectors of draws, in parallel, and noise added to integers.

use rayon::prelude::*;

use super::source::Source;
use crate::error::{Error, Result};

/// Entries of a vector that share a stream, some ten microseconds of work. A fixed number, so that a seed gives the
/// same vector on any threads.
const CHUNK: usize = 1 << 10;

/// Chunks per thread between two looks of [`fill_watched`]: 2^16 entries, some milliseconds.
const CHUNKS: usize = 1 << 6;

/// A law on the integers, drawn exactly.
pub trait IntegerLaw: Sync {
    /// One draw. The laws have no end, and 128 bits hold every value that fewer than 2^58 bits in a row of the
    /// generator equal to zero can give.
    fn draw_wide(&self, source: &mut Source) -> i128;

    /// One draw, clamped to [-(2^63 - 1), 2^63 - 1]: a function of the exact draw. The laws of scale up to 2^40 leave
    /// this range with probability below exp(-2^22).
    #[inline]
    fn draw(&self, source: &mut Source) -> i64 {
        let end = i128::from(i64::MAX);
        self.draw_wide(source).clamp(-end, end) as i64
    }
}

/// Fills `out` with independent draws, clamped as [`IntegerLaw::draw`] does, in parallel.
///
/// ```
/// use dpsparse::exact::noise::{integer_law, rounded_gaussian::RoundedGaussian, source::Source};
/// let mut noise = vec![0; 1000];
/// integer_law::fill(&RoundedGaussian::new(5.0)?, &mut Source::secure()?, &mut noise)?;
/// assert!(noise.iter().any(|&k| k > 0) && noise.iter().all(|&k| k.abs() < 100));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::Randomness`].
pub fn fill(law: &impl IntegerLaw, source: &mut Source, out: &mut [i64]) -> Result<()> {
    fill_watched(law, source, out, &mut |_| Ok(()))
}

/// The same values as [`fill`], in steps: after each, `look` is told how many entries are done, and may stop the work.
///
/// # Errors
/// [`Error::Randomness`], and what `look` returns.
pub fn fill_watched(
    law: &impl IntegerLaw,
    source: &mut Source,
    out: &mut [i64],
    look: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    source.renew_after_fork()?;
    let streams = source.streams();
    let together = CHUNKS * rayon::current_num_threads();
    let mut done = 0;
    for (step, entries) in out.chunks_mut(together * CHUNK).enumerate() {
        let chunks = entries.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(number, chunk)| {
            let mut source = streams.stream((step * together + number) as u64);
            chunk.fill_with(|| law.draw(&mut source));
        });
        done += entries.len();
        look(done)?;
    }
    Ok(())
}

/// `values` plus independent draws, in parallel; nothing is clamped or wrapped.
///
/// Sums are exact in 128 bits, so whether one of them leaves the 64-bit integers is a function of the noisy vector:
/// the answer, this error included, is post-processing of it.
///
/// ```
/// use dpsparse::exact::noise::{discrete_gaussian::DiscreteGaussian, integer_law, source::Source};
/// let (law, mut source) = (DiscreteGaussian::new(3.0)?, Source::seeded(1));
/// let noisy = integer_law::add(&law, &mut source, &[1000, -1000])?;
/// assert!((noisy[0] - 1000).abs() < 50 && (noisy[1] + 1000).abs() < 50);
/// assert!(integer_law::add(&law, &mut source, &[i64::MAX; 50]).is_err());
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] when a noisy value does not fit 64 bits; [`Error::Randomness`].
pub fn add(law: &impl IntegerLaw, source: &mut Source, values: &[i64]) -> Result<Vec<i64>> {
    #[cfg(test)]
    crate::exact::tap::see(|| crate::exact::tap::Seen::Integers(values.to_vec()));
    source.renew_after_fork()?;
    let streams = source.streams();
    let mut noisy = values.to_vec();
    let chunks = noisy.par_chunks_mut(CHUNK).enumerate();
    // Every chunk is drawn to its end, and all of them whatever happens in one.
    let fits = chunks.map(|(number, chunk)| {
        let mut source = streams.stream(number as u64);
        let mut fits = true;
        for value in chunk {
            match i64::try_from(
                law.draw_wide(&mut source)
                    .saturating_add(i128::from(*value)),
            ) {
                Ok(sum) => *value = sum,
                Err(_) => fits = false,
            }
        }
        fits
    });
    if fits.reduce(|| true, |a, b| a & b) {
        Ok(noisy)
    } else {
        Err(Error::invalid(
            "values",
            "with their noise do not fit 64 bits: use a coarser lattice",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::noise::discrete_gaussian::DiscreteGaussian;
    use crate::exact::noise::discrete_laplace::DiscreteLaplace;
    use crate::exact::noise::rounded_gaussian::RoundedGaussian;

    fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(work)
    }

    #[test]
    fn threads_change_no_value_and_parts_are_not_repeated() {
        let law = DiscreteLaplace::new(1e9).unwrap();
        let vector = |threads, n| {
            on_threads(threads, || {
                let mut out = vec![0; n];
                fill(&law, &mut Source::seeded(5), &mut out).unwrap();
                out
            })
        };
        let one = vector(1, 3 * CHUNK + 17);
        assert!(
            [2, 3, 8]
                .iter()
                .all(|&threads| vector(threads, one.len()) == one)
        );
        // A shorter vector is the beginning of a longer one.
        assert_eq!(vector(2, CHUNK + 1), one[..=CHUNK]);
        assert_ne!(one[..17], one[CHUNK..CHUNK + 17]);
        let sum = on_threads(2, || {
            add(&law, &mut Source::seeded(5), &vec![7; one.len()]).unwrap()
        });
        assert!(sum.iter().zip(&one).all(|(sum, noise)| sum - 7 == *noise));
    }

    /// Looks change no value, come every 2^16 entries per thread, and stop the work.
    #[test]
    fn looks_come_in_time_and_stop_the_work() {
        let law = DiscreteLaplace::new(1e9).unwrap();
        let step = 2 * CHUNKS * CHUNK;
        let n = 2 * step + 5;
        let mut plain = vec![0; n];
        fill(&law, &mut Source::seeded(5), &mut plain).unwrap();
        let filled = |last: usize| {
            on_threads(2, || {
                let (mut out, mut looks) = (vec![0; n], Vec::new());
                let mut look = |done| {
                    looks.push(done);
                    if done < last {
                        Ok(())
                    } else {
                        Err(Error::Interrupted)
                    }
                };
                let result = fill_watched(&law, &mut Source::seeded(5), &mut out, &mut look);
                (out, looks, result)
            })
        };
        let (out, looks, result) = filled(n + 1);
        assert!(result.is_ok() && out == plain);
        assert_eq!(looks, [step, 2 * step, n]);
        let (begun, looks, stopped) = filled(step);
        assert!(matches!(stopped, Err(Error::Interrupted)) && looks == [step]);
        assert!(begun[..step] == plain[..step] && begun[step..].iter().all(|&entry| entry == 0));
        assert_ne!(
            plain[..17],
            out[step..step + 17],
            "noise is not repeated after a look"
        );
    }

    /// A forked child that inherited a key draws its own noise, whatever it draws first.
    #[test]
    fn a_forked_child_draws_its_own_vectors() {
        let law = DiscreteLaplace::new(1e9).unwrap();
        let here = std::process::id();
        let filled = |process| {
            let mut out = [0; 8];
            fill(&law, &mut Source::inherited(process), &mut out).unwrap();
            out
        };
        let added = |process| add(&law, &mut Source::inherited(process), &[0; 8]).unwrap();
        assert_eq!(filled(here), filled(here));
        assert_ne!(filled(here), filled(here ^ 1));
        assert_eq!(added(here), added(here));
        assert_ne!(added(here), added(here ^ 1));
    }

    /// Chi-square of the share of negative values among magnitudes of one residue modulo 8: strips are 4 and 8 wide,
    /// so the place in a strip shows in it. 8 degrees of freedom, 1 - 1e-6 quantile 42.8.
    #[test]
    fn signs_say_nothing_of_magnitudes() {
        let check = |law: &dyn Fn(&mut Source) -> i64| {
            let (mut source, mut counts) = (Source::seeded(12), [[0f64; 2]; 8]);
            for _ in 0..80_000 {
                let k = law(&mut source);
                if k != 0 {
                    counts[(k.unsigned_abs() % 8) as usize][usize::from(k < 0)] += 1.0;
                }
            }
            let term = |[plus, minus]: [f64; 2]| (plus - minus).powi(2) / (plus + minus);
            let statistic: f64 = counts.into_iter().map(term).sum();
            assert!(statistic < 42.8, "{statistic}");
        };
        let rounded = RoundedGaussian::new(128.0).unwrap();
        check(&|source| rounded.draw(source));
        let gaussian = DiscreteGaussian::new(128.0).unwrap();
        check(&|source| gaussian.draw(source));
        let laplace = DiscreteLaplace::new(128.0).unwrap();
        check(&|source| laplace.draw(source));
    }

    #[test]
    fn one_source_gives_fresh_vectors() {
        let (law, mut source) = (DiscreteLaplace::new(1e9).unwrap(), Source::seeded(5));
        let mut vectors = [[0; 8]; 2];
        for vector in &mut vectors {
            fill(&law, &mut source, vector).unwrap();
        }
        assert_ne!(vectors[0], vectors[1]);
    }

    /// Every power of two in the domain, and the numbers next to its ends, with overflow checks on.
    #[test]
    fn scales_of_the_whole_domain() {
        let mut source = Source::seeded(1);
        let mut check = |law: &dyn Fn(&mut Source) -> i64, scale: f64, least: f64| {
            let draws: Vec<f64> = (0..2_000).map(|_| law(&mut source) as f64).collect();
            let largest = draws.iter().fold(0f64, |a, b| a.max(b.abs()));
            assert!(largest <= 1.0 + 40.0 * scale, "{scale}"); // 2 000 exp(-40) = 1e-14
            assert!(scale < 1.0 || largest >= least * scale, "{scale}");
        };
        let powers = (-10..=40).map(|power| 2f64.powi(power));
        for scale in powers.chain([2f64.powi(-10).next_up(), 2f64.powi(40).next_down()]) {
            let rounded = RoundedGaussian::new(scale).unwrap();
            check(&|source| rounded.draw(source), scale, 2.0);
            let gaussian = DiscreteGaussian::new(scale).unwrap();
            check(&|source| gaussian.draw(source), scale, 2.0);
            let laplace = DiscreteLaplace::new(scale).unwrap();
            check(&|source| laplace.draw(source), scale, 4.0);
        }
    }

    /// Words per draw over the whole domain: 2.4 rounds of 2 words at most are expected, and a hundredth more for
    /// digits. A mean of 2 000 draws exceeds 6 with a chance far below 1e-6.
    #[test]
    fn words_are_bounded() {
        const DRAWS: usize = 2_000;
        let spend = |law: &dyn Fn(&mut Source) -> i64| {
            let mut source = Source::limited(1, 6 * DRAWS as u64);
            assert_eq!((0..DRAWS).map(|_| law(&mut source)).count(), DRAWS);
        };
        for power in -10..=40 {
            let scale = 2f64.powi(power);
            let rounded = RoundedGaussian::new(scale).unwrap();
            spend(&|source| rounded.draw(source));
            let gaussian = DiscreteGaussian::new(scale).unwrap();
            spend(&|source| gaussian.draw(source));
            let laplace = DiscreteLaplace::new(scale).unwrap();
            spend(&|source| laplace.draw(source));
        }
    }

    /// A law that leaves 64 bits: clamped by draws, refused by sums unless the value brings it back.
    struct Far(i128);

    impl IntegerLaw for Far {
        fn draw_wide(&self, _: &mut Source) -> i128 {
            self.0
        }
    }

    #[test]
    fn nothing_wraps() {
        let mut source = Source::seeded(0);
        let end = i128::from(i64::MAX);
        assert_eq!(Far(end + 1).draw(&mut source), i64::MAX);
        assert_eq!(Far(i128::MIN).draw(&mut source), -i64::MAX);
        assert_eq!(add(&Far(end + 1), &mut source, &[-1]).unwrap(), [i64::MAX]);
        assert!(add(&Far(end), &mut source, &[0, 1]).is_err());
        assert!(add(&Far(i128::MIN), &mut source, &[-1]).is_err());
        assert_eq!(add(&Far(5), &mut source, &[]).unwrap(), [0i64; 0]);
    }
}
