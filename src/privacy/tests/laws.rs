//! What leaves minus what it was made from follows the law of the event, at a false-positive rate of 1e-6 a test.
//!
//! Laws are tested with a chi-square over 20 cells of equal probability; noise of a sixth less fails each of them.

use std::sync::Arc;

use super::harness::{Data, MAX_WEIGHT, P, Setting, View, alone, asked, bounds, shared};
use crate::accounting::event::{Adjacency, Event};
use crate::error::Result;
use crate::exact::tap::{Seen, watched};
use crate::loss::{Admitted, Logistic};
use crate::numeric::normal;
use crate::polytope::{GroupBall, LinfBall, Selectable, SignedCoordinates, VertexList};
use crate::privacy::Answer;
use crate::privacy::answer::{Part, VertexAt};
use crate::privacy::{
    FeatureMap, Geometry, MemoryLedger, Question, RoomModel, RunningPlan, RunningSoftmax, Schema,
    Session, Statement, Target,
};
use crate::question::{
    Bins, LinearModel, PointNoise, RangesOf, SelectionNoise, TargetValue, TiltNoise, Window,
};

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

fn laplace(x: f64) -> f64 {
    if x < 0.0 {
        0.5 * x.exp()
    } else {
        1.0 - 0.5 * (-x).exp()
    }
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

pub(super) fn root(intercept: bool) -> Arc<Statement> {
    root_of(intercept, Target::Classes)
}

fn root_of(intercept: bool, target: Target) -> Arc<Statement> {
    let schema = Schema::new(
        P,
        bounds(),
        Geometry::Uncentred,
        target,
        intercept,
        Some(1.5),
    );
    Statement::new(schema.unwrap(), shared().len(), Adjacency::ReplaceOne, 1).unwrap()
}

/// The same records with weights, and without.
pub(super) fn roots() -> [Arc<Statement>; 2] {
    let root = root(true);
    let weighted = root.schema().clone().with_max_weight(MAX_WEIGHT).unwrap();
    let weighted = Statement::new(weighted, shared().len(), Adjacency::ReplaceOne, 1);
    [weighted.unwrap(), root]
}

pub(super) fn model() -> RoomModel {
    RoomModel::new(&Logistic.into(), None).unwrap()
}

/// Answers to one question, so many times, each with what the samplers were given.
pub(super) fn answers<R>(
    root: &Arc<Statement>,
    question: crate::privacy::Planned,
    draws: u64,
    ask: &dyn Fn(&mut Session<'_>) -> Result<R>,
) -> Vec<(R, Vec<Seen>)> {
    let setting = Setting {
        name: "laws".into(),
        root: Arc::clone(root),
        view: View::Whole,
        about: Arc::clone(root),
        model: model(),
    };
    let classes = root.schema().target().outputs() > 1;
    let rows = shared().into_iter().map(|(x, y)| match classes {
        true => (x, y.max(0.0)),
        false => (x, y),
    });
    let mut data = Data::new(&rows.collect::<Vec<_>>());
    if root.schema().max_weight().is_some() {
        data = data.weighted(vec![0.3, MAX_WEIGHT, 9.0, 1.7]);
    }
    let one = |seed| {
        let (answer, mut seen) = asked(&setting, &data, std::slice::from_ref(&question), seed, ask);
        if seed > 0 {
            // They are the same in all draws, and long.
            seen.retain(|seen| !matches!(seen, Seen::Scores(..) | Seen::Groups(..)));
        }
        (answer.unwrap(), seen)
    };
    (0..draws).map(one).collect()
}

fn integers(seen: &[Seen]) -> Vec<i64> {
    let integers = seen.iter().filter_map(|seen| match seen {
        Seen::Integers(values) => Some(values.clone()),
        _ => None,
    });
    integers.flatten().collect()
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

/// Chi-square of choices with these probabilities, by Wilson & Hilferty's (1931) quantile, which errs by a percent.
pub(super) fn choices_follow(what: &str, counts: &[f64], probabilities: &[f64]) {
    let draws: f64 = counts.iter().sum();
    // Cells of fewer than 5 expected choices are put together.
    let (mut statistic, mut cells, mut rest) = (0.0, 0.0f64, (0.0, 0.0));
    for (&count, &probability) in counts.iter().zip(probabilities) {
        let expected = probability * draws;
        if expected < 5.0 {
            rest = (rest.0 + count, rest.1 + expected);
            continue;
        }
        statistic += (count - expected) * (count - expected) / expected;
        cells += 1.0;
    }
    if rest.1 >= 5.0 {
        statistic += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
        cells += 1.0;
    } else {
        // At most Poisson of mean 5: more than 21 have probability below 1e-7.
        assert!(rest.0 <= 21.0, "{what}: {rest:?}");
    }
    assert!(cells >= 2.0, "{what}: nothing to choose");
    let degrees = cells - 1.0;
    let variance = 2.0 / (9.0 * degrees);
    let critical = 1.02 * degrees * (1.0 - variance + 4.7534 * variance.sqrt()).powi(3) + 1.0;
    assert!(statistic < critical, "{what}: {statistic} of {critical}");
}

fn softmax(scores: &[i64], eta: f64) -> Vec<f64> {
    let least = *scores.iter().min().unwrap();
    let weights: Vec<f64> = (scores.iter())
        .map(|q| (-eta * (q - least) as f64).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// Frequencies of what `index` finds in answers, against exp(-eta q) of the scores.
fn listed<R>(what: &str, answers: &[(R, Vec<Seen>)], index: &dyn Fn(&R) -> usize) {
    let Some(Seen::Scores(scores, eta)) = answers[0].1.first() else {
        panic!("{what}: {:?}", answers[0].1);
    };
    let mut counts = vec![0.0; scores.len()];
    answers
        .iter()
        .for_each(|(answer, _)| counts[index(answer)] += 1.0);
    choices_follow(what, &counts, &softmax(scores, *eta));
}

const CHOICES: u64 = 6000;

/// A vertex: its columns and their integers.
type Chosen = Vec<(u32, i64)>;

fn vertices(
    root: &Arc<Statement>,
    polytope: impl Into<Selectable>,
    epsilon0: f64,
    origin: Option<f64>,
) -> Vec<(Chosen, Vec<Seen>)> {
    let noise = SelectionNoise::Exponential { epsilon0 };
    let question = root
        .vertex(&model(), &polytope.into(), noise, origin)
        .unwrap();
    answers(root, question.once(), CHOICES, &|session| {
        let at = VertexAt {
            moved: (&[(0, 1)], 2),
            retired: &[],
            unit: 0.5 / 16_383.0,
        };
        session.ask(&question, at)
    })
}

/// Vertices at slopes that lag behind, in the second of two steps: the scores are those that the first one left, and
/// the law is that of all scores.
#[test]
fn lagging_vertices_are_chosen_by_their_scores() {
    alone(|| {
        let root = root(true);
        let ball = SignedCoordinates::l1_ball(P + 1, 1.0).into();
        let noise = SelectionNoise::Exponential { epsilon0: 6.0 };
        for origin in [None, Some(2e8)] {
            let question = root.vertex(&model(), &ball, noise, origin).unwrap();
            let question = question.lagging(0.3).unwrap();
            let drawn = answers(&root, question.times(2), CHOICES, &|session| {
                let at = |moved, unit| VertexAt {
                    moved: (moved, 2),
                    retired: &[],
                    unit,
                };
                session.ask(&question, at(&[(0, 1)], 0.5 / 16_383.0))?;
                session.ask(&question, at(&[(1, -1)], 0.4 / 16_383.0))
            });
            let [Seen::Scores(first, _), Seen::Scores(second, eta)] = drawn[0].1.as_slice() else {
                panic!("{:?}", drawn[0].1);
            };
            assert_ne!(first, second);
            let mut counts = vec![0.0; second.len()];
            for (vertex, _) in &drawn {
                counts[match vertex[..] {
                    [(j, sign)] => 2 * j as usize + usize::from(sign < 0),
                    _ => 2 * (P + 1),
                }] += 1.0;
            }
            choices_follow("lagging vertices", &counts, &softmax(second, *eta));
        }
    });
}

#[test]
fn vertices_are_chosen_by_their_scores() {
    alone(|| {
        let root = root(true);
        let ball = SignedCoordinates::l1_ball(P + 1, 1.0);
        for origin in [None, Some(2e8)] {
            let drawn = vertices(&root, ball.clone(), 6.0, origin);
            listed("coordinates", &drawn, &|vertex| match vertex[..] {
                [(j, sign)] => 2 * j as usize + usize::from(sign < 0),
                _ => 2 * (P + 1),
            });
        }
        let list = vec![
            vec![1.0, 0.5, 0.0],
            vec![-1.0, 0.0, 0.5],
            vec![0.0, 0.0, 1.0],
        ];
        let hull = VertexList::new(&list, P, false).unwrap();
        let known: Vec<Vec<(u32, i64)>> = match crate::polytope::Polytope::structure(&hull) {
            crate::polytope::Structure::Vertices(known) => known.to_vec(),
            _ => unreachable!(),
        };
        let drawn = vertices(&root, hull, 20.0, None);
        listed("explicit vertices", &drawn, &|vertex| {
            known.iter().position(|known| known == vertex).unwrap()
        });

        // Signs and groups, by the scores of all their sign vectors.
        let columns: Vec<u32> = (0..=P as u32).collect();
        let whole = vertices(&root, LinfBall::new(P + 1, 1.0), 8.0, None);
        let groups = GroupBall::new(&[vec![0, 2], vec![1]], P, true, 1.0).unwrap();
        let grouped = vertices(&root, groups, 8.0, None);
        let members = vec![vec![0, 2], vec![1], vec![3]];
        for (what, drawn, members) in [
            ("signs", whole, vec![columns]),
            ("groups", grouped, members),
        ] {
            let gradient = |seen: &[Seen]| -> (Vec<Vec<i64>>, f64) {
                let signs: Vec<i64> = (seen.iter())
                    .filter_map(|seen| match seen {
                        Seen::Sign(g, _) => Some(*g),
                        _ => None,
                    })
                    .collect();
                match &seen[0] {
                    Seen::Groups(groups, eta) => (groups.clone(), *eta),
                    Seen::Sign(_, eta) => (vec![signs], *eta),
                    seen => panic!("{seen:?}"),
                }
            };
            let (gradients, eta) = gradient(&drawn[0].1);
            let (mut candidates, mut scores) = (Vec::new(), Vec::new());
            for (members, gradients) in members.iter().zip(&gradients) {
                for signs in 0..1u32 << members.len() {
                    let sign = |k: usize| if signs >> k & 1 == 0 { 1i64 } else { -1 };
                    let vertex: Vec<(u32, i64)> = members
                        .iter()
                        .enumerate()
                        .map(|(k, &j)| (j, sign(k)))
                        .collect();
                    scores.push(gradients.iter().enumerate().map(|(k, g)| sign(k) * g).sum());
                    candidates.push(vertex);
                }
            }
            let mut counts = vec![0.0; candidates.len()];
            for (vertex, _) in &drawn {
                counts[candidates.iter().position(|known| known == vertex).unwrap()] += 1.0;
            }
            choices_follow(what, &counts, &softmax(&scores, eta));
        }
    });
}

#[test]
fn other_choices_follow_their_scores() {
    alone(|| {
        let root = root(true);
        let question = root.typical_norm(1.5, 0.6).unwrap();
        let map = FeatureMap::linear(vec![1.0; P]);
        let drawn = answers(&root, question.once(), CHOICES, &|session| {
            session.ask(&question, &map)
        });
        let largest = map.largest_norm(root.schema());
        // 28 quarters of an octave below the largest norm, ascending.
        listed("typical norm", &drawn, &|norm| {
            28 - (4.0 * (largest / norm).log2()).round() as usize
        });

        // Distances: 40 halves of an octave below 2, ascending; what leaves is half of that below each but the first.
        let interval = Target::Interval {
            low: -1.0,
            high: 1.5,
        };
        let reals = root_of(true, interval);
        let question = reals.target_quantile(1.5, 0.6).unwrap();
        let value = TargetValue::DistanceFrom(0.25);
        let drawn = answers(&reals, question.once(), CHOICES, &|session| {
            session.ask(&question, value)
        });
        listed("distance of targets", &drawn, &|distance| {
            (40.25 - 2.0 * (2.0 / distance).log2()).round() as usize
        });
        // 17 thresholds for so few records, and the middle to the one before.
        let drawn = answers(&reals, question.once(), CHOICES, &|session| {
            session.ask(&question, TargetValue::Itself)
        });
        listed("quantile of targets", &drawn, &|target| {
            ((target + 1.0) * 8.0 + 0.25).round() as usize
        });

        // Twelve rates an octave; of four records in two counts of ten, or of their shares.
        let counts = Target::counts(0.0, 10.0, true);
        let counted = root_of(true, counts);
        let weighted = counted.schema().clone().with_max_weight(MAX_WEIGHT);
        let weighted = Statement::new(weighted.unwrap(), shared().len(), Adjacency::ReplaceOne, 1);
        for root in [counted, weighted.unwrap()] {
            let question = root.mean_count(1.5, 3.0, 0.1).unwrap();
            let rates = &question.answer.candidates;
            let drawn = answers(&root, question.once(), CHOICES, &|session| {
                session.ask(&question, ())
            });
            listed("mean of counts", &drawn, &|&rate| {
                (0..rates.len()).find(|&k| rates.rate(k) == rate).unwrap()
            });
        }

        let question = root.held_out(2.0).unwrap();
        let models: Vec<LinearModel> = [1.0, -1.0, 0.0]
            .map(|factor| LinearModel {
                coefficients: vec![factor, 0.3, -factor],
                intercepts: vec![0.1],
                feature_ranges: None,
            })
            .into();
        let drawn = answers(&root, question.once(), CHOICES, &|session| {
            session.ask(&question, &models)
        });
        listed("held-out choice", &drawn, &|&best| best);

        // Features are told apart by what is left of them: those that were chosen are no candidates.
        let question = root.gains(2.0).unwrap();
        for (chosen, left) in [(&[][..], &[0, 1, 2][..]), (&[1], &[0, 2]), (&[2, 0], &[1])] {
            let drawn = answers(&root, question.once(), CHOICES, &|session| {
                session.ask(&question, chosen)
            });
            let place = |feature: &u32| left.iter().position(|left| left == feature).unwrap();
            match left.len() {
                1 => assert!(drawn.iter().all(|(feature, _)| place(feature) == 0)),
                _ => listed("feature that adds most", &drawn, &place),
            }
            let [Seen::Scores(scores, _)] = drawn[0].1.as_slice() else {
                panic!("one vector of scores");
            };
            let expected = left.iter().map(|&j: &u32| {
                let of = |j: u32, x: &[f64; P]| (x[j as usize] * 16_383.0).round();
                let gain = |(x, _): &([f64; P], f64)| {
                    let best = chosen.iter().map(|&a| of(a, x)).fold(0.0, f64::max);
                    (of(j, x) - best).max(0.0)
                };
                -shared().iter().map(gain).sum::<f64>() as i64
            });
            assert!(expected.eq(scores.iter().copied()), "{chosen:?} {scores:?}");
        }

        // 33 thresholds for so few records, 1024 apart: in cells of them.
        let question = root.ranges(4.0, 0.3, RangesOf::Each(vec![0])).unwrap();
        let drawn = answers(&root, question.once(), CHOICES, &|session| {
            session.ask(&question, ())
        });
        let both: Vec<(&Vec<i64>, f64)> = (drawn[0].1.iter())
            .map(|seen| match seen {
                Seen::Scores(scores, eta) => (scores, *eta),
                seen => panic!("{seen:?}"),
            })
            .collect();
        // Ranks of .3 and .7 among four values; a threshold between the values of its rank and the next scores 0.
        for (&(scores, _), rank) in both.iter().zip([1, 3]) {
            let up_to = |k: i64| -> i64 {
                let values = shared().into_iter().map(|(x, _)| (x[0] * 16_383.0).round());
                values.filter(|&x| x as i64 <= (k - 16) * 1024).count() as i64
            };
            let expected = (0..33).map(|k| (up_to(k - 1) - rank).max(rank - up_to(k)).max(0));
            assert!(expected.eq(scores.iter().copied()), "{rank} {scores:?}");
        }
        let cell = |k: usize| k * 16 / 33;
        let laws: Vec<[f64; 16]> = (both.iter())
            .map(|(scores, eta)| {
                let mut cells = [0.0; 16];
                for (k, p) in softmax(scores, *eta).into_iter().enumerate() {
                    cells[cell(k)] += p;
                }
                cells
            })
            .collect();
        // The ends leave in order: the pair of cells, in order, has this law but within one cell.
        let (mut counts, mut law) = (vec![0.0; 256], vec![0.0; 256]);
        for (range, _) in &drawn {
            let place =
                |x: f64| cell(((x * 16_383.0).round() as i64 + 16_384 + 1000) as usize / 1024);
            counts[place(range[0].0) * 16 + place(range[0].1)] += 1.0;
        }
        for (a, low) in laws[0].iter().enumerate() {
            for (b, high) in laws[1].iter().enumerate() {
                law[a.min(b) * 16 + a.max(b)] += low * high;
            }
        }
        choices_follow("ranges", &counts, &law);

        let schema = Schema::new(
            P,
            bounds(),
            Geometry::Uncentred,
            Target::Classes,
            false,
            None,
        );
        let plain =
            Statement::new(schema.unwrap(), shared().len(), Adjacency::ReplaceOne, 1).unwrap();
        let loss: Admitted = Logistic.into();
        let question = plain.softmax(&loss, 2.0).unwrap().draws(CHOICES).unwrap();
        assert_eq!(question.events()[0].1, CHOICES);
        let drawn = answers(&plain, question.once(), 1, &|session| {
            session.ask(&question, ())
        });
        let (counts, seen) = &drawn[0];
        let [Seen::Scores(scores, eta), ..] = seen.as_slice() else {
            panic!("scores");
        };
        // Independent draws from one vector of scores.
        assert_eq!(seen.len() as u64, CHOICES);
        assert!(seen.iter().all(|other| *other == seen[0]));
        let counts: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        choices_follow("softmax", &counts, &softmax(scores, *eta));
    });
}

/// Report-noisy-minimum over the l1 ball, against the probability that each noisy score is the least: an integral, by
/// the trapezoidal rule, over continuous noise, of which the integer law at scales of 10^8 is a rounding.
#[test]
fn noisy_minima_follow_their_law() {
    alone(|| {
        let root = root(true);
        let ball = SignedCoordinates::l1_ball(P + 1, 1.0).into();
        let scale = 0.3 * root.score_sensitivity(&model(), &ball).unwrap() as f64;
        let at = || VertexAt {
            moved: (&[(0, 1)], 2),
            retired: &[],
            unit: 0.5 / 16_383.0,
        };
        let choices = |noise: SelectionNoise, draws: u64| {
            let question = root.vertex(&model(), &ball, noise, None).unwrap();
            answers(&root, question.once(), draws, &|session| {
                session.ask(&question, at())
            })
        };
        let exponential = choices(SelectionNoise::Exponential { epsilon0: 1.0 }, 1);
        let Some(Seen::Scores(scores, _)) = exponential[0].1.first() else {
            panic!("{exponential:?}");
        };
        let mut counts = vec![0.0; scores.len()];
        for (vertex, _) in choices(SelectionNoise::Laplace { scale }, CHOICES) {
            let [(j, sign)] = vertex[..] else {
                panic!("{vertex:?}")
            };
            counts[2 * j as usize + usize::from(sign < 0)] += 1.0;
        }
        let wins = |k: usize| -> f64 {
            let at = |x: f64| {
                let above = (scores.iter().enumerate()).filter(|&(other, _)| other != k);
                let above = above.map(|(_, q)| 1.0 - laplace(x - (q - scores[k]) as f64 / scale));
                0.5 * (-x.abs()).exp() * above.product::<f64>()
            };
            (-8000..=8000)
                .map(|x| at(f64::from(x) / 200.0) / 200.0)
                .sum()
        };
        let law: Vec<f64> = (0..scores.len()).map(wins).collect();
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-4, "{law:?}");
        choices_follow("noisy minimum", &counts, &law);
    });
}

/// Coordinates and groups with a retired column are no candidates, then and later; the others are chosen by their
/// scores.
#[test]
fn retired_candidates_take_no_part_in_later_choices() {
    alone(|| {
        let root = root(true);
        let at = |retired| VertexAt {
            moved: (&[(0, 1)], 2),
            retired,
            unit: 0.5 / 16_383.0,
        };
        // Two choices, the second of them without candidates that the first one may have had.
        let twice = |polytope: &Selectable, noise, origin| {
            let question = root.vertex(&model(), polytope, noise, origin).unwrap();
            answers(&root, question.times(2), CHOICES, &|session| {
                let first = session.ask(&question, at(&[2]))?;
                assert!(first.iter().all(|&(j, _)| j != 2));
                session.ask(&question, at(&[0]))
            })
        };
        let ball = SignedCoordinates::l1_ball(P + 1, 1.0).into();
        // What is left: columns 1 and 3, either sign, and the origin.
        let place = |vertex: &Chosen| match vertex[..] {
            [(1, sign)] => usize::from(sign < 0),
            [(3, sign)] => 2 + usize::from(sign < 0),
            [] => 4,
            _ => panic!("{vertex:?}"),
        };
        for origin in [None, Some(2e8)] {
            let drawn = twice(&ball, SelectionNoise::Exponential { epsilon0: 6.0 }, origin);
            let [Seen::Scores(_, _), Seen::Scores(scores, eta)] = drawn[0].1.as_slice() else {
                panic!("{:?}", drawn[0].1);
            };
            assert_eq!(scores.len(), 4 + usize::from(origin.is_some()));
            let mut counts = vec![0.0; scores.len()];
            (drawn.iter()).for_each(|(vertex, _)| counts[place(vertex)] += 1.0);
            choices_follow("what is left", &counts, &softmax(scores, *eta));
        }
        // Noise that is large against the scores leaves each of them as likely.
        let mut counts = vec![0.0; 4];
        for (vertex, _) in twice(&ball, SelectionNoise::Laplace { scale: 1e12 }, None) {
            counts[place(&vertex)] += 1.0;
        }
        choices_follow("noisy minimum of what is left", &counts, &[0.25; 4]);

        let groups = GroupBall::new(&[vec![0, 2], vec![1]], P, true, 1.0).unwrap();
        let groups = groups.into();
        let question = root
            .vertex(
                &model(),
                &groups,
                SelectionNoise::Exponential { epsilon0: 8.0 },
                None,
            )
            .unwrap();
        let drawn = answers(&root, question.times(2), 200, &|session| {
            let first = session.ask(&question, at(&[2]))?;
            Ok([first, session.ask(&question, at(&[]))?])
        });
        let mut columns: Vec<u32> = (drawn
            .iter()
            .flat_map(|(vertices, _)| vertices.iter().flatten()))
        .map(|&(j, _)| j)
        .collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns, [1, 3]);
    });
}

/// Each set of so many positions is as likely as another one; under add-remove each record has its own coin, whatever
/// stands before it.
#[test]
fn splits_are_drawn_without_a_look() {
    alone(|| {
        let (rows, share) = (shared(), 0.3);
        let n = rows.len();
        let schema = |root: &Arc<Statement>| root.schema().clone();
        let about = |root: &Arc<Statement>| Setting {
            name: "splits".into(),
            root: Arc::clone(root),
            view: View::Whole,
            about: Arc::clone(root),
            model: model(),
        };
        for (adjacency, count) in [(Adjacency::ReplaceOne, 2), (Adjacency::AddRemove, 1)] {
            let root = Statement::new(schema(&root(true)), n, adjacency, 1).unwrap();
            let part = root.part(schema(&root), count).unwrap();
            let (split, question) = (
                root.split(count, share).unwrap(),
                part.moments(1.0).unwrap(),
            );
            let planned = [split.once(), question.once()];
            let data = Data::new(&rows);
            let held_out = |seed: u64| {
                let (answer, seen) = asked(&about(&root), &data, &planned, seed, &|session| {
                    session.ask(&split, ())?;
                    let mut held_out = session.part(Part::HeldOut(&split), &part)?;
                    held_out.ask(&question, ())
                });
                answer.unwrap();
                integers(&seen)
            };
            // Second moments tell sets of records apart: those of each, and nothing of none.
            let plain = Statement::new(schema(&root), n, Adjacency::AddRemove, 1).unwrap();
            let question = plain.moments(1.0).unwrap();
            let sets: Vec<Vec<i64>> = (0..1usize << n)
                .map(|set| {
                    let own: Vec<_> = (0..n)
                        .filter(|i| set >> i & 1 == 1)
                        .map(|i| rows[i])
                        .collect();
                    if own.is_empty() {
                        return vec![0; (P + 1) * (P + 2) / 2];
                    }
                    let setting = about(&plain);
                    let (answer, seen) = asked(
                        &setting,
                        &Data::new(&own),
                        &[question.once()],
                        1,
                        &|session| session.ask(&question, ()),
                    );
                    answer.unwrap();
                    integers(&seen)
                })
                .collect();
            let mut counts = vec![0.0; sets.len()];
            for seed in 0..CHOICES {
                let own = held_out(seed);
                counts[sets.iter().position(|set| *set == own).unwrap()] += 1.0;
            }
            let law: Vec<f64> = (0..sets.len())
                .map(|set| {
                    let size = set.count_ones() as usize;
                    match adjacency {
                        Adjacency::ReplaceOne if size == count => 1.0 / 6.0,
                        Adjacency::ReplaceOne => 0.0,
                        Adjacency::AddRemove => {
                            share.powi(size as i32) * (1.0f64 - share).powi((n - size) as i32)
                        }
                    }
                })
                .collect();
            choices_follow("split", &counts, &law);
        }
    });
}

/// Report-noisy-minimum costs twice the sensitivity over the scale: two candidates whose scores move apart show that
/// once is too little.
#[test]
fn a_noisy_minimum_costs_twice_its_sensitivity() {
    alone(|| {
        let root = root(true);
        let ball = SignedCoordinates::l1_ball(P + 1, 1.0).into();
        let sensitivity = root.score_sensitivity(&model(), &ball).unwrap() as f64;
        let scale = 3.0 * sensitivity;
        let noise = SelectionNoise::Laplace { scale };
        let question = root.vertex(&model(), &ball, noise, None).unwrap();
        let stated = question.events()[0].0.pure_epsilon().unwrap();

        // In units of a sensitivity of 20: P(20 d + X <= Y) for independent discrete Laplace X and Y of scale 60, in
        // sums.
        let rate = (-1.0f64 / 60.0).exp();
        let weight = |k: i64| (1.0 - rate) / (1.0 + rate) * rate.powi(k.unsigned_abs() as i32);
        let wins = |gap: i64| -> f64 {
            // P(Y >= t), t an integer.
            let tail = |t: i64| match t {
                1.. => rate.powi(t as i32) / (1.0 + rate),
                _ => 1.0 - rate.powi((1 - t) as i32) / (1.0 + rate),
            };
            (-4000..=4000).map(|x| weight(x) * tail(gap + x)).sum()
        };
        // Scores (0, g) become (20, g - 20).
        let loss = (-400..=400)
            .step_by(20)
            .map(|gap| (wins(-gap) / wins(40 - gap)).ln());
        let loss = loss.fold(0.0, f64::max);
        assert!(
            loss > 1.5 * 20.0 / 60.0,
            "once the sensitivity would do: {loss}"
        );
        assert!(loss <= stated * (1.0 + 1e-9), "{loss} {stated}");
    });
}

/// Both choices of a stream, each by the softmax of all costs so far, clipped to the bound and as integers.
#[test]
fn streams_choose_by_their_running_sums() {
    let costs = [[1.0, -0.5, 0.25], [-9.0, 0.5, 1.0]];
    for (adjacency, sensitivity) in [(Adjacency::ReplaceOne, 2.0), (Adjacency::AddRemove, 1.0)] {
        let plan = RunningPlan::new(3, 2, 2.0, adjacency, (20.0, 1e-6), 1.5).unwrap();
        assert_eq!(plan.event(), &Event::exponential(1.5).unwrap());
        let (mut first, mut counts) = (vec![0.0; 3], vec![0.0; 9]);
        let mut laws = Vec::new();
        for seed in 0..CHOICES {
            let mut ledger = MemoryLedger::default();
            let mut stream = RunningSoftmax::new(plan.clone(), Some(seed), &mut ledger).unwrap();
            first[stream.choice()] += 1.0;
            let (choices, seen) = watched(|| costs.map(|costs| stream.update(&costs).unwrap()));
            counts[3 * choices[0] + choices[1]] += 1.0;
            let unit = (1u64 << 30) as f64;
            let exact = [[0.5, -0.25, 0.125], [-0.5, 0.0, 0.625]].map(|sums| {
                let scores = sums.map(|sum: f64| (sum * unit) as i64).to_vec();
                Seen::Scores(scores, 1.5 / (2.0 * sensitivity * unit))
            });
            assert_eq!(seen, exact);
            laws = (seen.iter())
                .map(|seen| match seen {
                    Seen::Scores(scores, eta) => softmax(scores, *eta),
                    seen => panic!("{seen:?}"),
                })
                .collect();
        }
        choices_follow("the vertex that costs nothing", &first, &[1.0 / 3.0; 3]);
        let both: Vec<f64> = (laws[0].iter())
            .flat_map(|a| laws[1].iter().map(move |b| a * b))
            .collect();
        choices_follow("stream", &counts, &both);
    }
}
