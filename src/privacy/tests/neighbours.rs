//! For every kind of question: what samplers are given moves, between neighbours, by no more than the event says.
//!
//! Neighbours are enumerated among records of every extreme kind, in every setting of [`settings`], and at some of them
//! the bounds are met nearly: a factor that is dropped from a sensitivity fails here.

use std::sync::Arc;

use ndarray::Array2;

use super::harness::{P, Setting, View, alone, map, settings, sides};
use crate::accounting::event::{Adjacency, Event};
use crate::exact::noise::source::Source;
use crate::exact::selection::{Shape, Summand};
use crate::exact::tap::{Seen, watched};
use crate::loss::{Admitted, Logistic, Poisson, Squared};
use crate::norm::{GroupLasso, ReviewedNorm, SetFunctionNorm};
use crate::polytope::{GroupBall, LinfBall, Selectable, SignedCoordinates, VertexList};
use crate::privacy::answer::VertexAt;
use crate::privacy::blocks::Blocks;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::records::Records;
use crate::privacy::{
    Curator, FeatureMap, Geometry, MemoryLedger, RoomModel, RunningPlan, RunningSoftmax,
};
use crate::question::{
    Bins, DescentOptions, LinearModel, PermutedOptions, Point, PointNoise, RangesOf,
    SelectionNoise, TargetValue, Window, stability,
};
use crate::question::{Question, Statement};
use crate::schema::{Bounds, Schema, Target};
use crate::set_function::{Cardinality, GroupCover};

/// Roundings of what is computed here.
const SLACK: f64 = 1.0 + 1e-9;

/// The largest part of a stated bound that neighbours reach, over some settings.
#[derive(Debug, Default)]
pub struct Reached(f64);

impl Reached {
    pub fn add(&mut self, setting: &Setting, moved: f64, stated: f64) {
        assert!(
            moved <= stated * SLACK,
            "{}: moved by {moved}, stated {stated}",
            setting.name
        );
        self.0 = self.0.max(moved / stated);
    }

    /// Some neighbours come this near to the bound: it is tested, not only stated.
    pub fn at_least(&self, part: f64) {
        assert!(self.0 >= part, "only {} of the bound is reached", self.0);
    }
}

fn integers(seen: &[Seen]) -> Vec<&[i64]> {
    let integers = seen.iter().filter_map(|seen| match seen {
        Seen::Integers(values) => Some(values.as_slice()),
        _ => None,
    });
    integers.collect()
}

/// Differences of what noise is added to, one vector an addition.
fn differences(one: &[Seen], other: &[Seen]) -> Vec<Vec<f64>> {
    let pairs = integers(one).into_iter().zip(integers(other));
    pairs
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b) as f64).collect())
        .collect()
}

pub fn l2(one: &[Seen], other: &[Seen]) -> f64 {
    let moved = differences(one, other);
    moved.iter().flatten().map(|d| d * d).sum::<f64>().sqrt()
}

pub fn l1(one: &[Seen], other: &[Seen]) -> f64 {
    differences(one, other)
        .iter()
        .flatten()
        .map(|d| d.abs())
        .sum()
}

/// Entries above the diagonal, then the diagonal, whose noise is sqrt(2) times as large.
fn l2_of_moments(one: &[Seen], other: &[Seen]) -> f64 {
    let moved = differences(one, other);
    let square = |k: usize| moved[k].iter().map(|d| d * d).sum::<f64>();
    (square(0) + square(1) / 2.0).sqrt()
}

/// By how much the largest of `values` exceeds the least.
fn range(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    most - values.fold(f64::INFINITY, f64::min)
}

/// The range of the privacy loss of a choice: exact laws exp(-eta q) and exp(-eta q'), normalised.
pub fn choice(one: &[Seen], other: &[Seen]) -> f64 {
    let ranges = one.iter().zip(other).map(|pair| match pair {
        (Seen::Scores(a, eta), Seen::Scores(b, _)) => {
            assert_eq!(a.len(), b.len());
            eta * range(a.iter().zip(b).map(|(a, b)| (a - b) as f64))
        }
        // Sign vectors of one group move by up to the sum of its moves either way.
        (Seen::Groups(a, eta), Seen::Groups(b, _)) => {
            let sum = |(a, b): (&Vec<i64>, &Vec<i64>)| {
                let moves = a.iter().zip(b).map(|(a, b)| (a - b).abs() as f64);
                moves.sum::<f64>()
            };
            2.0 * eta * a.iter().zip(b).map(sum).fold(0.0, f64::max)
        }
        _ => 0.0,
    });
    ranges.fold(0.0, f64::max)
}

