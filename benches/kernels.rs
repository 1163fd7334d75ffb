//! The gradient pass alone, beside a plain read of the same memory: a server for `benches/gradient.py`.
//!
//! Reads one command a line and answers with seconds, so that a peer in another process can be measured in turns on an
//! otherwise idle machine:
//! - `pass`: X'd for the matrix of 16-bit integers;
//! - `read STREAMS PIECES AHEAD`: a sum over the same memory in PIECES parts, every thread reading STREAMS places at
//!   once, with (AHEAD = 1) or without (0) software prefetch;
//! - `quit`.
//!
//! Run it through `python benches/gradient.py`; by hand: `cargo bench --bench kernels -- 100000 1000`.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use dpsparse::numeric::kernel::{
    Fetched, InnerProducts, MAX_DERIVATIVE, MAX_FEATURE, dot_portable,
};
use dpsparse::numeric::strips::{LINE, LineVec, Strips};
use rayon::prelude::*;

/// A multiplicative congruential sequence in [-bound, bound].
fn integers(seed: u64, bound: i16) -> impl Iterator<Item = i16> {
    let mut state = seed | 1;
    let width = 2 * i64::from(bound) + 1;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 33) as i64 % width - i64::from(bound)) as i16
    })
}

/// Sum of all entries modulo 2^16, read at `STREAMS` places in turn, a cache line at each.
#[inline(always)]
fn read<const STREAMS: usize, const AHEAD: usize>(entries: &[i16]) -> i16 {
    const LINE: usize = 32;
    let part = entries.len() / STREAMS / LINE * LINE;
    let streams: [&[i16]; STREAMS] = std::array::from_fn(|k| &entries[k * part..(k + 1) * part]);
    let mut sums = [[0i16; LINE]; STREAMS];
    for start in (0..part).step_by(LINE) {
        for (sum, stream) in sums.iter_mut().zip(streams) {
            #[cfg(target_arch = "x86_64")]
            if AHEAD > 0 {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                #[allow(unused_unsafe)] // a safe function in newer compilers
                // SAFETY: a prefetch reads nothing, wherever its address points.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(stream.as_ptr().wrapping_add(start + AHEAD).cast())
                };
            }
            for (sum, entry) in sum.iter_mut().zip(&stream[start..start + LINE]) {
                *sum = sum.wrapping_add(*entry);
            }
        }
    }
    let rest = &entries[STREAMS * part..];
    sums.as_flattened()
        .iter()
        .chain(rest)
        .fold(0, |a, b| a.wrapping_add(*b))
}

fn read_streams(entries: &[i16], streams: usize, ahead: bool) -> i16 {
    #[inline(always)]
    fn body(entries: &[i16], streams: usize, ahead: bool) -> i16 {
        match (streams, ahead) {
            (1, false) => read::<1, 0>(entries),
            (2, false) => read::<2, 0>(entries),
            (4, false) => read::<4, 0>(entries),
            (8, false) => read::<8, 0>(entries),
            (1, true) => read::<1, 1024>(entries),
            (2, true) => read::<2, 1024>(entries),
            (4, true) => read::<4, 1024>(entries),
            (8, true) => read::<8, 1024>(entries),
            _ => panic!("1, 2, 4 or 8 streams"),
        }
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw")]
        fn widest(entries: &[i16], streams: usize, ahead: bool) -> i16 {
            body(entries, streams, ahead)
        }
        #[target_feature(enable = "avx2")]
        fn wide(entries: &[i16], streams: usize, ahead: bool) -> i16 {
            body(entries, streams, ahead)
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the features were just detected.
            return unsafe { widest(entries, streams, ahead) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { wide(entries, streams, ahead) };
        }
    }
    body(entries, streams, ahead)
}

/// The sums of slopes as the crate takes them: pieces of records that stay in a near cache.
fn pass(strips: Strips<'_>, d: &[i16], gradient: &mut [i64]) {
    let p = gradient.len();
    let chunk = ((1 << 17) / p).clamp(256, 4096) / LINE * LINE;
    let zeros = || InnerProducts::zeros(p, 1);
    let sums = (d.par_chunks(chunk).enumerate())
        .fold(zeros, |mut sums, (k, d)| {
            let piece = strips.of_records(k * chunk..k * chunk + d.len());
            sums.add(piece, &[d], 0..d.len(), Fetched::ByMargins);
            sums
        })
        .reduce(zeros, |sums, more| sums.plus(&more));
    sums.of_plane(0, gradient);
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let [n, p] = sizes[..] else {
        println!("give n and p: run this through python benches/gradient.py");
        return;
    };
    let mut lines = LineVec::zeros(n.div_ceil(LINE) * p);
    let entries = lines.as_flattened_mut().iter_mut();
    entries
        .zip(integers(1, MAX_FEATURE))
        .for_each(|(entry, x)| *entry = x);
    let strips = Strips::new(&lines, p);
    let d: Vec<i16> = integers(2, MAX_DERIVATIVE).take(n).collect();
    let mut gradient = vec![0i64; p];
    pass(strips, &d, &mut gradient);
    let mut expected = vec![0; p];
    for (strip, d) in strips.iter().zip(d.chunks(LINE)) {
        for (sum, line) in expected.iter_mut().zip(strip) {
            *sum += dot_portable(line, d);
        }
    }
    assert_eq!(gradient, expected);
    println!("ready {}", rayon::current_num_threads());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let command: Vec<&str> = line.split_whitespace().collect();
        let seconds = match command[..] {
            ["pass"] => timed(|| pass(black_box(strips), black_box(&d), black_box(&mut gradient))),
            ["read", streams, pieces, ahead] => {
                let [streams, pieces, ahead] =
                    [streams, pieces, ahead].map(|number| number.parse::<usize>().unwrap());
                let entries = strips.lines().as_flattened();
                let size = entries.len().div_ceil(pieces);
                timed(|| {
                    let sums = entries
                        .par_chunks(size)
                        .map(|part| read_streams(part, streams, ahead > 0));
                    black_box(sums.reduce(|| 0, i16::wrapping_add));
                })
            }
            _ => return,
        };
        println!("{seconds}");
        std::io::stdout().flush().unwrap();
    }
}
