//! The gradient pass alone, beside a plain read of the same memory: a server for `benches/gradient.py`.
//!
//! Reads one command a line and answers with seconds, so that a peer in another process can be measured in turns on an
//! otherwise idle machine:
//! - `pass`: X'd for the matrix of 16-bit integers;
//! - `read STREAMS WIDTH`: a sum over the same memory, every thread reading STREAMS places at once;
//! - `quit`.
//!
//! Run it through `python benches/gradient.py`; by hand: `cargo bench --bench kernels -- 100000 1000`.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use dpsparse::numeric::kernel::{MAX_DERIVATIVE, MAX_FEATURE, dot_portable, gradient_pass};
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

/// Sum of all words, read at `STREAMS` places in turn, `LANES` words at each.
#[inline(always)]
fn read<const STREAMS: usize>(words: &[u64]) -> u64 {
    const LINE: usize = 8;
    let part = words.len() / STREAMS / LINE * LINE;
    let streams: [&[u64]; STREAMS] = std::array::from_fn(|k| &words[k * part..(k + 1) * part]);
    let mut sums = [[0u64; LINE]; STREAMS];
    for start in (0..part).step_by(LINE) {
        for (sum, stream) in sums.iter_mut().zip(streams) {
            for (sum, word) in sum.iter_mut().zip(&stream[start..start + LINE]) {
                *sum = sum.wrapping_add(*word);
            }
        }
    }
    let rest: u64 = words[STREAMS * part..]
        .iter()
        .fold(0, |a, b| a.wrapping_add(*b));
    sums.iter().flatten().fold(rest, |a, b| a.wrapping_add(*b))
}

fn read_streams(words: &[u64], streams: usize) -> u64 {
    #[inline(always)]
    fn body(words: &[u64], streams: usize) -> u64 {
        match streams {
            1 => read::<1>(words),
            2 => read::<2>(words),
            4 => read::<4>(words),
            8 => read::<8>(words),
            _ => panic!("1, 2, 4 or 8 streams"),
        }
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn widest(words: &[u64], streams: usize) -> u64 {
            body(words, streams)
        }
        #[target_feature(enable = "avx2")]
        fn wide(words: &[u64], streams: usize) -> u64 {
            body(words, streams)
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was just detected.
            return unsafe { widest(words, streams) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { wide(words, streams) };
        }
    }
    body(words, streams)
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
    let columns: Vec<i16> = integers(1, MAX_FEATURE).take(n * p).collect();
    let d: Vec<i16> = integers(2, MAX_DERIVATIVE).take(n).collect();
    let mut gradient = vec![0i64; p];
    gradient_pass(&columns, &d, &mut gradient);
    let expected: Vec<i64> = columns
        .chunks_exact(n)
        .map(|column| dot_portable(column, &d))
        .collect();
    assert_eq!(gradient, expected);
    // The same bytes as 64-bit words, for the plain read.
    let words: Vec<u64> = columns
        .chunks_exact(4)
        .map(|four| {
            four.iter()
                .fold(0, |word, &x| word << 16 | u64::from(x as u16))
        })
        .collect();

    println!("ready {}", rayon::current_num_threads());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let command: Vec<&str> = line.split_whitespace().collect();
        let seconds = match command[..] {
            ["pass"] => timed(|| {
                gradient_pass(black_box(&columns), black_box(&d), black_box(&mut gradient))
            }),
            ["read", streams, pieces] => {
                let (streams, pieces): (usize, usize) =
                    (streams.parse().unwrap(), pieces.parse().unwrap());
                let size = words.len().div_ceil(pieces);
                timed(|| {
                    black_box(
                        words
                            .par_chunks(size)
                            .map(|part| read_streams(part, streams))
                            .sum::<u64>(),
                    );
                })
            }
            _ => return,
        };
        println!("{seconds}");
        std::io::stdout().flush().unwrap();
    }
}