/// zCDP of independent choices: range^2/8 each.
pub fn independent(one: &[Seen], other: &[Seen]) -> f64 {
    let rho = one.iter().zip(other).map(|pair| match pair {
        (Seen::Sign(a, eta), Seen::Sign(b, _)) => (2.0 * eta * (a - b) as f64).powi(2) / 8.0,
        (Seen::Scores(a, eta), Seen::Scores(b, _)) => {
            (eta * range(a.iter().zip(b).map(|(a, b)| (a - b) as f64))).powi(2) / 8.0
        }
        _ => 0.0,
    });
    rho.sum()
}

pub fn gaussian<A>(question: &Question<A>) -> f64 {
    match question.events() {
        [(Event::Gaussian { sensitivity, sigma }, 1)] => {
            assert!(*sigma > 0.0);
            *sensitivity
        }
        events => panic!("{events:?}"),
    }
}

pub fn exponential<A>(question: &Question<A>) -> f64 {
    match question.events() {
        [(Event::Exponential { epsilon0 }, _)] => *epsilon0,
        events => panic!("{events:?}"),
    }
}

pub fn n_features(setting: &Setting) -> usize {
    setting.about.schema().n_features()
}

/// Sums: gradients at several coefficients, moments, histograms and sums of sizes, of features and of images, with
/// noise so small and so large that sums are floored.
#[test]
fn sums_move_by_no_more_than_their_sensitivity() {
    alone(|| {
        let mut reached: [Reached; 5] = Default::default();
        for setting in settings() {
            for multiplier in [1.0, 1e5] {
                let question = setting.about.gradient(&setting.model, multiplier).unwrap();
                let columns = setting.about.n_columns();
                for size in [0.0, 0.05, -30.0] {
                    let theta: Vec<f64> = (0..columns).map(|j| size * (1.0 - j as f64)).collect();
                    let moved = setting.worst(
                        &[question.once()],
                        &|session| session.ask(&question, &theta).map(drop),
                        &l2,
                    );
                    reached[0].add(&setting, moved, gaussian(&question));
                }
                let question = setting.about.moments(multiplier).unwrap();
                let moved = setting.worst(
                    &[question.once()],
                    &|session| session.ask(&question, ()).map(drop),
                    &l2_of_moments,
                );
                reached[1].add(&setting, moved, gaussian(&question));
                let features: Vec<u32> = (0..n_features(&setting) as u32).collect();
                let classes = setting.about.schema().target().is_classes();
                for bins in [Bins::Fine, Bins::FineAndWide] {
                    let features = features.clone();
                    let question = setting
                        .about
                        .histograms(multiplier, features, bins)
                        .unwrap();
                    let moved = setting.worst(
                        &[question.once()],
                        &|session| session.ask(&question, ()).map(drop),
                        &l2,
                    );
                    reached[3].add(&setting, moved, gaussian(&question));
                    let question = setting.about.target_histogram(multiplier, bins);
                    assert_eq!(question.is_err(), classes);
                    let Ok(question) = question else { continue };
                    for window in [Window::ALL, Window::ALL.around(-0.3, 0.2)] {
                        let moved = setting.worst(
                            &[question.once()],
                            &|session| session.ask(&question, window).map(drop),
                            &l2,
                        );
                        reached[3].add(&setting, moved, gaussian(&question));
                    }
                }
                let p = n_features(&setting);
                for (row_norm, shift) in [(0.15, 0.5), (1.0, 0.5), (0.3, 0.0)] {
                    let question = setting.about.image_sums(multiplier, row_norm).unwrap();
                    let map = FeatureMap::new(vec![0.5; p], vec![shift; p], f64::INFINITY);
                    let moved = setting.worst(
                        &[question.once()],
                        &|session| session.ask(&question, &map).map(drop),
                        &l2,
                    );
                    reached[4].add(&setting, moved, gaussian(&question));
                }
                if setting.about.schema().row_norm().is_none() {
                    assert!(setting.about.absolute_sums(multiplier).is_err());
                    continue;
                }
                let question = setting.about.absolute_sums(multiplier).unwrap();
                let moved = setting.worst(
                    &[question.once()],
                    &|session| session.ask(&question, ()).map(drop),
                    &l2,
                );
                reached[2].add(&setting, moved, gaussian(&question));
            }
        }
        reached[0].at_least(0.95);
        reached[1].at_least(0.6);
        reached[2].at_least(0.95);
        reached[3].at_least(0.95);
        reached[4].at_least(0.95);
    });
}

