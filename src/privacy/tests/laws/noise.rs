//! Noise of sums, moments, points and perturbed objectives.
//!
//! Laws are tested with a chi-square over 20 cells of equal probability; noise of a sixth less fails each of them.

use std::sync::Arc;

use super::super::harness::{P, alone};
use super::{answers, integers, laplace, model, root, root_of, roots};
use crate::accounting::event::Event;
use crate::exact::tap::Seen;
use crate::loss::Logistic;
use crate::numeric::normal;
use crate::privacy::{Answer, FeatureMap, Question, RoomModel, Statement, Target};
use crate::question::{Bins, PointNoise, TiltNoise, Window};

/// Cells of a chi-square.
const CELLS: usize = 20;
/// The 1 - 1e-6 quantile of chi-square with 19 degrees of freedom is 64.4.
const CRITICAL: f64 = 64.5;

/// Chi-square of numbers that should be uniform on [0, 1].
fn statistic(uniform: &[f64]) -> f64 {
    let mut counts = [0.0; CELLS];
    for &u in uniform {
        assert!((0.0..=1.0).contains(&u), "{u}");
        counts[((u * CELLS as f64) as usize).min(CELLS - 1)] += 1.0;
    }
    let expected = uniform.len() as f64 / CELLS as f64;
    counts
        .iter()
        .map(|c| (c - expected) * (c - expected) / expected)
        .sum()
}

/// That `values` follow the law with this distribution function, and would not if they were a sixth smaller.
fn follow(what: &str, values: &[f64], cdf: &dyn Fn(f64) -> f64) {
    let uniform = |factor: f64| -> Vec<f64> { values.iter().map(|v| cdf(v * factor)).collect() };
    let found = statistic(&uniform(1.0));
    assert!(found < CRITICAL, "{what}: {found}");
    let smaller = statistic(&uniform(1.0 / 1.2));
    assert!(
        smaller > CRITICAL,
        "{what}: too few draws to see noise of a sixth less, {smaller}"
    );
}

/// The Gamma law of integer shape `p` and scale 1.
fn erlang(p: usize, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..p {
        term *= x / k as f64;
        sum += term;
    }
    1.0 - (-x).exp() * sum
}

fn sigma<A>(question: &Question<A>) -> f64 {
    match question.events()[0].0 {
        Event::Gaussian { sigma, .. } => sigma,
        event => panic!("{event:?}"),
    }
}

#[test]
fn sums_leave_with_the_noise_of_their_events() {
    alone(|| {
        let [weighted, root] = roots();
        for (root, multiplier) in [(&root, 2.0), (&root, 1e6), (&weighted, 2.0)] {
            let question = root.gradient(&model(), multiplier).unwrap();
            let unit = question.noise_scale() / sigma(&question);
            let theta = [0.4, -1.0, 2.0, 0.1];
            let noise: Vec<f64> = answers(root, question.once(), 2500, &|session| {
                session.ask(&question, &theta)
            })
            .into_iter()
            .flat_map(|(released, seen)| {
                let exact = integers(&seen);
                let noise = move |(r, q): (f64, i64)| r / unit - q as f64;
                released
                    .into_iter()
                    .zip(exact)
                    .map(noise)
                    .collect::<Vec<_>>()
            })
            .collect();
            let sigma = sigma(&question);
            follow("gradient", &noise, &|x| normal::cdf(x / sigma));
        }

        let three = Target::Multiclass { classes: P as u32 };
        let root_of_three = root_of(true, three);
        let softmax = RoomModel::for_target(&Logistic.into(), None, three).unwrap();
        let theta: Vec<f64> = (0..12).map(|j| 0.7 - 0.3 * f64::from(j)).collect();
        for multiplier in [2.0, 1e6] {
            let slope = root_of_three.score_slope(&softmax, multiplier).unwrap();
            let unit = slope.noise_scale() / sigma(&slope);
            let noise: Vec<f64> = answers(&root_of_three, slope.once(), 3000, &|session| {
                session.ask(&slope, &theta)
            })
            .into_iter()
            .map(|(released, seen)| released / unit - integers(&seen)[0] as f64)
            .collect();
            let sigma = sigma(&slope);
            follow("slope of scores", &noise, &|x| normal::cdf(x / sigma));
        }

        let sums = root.absolute_sums(3.0).unwrap();
        let histograms = root.histograms(1e4, vec![0, 2], Bins::FineAndWide).unwrap();
        let images = root.image_sums(3.0, 0.15).unwrap();
        let map = FeatureMap::new(vec![0.5; P], vec![0.5; P], f64::INFINITY);
        let normal = |scale: f64| move |x: f64| normal::cdf(x / scale);
        integers_follow("sizes", &root, &sums, (3000, ()), &normal(sigma(&sums)));
        let scale = sigma(&histograms);
        integers_follow("histograms", &root, &histograms, (300, ()), &normal(scale));
        let reals = root_of(
            true,
            Target::Interval {
                low: -1.0,
                high: 1.5,
            },
        );
        let of_targets = reals.target_histogram(1e4, Bins::FineAndWide).unwrap();
        let (at, scale) = (Window::ALL.around(0.2, 0.3), sigma(&of_targets));
        integers_follow("targets", &reals, &of_targets, (300, at), &normal(scale));
        integers_follow(
            "images",
            &root,
            &images,
            (3000, &map),
            &normal(sigma(&images)),
        );
        for root in [&weighted, &root] {
            let numbers = root.class_counts(0.7).unwrap();
            let [(Event::Laplace { scale, .. }, 1)] = numbers.events()[..] else {
                panic!("{:?}", numbers.events());
            };
            integers_follow("classes", root, &numbers, (3000, ()), &|x| {
                laplace(x / scale)
            });
        }
    });
}