fn polytopes(setting: &Setting) -> Vec<(Selectable, Option<f64>)> {
    let (p, columns) = (n_features(setting), setting.about.n_columns());
    let intercept = columns > p;
    let groups: Vec<Vec<usize>> = match p {
        P => vec![vec![0, 2], vec![1]],
        _ => vec![(0..p).collect()],
    };
    let vertices: Vec<Vec<f64>> = (0..4)
        .map(|k| (0..p).map(|j| [1.0, -0.5, 0.0][(j + k) % 3]).collect())
        .collect();
    vec![
        (SignedCoordinates::l1_ball(columns, 2.0).into(), None),
        (SignedCoordinates::l1_ball(columns, 2.0).into(), Some(1e6)),
        (SignedCoordinates::simplex(p, intercept, 2.0).into(), None),
        (LinfBall::new(columns, 1.0).into(), None),
        (
            GroupBall::new(&groups, p, intercept, 1.0).unwrap().into(),
            None,
        ),
        (
            VertexList::new(&vertices, p, intercept).unwrap().into(),
            None,
        ),
    ]
}

/// Choices of a vertex, over every structure, with and without the origin.
#[test]
fn vertices_are_chosen_within_their_range() {
    alone(|| {
        let mut reached: Vec<Reached> = (0..6).map(|_| Reached::default()).collect();
        for setting in settings() {
            for (k, (polytope, origin)) in polytopes(&setting).into_iter().enumerate() {
                let noise = SelectionNoise::Exponential { epsilon0: 0.8 };
                let question = (setting.about)
                    .vertex(&setting.model, &polytope, noise, origin)
                    .unwrap();
                let last = setting.about.n_columns() as u32 - 1;
                let moved = [(0, 3), (last, -2)];
                let worst = |cost: &dyn Fn(&[Seen], &[Seen]) -> f64, unit: f64| {
                    setting.worst(
                        &[question.once()],
                        &|session| {
                            let at = VertexAt {
                                moved: (&moved, 4),
                                retired: &[],
                                unit,
                            };
                            session.ask(&question, at).map(drop)
                        },
                        cost,
                    )
                };
                for unit in [0.0, 0.1 / 16_383.0] {
                    match question.events() {
                        [(Event::ZeroConcentrated { rho }, 1)] => {
                            reached[k].add(&setting, worst(&independent, unit), *rho);
                        }
                        _ => reached[k].add(&setting, worst(&choice, unit), exponential(&question)),
                    }
                }
            }
        }
        // Half of an add-remove range is the most for lists: one contribution moves scores of both signs.
        for reached in &reached {
            reached.at_least(0.8);
        }
    });
}

/// Choices among thresholds, norms, models and features.
#[test]
fn other_choices_keep_their_range() {
    alone(|| {
        let mut reached: Vec<Reached> = (0..7).map(|_| Reached::default()).collect();
        for setting in settings().into_iter().step_by(3) {
            let p = n_features(&setting);
            let each = RangesOf::Each((0..p as u32).collect());
            for (k, of) in [each, RangesOf::Together(p)].into_iter().enumerate() {
                let question = setting.about.ranges(0.7, 0.3, of).unwrap();
                let ask = |session: &mut crate::privacy::Session<'_>| {
                    session.ask(&question, ()).map(drop)
                };
                let moved = setting.worst(&[question.once()], &ask, &choice);
                reached[k].add(&setting, moved, exponential(&question));
            }
            let quantiles = [0.6, 0.35].map(|level| setting.about.target_quantile(0.7, level));
            match quantiles.into_iter().collect::<Result<Vec<_>, _>>() {
                Ok(questions) => {
                    let counts = setting.about.schema().target().units().is_some();
                    let sizes = counts.then_some(TargetValue::Size);
                    let reals = [TargetValue::Itself, TargetValue::DistanceFrom(-0.3)];
                    for value in reals.into_iter().chain(sizes) {
                        for question in &questions {
                            let ask = |session: &mut crate::privacy::Session<'_>| {
                                session.ask(question, value).map(drop)
                            };
                            let moved = setting.worst(&[question.once()], &ask, &choice);
                            reached[4].add(&setting, moved, exponential(question));
                        }
                    }
                    if counts {
                        let question = setting.about.mean_count(0.7, 3.0, 0.1).unwrap();
                        let ask = |session: &mut crate::privacy::Session<'_>| {
                            session.ask(&question, ()).map(drop)
                        };
                        let moved = setting.worst(&[question.once()], &ask, &choice);
                        reached[6].add(&setting, moved, exponential(&question));
                    }
                }
                Err(_) => assert_eq!(setting.about.schema().target(), Target::Classes),
            }
            let question = setting.about.typical_norm(0.7, 0.6).unwrap();
            for map in [FeatureMap::linear(vec![1.0; p]), map()] {
                if map.n_features() != p {
                    continue;
                }
                let moved = setting.worst(
                    &[question.once()],
                    &|session| session.ask(&question, &map).map(drop),
                    &choice,
                );
                reached[2].add(&setting, moved, exponential(&question));
            }
            let question = setting.about.gains(0.7).unwrap();
            for chosen in [&[][..], &[p as u32 - 1]] {
                if chosen.len() == p {
                    continue;
                }
                let moved = setting.worst(
                    &[question.once()],
                    &|session| session.ask(&question, chosen).map(drop),
                    &choice,
                );
                reached[5].add(&setting, moved, exponential(&question));
            }
            if !setting.about.schema().has_intercept() {
                assert!(setting.about.held_out(0.7).is_err());
                continue;
            }
            let question = setting.about.held_out(0.7).unwrap();
            let model = |factor: f64, ranges: Option<f64>| LinearModel {
                coefficients: (0..p).map(|j| factor * (1.0 + j as f64)).collect(),
                intercepts: vec![0.2 * factor],
                feature_ranges: ranges.map(|end| crate::privacy::Bounds {
                    lower: vec![-end; p],
                    upper: vec![end; p],
                }),
            };
            let models = [model(1.0, None), model(-1.0, None), model(30.0, Some(0.5))];
            let moved = setting.worst(
                &[question.once()],
                &|session| session.ask(&question, &models).map(drop),
                &choice,
            );
            reached[3].add(&setting, moved, exponential(&question));
        }
        for reached in &reached {
            reached.at_least(0.9);
        }
    });
}

/// Draws from the entropic minimiser.
#[test]
fn softmax_draws_keep_their_range() {
    alone(|| {
        let mut reached = Reached::default();
        for setting in settings() {
            let schema = setting.about.schema();
            let loss: Admitted = match schema.target() {
                Target::Classes | Target::Multiclass { .. } => Logistic.into(),
                // Refused below, as what is no loss of softmax sampling.
                Target::Interval { .. } | Target::Counts { .. } => Squared.into(),
            };
            let softmax = setting.about.softmax(&loss, 1.0);
            let taken = setting.root.adjacency() == Adjacency::ReplaceOne
                && !schema.has_intercept()
                && schema.max_weight().is_none()
                && schema.target().units().is_none();
            assert_eq!(softmax.is_ok(), taken, "{}", setting.name);
            let Ok(mut softmax) = softmax else { continue };
            for regularisation in [0.3, 3.0, 100.0] {
                softmax.set_regularisation(regularisation).unwrap();
                // Few neighbours come near it: the formula, with the contributions of all records of a person.
                let changed = 2.0 * setting.root.records_per_person() as f64;
                let slope = softmax.loss().lipschitz(softmax.reach()) * softmax.reach();
                let change = changed * slope + 2.0 * softmax.residual();
                let factor = 1.0 + stability(softmax.condition());
                let range = 2.0 * change / regularisation * factor;
                assert!(softmax.range() >= range * (1.0 - 1e-15), "{}", setting.name);
                let question = softmax.draws(1).unwrap();
                let moved = setting.worst(
                    &[question.once()],
                    &|session| session.ask(&question, ()).map(drop),
                    &choice,
                );
                reached.add(&setting, moved, exponential(&question));
            }
        }
        reached.at_least(0.3);
    });
}