/// Integers in units of the sums themselves.
fn integers_follow<'a, A, At>(
    name: &str,
    root: &Arc<Statement>,
    question: &Question<A>,
    (times, at): (u64, At),
    law: &dyn Fn(f64) -> f64,
) where
    A: Answer<At<'a> = At, Released = Vec<i64>> + Sync,
    At: Copy + std::fmt::Debug,
{
    let noise: Vec<f64> = answers(root, question.once(), times, &|session| {
        session.ask(question, at)
    })
    .into_iter()
    .flat_map(|(released, seen)| {
        let noise = |(r, q): (&i64, i64)| (r - q) as f64;
        released
            .iter()
            .zip(integers(&seen))
            .map(noise)
            .collect::<Vec<_>>()
    })
    .collect();
    follow(name, &noise, law);
}

/// sigma above the diagonal and sqrt(2) sigma on it, the same entry on both sides of it.
#[test]
fn moments_leave_with_the_noise_of_their_event() {
    alone(|| {
        for root in roots() {
            moments_follow(&root);
        }
    });
}

fn moments_follow(root: &Arc<Statement>) {
    let d = P + 1;
    let question = root.moments(2.0).unwrap();
    let (scale, unit) = (sigma(&question), question.noise_scale() / sigma(&question));
    let (mut above, mut diagonal) = (Vec::new(), Vec::new());
    for (matrix, seen) in answers(root, question.once(), 4000, &|session| {
        session.ask(&question, ())
    }) {
        // Row by row above the diagonal, then the diagonal.
        let mut exact = integers(&seen).into_iter();
        let mut noise = |entry: f64| entry / unit - exact.next().unwrap() as f64;
        for j in 0..d {
            for k in j + 1..d {
                above.push(noise(matrix[j * d + k]));
                assert_eq!(matrix[j * d + k], matrix[k * d + j]);
            }
        }
        diagonal.extend((0..d).map(|j| noise(matrix[j * d + j])));
    }
    follow("above the diagonal", &above, &|x| normal::cdf(x / scale));
    let scale = scale * 2f64.sqrt();
    follow("on the diagonal", &diagonal, &|x| normal::cdf(x / scale));
}