/// No penalty, penalties, and theta >= 0 alone.
pub fn norms(p: usize) -> [Option<(ReviewedNorm, f64)>; 4] {
    let reviewed = |f: Arc<dyn crate::set_function::SetFunction>| {
        ReviewedNorm::new(Arc::new(SetFunctionNorm::new(f).unwrap())).unwrap()
    };
    let l1 = reviewed(Arc::new(Cardinality::new(p).unwrap()));
    let groups = [(0..p).collect::<Vec<_>>(), vec![p - 1]];
    let cover = reviewed(Arc::new(GroupCover::new(&groups, None, p).unwrap()));
    let positive = GroupLasso::weighted_l1(&vec![1.0; p])
        .unwrap()
        .on_positive();
    let positive = ReviewedNorm::new(Arc::new(positive)).unwrap();
    [
        None,
        Some((l1, 0.05)),
        Some((cover, 0.02)),
        Some((positive, 0.0)),
    ]
}

/// Points: minimisers with and without penalties, descents and permuted descents, under every noise.
#[test]
fn points_move_by_no_more_than_their_sensitivity() {
    alone(|| {
        let mut reached: Vec<Reached> = (0..3).map(|_| Reached::default()).collect();
        for setting in settings().into_iter().step_by(5) {
            let (about, replaced) = replaces(&setting);
            for (penalty, ridge) in
                (norms(n_features(&setting)).into_iter()).zip([0.05, 0.4, 3.0, 0.1])
            {
                add_full_points(&setting, penalty, ridge, &mut reached);
                let options = PermutedOptions {
                    ridge: if ridge < 0.1 { 0.0 } else { ridge },
                    passes: 2,
                    batch: if ridge < 1.0 { 2 } else { 1 },
                    step: short_step(&setting, ridge),
                };
                let permuted = about.permuted(&setting.model, options);
                assert_eq!(permuted.is_ok(), replaced);
                if let Ok(permuted) = permuted {
                    let make = |noise| permuted.with_output_noise(noise).unwrap();
                    add_points(&setting, &make, &mut reached[2]);
                }
            }
        }
        for (reached, part) in reached.iter().zip([0.7, 0.7, 0.3]) {
            reached.at_least(part);
        }
    });
}

fn replaces(setting: &Setting) -> (&Arc<Statement>, bool) {
    let replaced = setting.root.adjacency() == Adjacency::ReplaceOne;
    (&setting.about, replaced)
}

/// A quarter of a step that expands nothing.
fn short_step(setting: &Setting, ridge: f64) -> f64 {
    0.25 / (setting.about.row_bound().powi(2) + 2.0 * ridge)
}

/// Adds what minimisers move by, and what descents do.
pub fn add_full_points(
    setting: &Setting,
    penalty: Option<(ReviewedNorm, f64)>,
    ridge: f64,
    reached: &mut [Reached],
) {
    let (about, replaced) = replaces(setting);
    let minimiser = about
        .strongly_convex(&setting.model, penalty.clone(), ridge)
        .unwrap();
    let make = |noise| minimiser.with_output_noise(noise).unwrap();
    add_points(setting, &make, &mut reached[0]);
    let options = DescentOptions {
        ridge: if ridge < 0.1 { 0.0 } else { ridge },
        penalty,
        n_iter: 4,
        step: short_step(setting, ridge),
    };
    let descent = about.descent(&setting.model, options);
    assert_eq!(descent.is_ok(), replaced);
    if let Ok(descent) = descent {
        let make = |noise| descent.with_output_noise(noise).unwrap();
        add_points(setting, &make, &mut reached[1]);
    }
}

/// Adds what a point moves by, under every noise.
fn add_points(
    setting: &Setting,
    make: &dyn Fn(PointNoise) -> Question<Point>,
    reached: &mut Reached,
) {
    for noise in [
        PointNoise::Gaussian { multiplier: 2.0 },
        PointNoise::Laplace { epsilon: 0.5 },
        PointNoise::Gamma { epsilon: 0.5 },
    ] {
        let question = make(noise);
        let ask = |session: &mut crate::privacy::Session<'_>| session.ask(&question, ()).map(drop);
        let worst =
            |cost: &dyn Fn(&[Seen], &[Seen]) -> f64| setting.worst(&[question.once()], &ask, cost);
        match (noise, question.events()) {
            (_, [(Event::Gaussian { sensitivity, .. }, 1)]) => {
                reached.add(setting, worst(&l2), *sensitivity);
            }
            (_, [(Event::Laplace { sensitivity, .. }, 1)]) => {
                reached.add(setting, worst(&l1), *sensitivity);
            }
            (PointNoise::Gamma { epsilon }, [(Event::Pure { .. }, 1), ..]) => {
                // Noise of size s = D2/(0.99 epsilon): the event is the largest density ratio, D2/s.
                let (_, stated) = stated(setting, &question);
                reached.add(setting, worst(&of_points), stated);
                let pure: f64 = (question.events().iter())
                    .filter_map(|(event, _)| event.pure_epsilon())
                    .sum();
                assert!(pure <= epsilon * SLACK && pure >= 0.98 * epsilon);
            }
            (_, events) => panic!("{events:?}"),
        }
    }
}

/// The point of one of the data sets, and D2.
fn stated(setting: &Setting, question: &Question<Point>) -> (Vec<f64>, f64) {
    let data = &setting.family()[0];
    let records = data.curator().all(&setting.root, &[]).unwrap();
    let made = |data| -> Box<dyn Records> { Box::new(Blocks::of_any_size(data, &setting.about)) };
    let records = match &setting.view {
        View::Whole => records,
        View::Mapped(map) => made(map.apply(records.whole().unwrap(), setting.about.schema())),
        View::Restricted(features) => made(records.whole().unwrap().restricted(features)),
        View::Varying => made(records.whole().unwrap().varying()),
        View::Projected(projection) => {
            made(projection.apply(records.whole().unwrap(), setting.about.schema()))
        }
    };
    let mut source = crate::exact::noise::source::Source::seeded(5);
    question
        .without_noise(&*records, &mut source)
        .unwrap()
        .unwrap()
}

fn of_points(one: &[Seen], other: &[Seen]) -> f64 {
    let moved = one.iter().zip(other).find_map(|pair| match pair {
        (Seen::Point(a), Seen::Point(b)) => {
            let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
            Some(squares.sum::<f64>().sqrt())
        }
        _ => None,
    });
    moved.unwrap_or(f64::INFINITY)
}