#[test]
fn points_leave_with_the_noise_of_their_events() {
    alone(|| {
        let root = root(true);
        let minimiser = root.strongly_convex(&model(), None, 0.5).unwrap();
        let columns = P + 1;
        let dual = minimiser.path(0.5).unwrap().points(3.0).unwrap();
        for noise in [
            PointNoise::Gaussian { multiplier: 3.0 },
            PointNoise::Laplace { epsilon: 0.4 },
            PointNoise::Gamma { epsilon: 0.4 },
        ] {
            let question = minimiser.with_output_noise(noise).unwrap();
            let (mut entries, mut sizes) = (Vec::new(), Vec::new());
            for (released, seen) in answers(&root, question.once(), 4000, &|session| {
                session.ask(&question, ())
            }) {
                let Some(Seen::Point(theta)) =
                    seen.iter().find(|seen| matches!(seen, Seen::Point(_)))
                else {
                    panic!("a point");
                };
                let noise = released.iter().zip(theta).map(|(r, t)| r - t);
                entries.extend(noise.clone());
                sizes.push(noise.map(|b| b * b).sum::<f64>().sqrt());
            }
            match (noise, question.events()[0].0) {
                (_, Event::Gaussian { sensitivity, sigma }) => {
                    // D2 plus the rounding is `sensitivity` units.
                    let scale = lattice(&minimiser, sensitivity, columns, false) * sigma;
                    follow("gaussian point", &entries, &|x| normal::cdf(x / scale));
                }
                (_, Event::Laplace { sensitivity, scale }) => {
                    let scale = lattice(&minimiser, sensitivity, columns, true) * scale;
                    follow("laplace point", &entries, &|x| laplace(x / scale));
                }
                (PointNoise::Gamma { epsilon }, _) => {
                    let size = minimiser.sensitivity().unwrap() / (0.99 * epsilon);
                    follow("gamma point", &sizes, &|x| erlang(columns, x / size));
                }
                (_, event) => panic!("{event:?}"),
            }
        }
        let s = vec![0.1; columns];
        let entries: Vec<f64> =
            answers(&root, dual.once(), 3000, &|session| session.ask(&dual, &s))
                .into_iter()
                .flat_map(|(released, seen)| {
                    let Some(Seen::Point(theta)) = seen.first() else {
                        panic!("a point first: {seen:?}");
                    };
                    released
                        .iter()
                        .zip(theta)
                        .map(|(r, t)| r - t)
                        .collect::<Vec<_>>()
                })
                .collect();
        let scale = dual.output_scale();
        let Event::Gaussian { sensitivity, sigma } = dual.events()[0].0 else {
            panic!("a Gaussian");
        };
        assert!(sigma / sensitivity >= 3.0 && scale >= 3.0 * minimiser.sensitivity().unwrap());
        follow("dual point", &entries, &|x| normal::cdf(x / scale));
    });
}

/// The length of a lattice unit: D2/h + sqrt(p) units, or sqrt(p) D2/h + p in L1, are `sensitivity`.
fn lattice(
    minimiser: &crate::question::StronglyConvex,
    sensitivity: f64,
    columns: usize,
    l1: bool,
) -> f64 {
    let (d2, p) = (minimiser.sensitivity().unwrap(), columns as f64);
    match l1 {
        false => d2 / (sensitivity - p.sqrt()),
        true => p.sqrt() * d2 / (sensitivity - p),
    }
}

/// The linear term of a perturbed objective: Gaussian of the standard deviation of its event, or of a Gamma norm.
#[test]
fn objectives_are_perturbed_by_the_noise_of_their_events() {
    alone(|| {
        let root = root(true);
        let (n, columns) = (root.n_samples() as f64, P + 1);
        let minimiser = root.strongly_convex(&model(), None, 0.5).unwrap();
        let tilts = |noise: TiltNoise| {
            let question = minimiser.with_random_tilt(noise).unwrap();
            let draws = answers(&root, question.once(), 4000, &|session| {
                session.ask(&question, ())
            });
            let tilts: Vec<Vec<f64>> = (draws.into_iter())
                .map(|(_, seen)| match seen.into_iter().next() {
                    Some(Seen::Tilt(tilt)) => tilt.iter().map(|b| b * n).collect(),
                    seen => panic!("a tilt first: {seen:?}"),
                })
                .collect();
            (question, tilts)
        };
        let (question, drawn) = tilts(TiltNoise::Gaussian {
            sigma: 7.0,
            cover: 20.0,
        });
        let Event::ObjectivePerturbation { sigma, .. } = question.events()[0].0 else {
            panic!("{:?}", question.events());
        };
        assert_eq!(sigma, 7.0);
        let entries: Vec<f64> = drawn.into_iter().flatten().collect();
        follow("gaussian tilt", &entries, &|b| normal::cdf(b / sigma));

        let (question, drawn) = tilts(TiltNoise::Gamma {
            epsilon: 0.8,
            cover: 0.1,
        });
        // What b and the curvature cost together.
        let Event::Pure { epsilon } = question.events()[0].0 else {
            panic!("{:?}", question.events());
        };
        let size = minimiser.changed_slope() / (epsilon - minimiser.curvature_log());
        let sizes: Vec<f64> = (drawn.iter())
            .map(|b| b.iter().map(|b| b * b).sum::<f64>().sqrt())
            .collect();
        follow("gamma tilt", &sizes, &|b| erlang(columns, b / size));
    });
}