/// Slopes of counts are differences of numbers that are larger than their clamp, and so are their roundings: steps that
/// do not expand in real numbers do so in floats, as often as there are steps. Rows share a little of one feature and
/// have another each, so that the moves of steps add up in square.
#[test]
fn permuted_descents_pay_for_the_floats_of_counts() {
    let (n, p, clamp) = (160, 40, 2f64.powi(-54));
    let (largest, high) = (1.8, 10.0);
    let target = Target::Counts {
        low: 0.0,
        high,
        unit: high / largest,
    };
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let schema = Schema::new(p, bounds, Geometry::Uncentred, target, false, Some(1.0)).unwrap();
    let about = Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
    let loss: Admitted = Poisson::new(largest, clamp).unwrap().into();
    let model = RoomModel::new(&loss, None).unwrap();
    let options = PermutedOptions {
        ridge: 0.0,
        passes: 1,
        batch: 1,
        step: 1.999 / loss.smoothness(),
    };
    let noise = PointNoise::Gaussian { multiplier: 5.0 };
    let question = (about.permuted(&model, options).unwrap()).with_output_noise(noise);
    let (question, mut plain) = (question.unwrap(), 0.0f64);
    for seed in 0..40 {
        // Rates are 1 at first, counts are 1 up to some roundings.
        let mut source = Source::seeded(seed);
        let mut uniform = || source.bits() as f64 * 2f64.powi(-64);
        let own = 0.2 + 0.6 * uniform();
        let mut x = Array2::zeros((n, p));
        for i in 1..n {
            x[[i, 0]] = own * (2.0 * uniform() - 1.0);
            x[[i, 1 + i % (p - 1)]] = 1.0;
        }
        x[[0, 0]] = 1.0;
        let mut y: Vec<f64> = (0..n)
            .map(|_| high / largest * (1.0 + 2e-15 * (uniform() - 0.5)))
            .collect();
        let mut last = |target: f64| {
            y[0] = target;
            let curator = Curator::from_dense(x.view(), &y);
            let point = curator.non_private_point(&question, &mut Source::seeded(seed));
            point.unwrap().unwrap()
        };
        let ((one, stated), (other, _)) = (last(0.0), last(high));
        let squares = one.iter().zip(&other).map(|(a, b)| (a - b).powi(2));
        let moved = squares.sum::<f64>().sqrt();
        assert!(moved <= stated, "{seed}: moved by {moved}, stated {stated}");
        plain = plain.max(moved / (2.0 * options.step * clamp));
    }
    assert!(plain > 1.2, "in real numbers it would be 1: {plain}");
}

/// Minimisers along a path of public linear terms: released, and as scores of a choice.
#[test]
fn dual_answers_keep_their_bounds() {
    alone(|| {
        let mut reached = [Reached::default(), Reached::default()];
        for setting in settings().into_iter().step_by(5) {
            let p = n_features(&setting);
            let columns = setting.about.n_columns();
            for ridge in [0.05, 3.0] {
                let minimiser =
                    (setting.about.strongly_convex(&setting.model, None, ridge)).unwrap();
                let path = minimiser.path(0.6).unwrap();
                let points = path.points(2.0).unwrap();
                let all: Vec<u32> = (0..p as u32).collect();
                let mut summands = vec![
                    Summand {
                        weight: 1.0,
                        shape: Shape::Cross(all),
                    },
                    Summand {
                        weight: 0.5,
                        shape: Shape::Cross(vec![0]),
                    },
                ];
                if p > 1 {
                    summands.push(Summand {
                        weight: 2.0,
                        shape: Shape::Segment(0, 1),
                    });
                }
                let vertices = path.vertices(summands, 0.01, &points).unwrap();
                let [(Event::ZeroConcentrated { rho }, 1)] = vertices.events() else {
                    panic!("{:?}", vertices.events());
                };
                for s in [vec![0.0; columns], vec![-0.2; columns]] {
                    let moved = setting.worst(
                        &[points.once()],
                        &|session| session.ask(&points, &s).map(drop),
                        &l2,
                    );
                    reached[0].add(&setting, moved, gaussian(&points));
                    let moved = setting.worst(
                        &[vertices.once()],
                        &|session| session.ask(&vertices, &s).map(drop),
                        &independent,
                    );
                    reached[1].add(&setting, moved, *rho);
                }
            }
        }
        reached[0].at_least(0.7);
        reached[1].at_least(0.1);
    });
}

/// Streams: the costs of one round replaced by others, or by zeros; before it nothing moves.
#[test]
fn streams_move_by_no_more_than_their_sensitivity() {
    let extremes = [
        [2.0, 2.0, 2.0],
        [2.0, -2.0, 2.0],
        [-2.0, 2.0, -2.0],
        [1e9, -1e9, 0.3],
        [0.1, 0.0, -0.1],
        [0.0, 0.0, 0.0],
    ];
    let rounds = 4;
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
        let plan = RunningPlan::new(3, rounds, 2.0, adjacency, (20.0, 1e-6), 0.7).unwrap();
        let Event::Exponential { epsilon0 } = *plan.event() else {
            panic!("{:?}", plan.event());
        };
        let run = |at: u64, costs: &[f64; 3]| {
            let mut ledger = MemoryLedger::default();
            let mut stream = RunningSoftmax::new(plan.clone(), Some(3), &mut ledger).unwrap();
            let seen = watched(|| {
                for round in 0..rounds {
                    let own = [0.5 - round as f64, 1.0, 0.25];
                    let costs = if round == at { costs } else { &own };
                    stream.update(costs).unwrap();
                }
            });
            seen.1
        };
        let mut most = 0.0f64;
        for at in 0..rounds {
            for (k, costs) in extremes.iter().enumerate() {
                let others = match adjacency {
                    Adjacency::ReplaceOne => &extremes[k + 1..],
                    Adjacency::AddRemove => &extremes[5..],
                };
                for other in others {
                    let (one, other) = (run(at, costs), run(at, other));
                    assert_eq!((one.len(), other.len()), (4, 4));
                    let (before, after) = one.split_at(at as usize);
                    let (same, moved) = other.split_at(at as usize);
                    assert_eq!(before, same);
                    most = most.max(choice(after, moved));
                }
            }
        }
        assert!(most <= epsilon0 * SLACK, "{most} {epsilon0}");
        assert!(most >= 0.999 * epsilon0, "{most} {epsilon0}");
    }
}

/// The rows of records, with their targets.
fn rows(data: &BoundedData) -> Vec<Vec<f64>> {
    let row = |i: usize| {
        let mut row = vec![0.0; data.n_columns()];
        data.fill_row(i, &mut row);
        row.push(data.targets[i]);
        row
    };
    (0..data.n_records()).map(row).collect()
}

/// Splits do not look at records: with the same coins the parts of neighbours are the same but for the records of one
/// person.
#[test]
fn parts_of_neighbours_are_neighbours() {
    let mut checked = 0;
    for setting in settings() {
        if !matches!(setting.view, View::Whole) || setting.root.n_samples() < 3 {
            continue;
        }
        let (root, n) = (&setting.root, setting.root.n_samples());
        let m = root.records_per_person() as usize;
        let split = root.split(2, 0.4).unwrap();
        let facts = [n - 2, 2].map(|n| root.part(root.schema().clone(), n).unwrap());
        let family = setting.family();
        for seed in 0..4 {
            let parts: Vec<[Vec<Vec<f64>>; 2]> = (family.iter())
                .map(|data| {
                    let curator = data.curator();
                    let records = curator.all(root, &[]).unwrap();
                    let sides = sides(&split, &*records, seed);
                    let part = |positions: &[u32], facts: &Arc<Statement>| {
                        rows(&curator.read(Some(positions), facts.schema()).unwrap()[0])
                    };
                    [
                        part(&sides.training, &facts[0]),
                        part(&sides.held_out, &facts[1]),
                    ]
                })
                .collect();
            for other in &parts[1..] {
                let (mut differ, mut more) = (0, 0);
                for (one, other) in parts[0].iter().zip(other) {
                    assert!(other.len() >= one.len(), "one of them lacks the person");
                    more += other.len() - one.len();
                    differ += one.iter().zip(other).filter(|(a, b)| a != b).count();
                }
                match root.adjacency() {
                    Adjacency::ReplaceOne => assert!(more == 0 && differ <= m),
                    Adjacency::AddRemove => assert!(more == m && differ == 0),
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

/// The settings hold what the tests above are about.
#[test]
fn settings_are_of_every_kind() {
    alone(|| {
        let settings = settings();
        let clamped = |setting: &&Setting| setting.model.bound().linf == 0.05;
        assert!(settings.iter().filter(clamped).count() > 50);
        for what in [
            "to weights",
            "to a row norm",
            "restricted",
            "varying",
            "targets too",
            "projected",
            ", 2, whole",
            "add-remove",
            ", weights",
        ] {
            let found = settings.iter().filter(|s| s.name.contains(what)).count();
            assert!(found >= 16, "{what}: {found}");
        }
    });
}
