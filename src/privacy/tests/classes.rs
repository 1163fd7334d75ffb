//! Softmax models: what samplers are given moves, between neighbours, by no more than the event says, in each of the
//! three norms of a record's slopes; and what leaves has the noise of the event.

use ndarray::Array2;

use super::harness::{P, SHARED, Setting, View, alone, asked, bounds, class_settings, settings};
use super::neighbours::{
    Reached, add_full_points, choice, exponential, gaussian, independent, l1, l2, n_features, norms,
};
use crate::accounting::event::{Adjacency, Event};
use crate::error::Error;
use crate::exact::noise::source::Source;
use crate::exact::tap::Seen;
use crate::loss::Logistic;
use crate::numeric::linear::norm2;
use crate::polytope::{GroupBall, LinfBall, Selectable, SignedCoordinates};
use crate::privacy::Curator;
use crate::privacy::answer::VertexAt;
use crate::question::{
    DescentOptions, LinearModel, PointNoise, RoomModel, SelectionNoise, Statement,
};
use crate::schema::{Geometry, Schema, Target};

const CLASSES: usize = 3;

/// Coefficients with which one class has nearly all probability, whatever the features where there is an intercept.
fn coefficients(columns: usize, size: f64) -> Vec<f64> {
    let mut theta = vec![0.0; CLASSES * columns];
    theta[2 * columns - 1] = size;
    theta[0] = -0.1 * size;
    theta
}

#[test]
fn gradients_of_several_scores_move_by_no_more_than_their_sensitivity() {
    alone(|| {
        let mut reached = Reached::default();
        for setting in class_settings() {
            for multiplier in [1.0, 1e5] {
                let question = setting.about.gradient(&setting.model, multiplier).unwrap();
                for size in [0.0, 0.5, 80.0] {
                    let theta = coefficients(setting.about.n_columns(), size);
                    let moved = setting.worst(
                        &[question.once()],
                        &|session| session.ask(&question, &theta).map(drop),
                        &l2,
                    );
                    reached.add(&setting, moved, gaussian(&question));
                }
            }
        }
        // The length 1 in the place of sqrt(2), or of the largest slope, would not do.
        reached.at_least(0.85);
    });
}

/// Slopes of scores, of records that are projected onto one a class or have a feature for each.
#[test]
fn slopes_of_scores_move_by_no_more_than_their_sensitivity() {
    alone(|| {
        let (mut reached, mut onto) = (Reached::default(), 0);
        for setting in class_settings() {
            let about = &setting.about;
            if n_features(&setting) != CLASSES {
                assert!(about.score_slope(&setting.model, 1.0).is_err());
                continue;
            }
            onto += usize::from(setting.name.ends_with("onto scores"));
            for multiplier in [1.0, 1e5] {
                let question = about.score_slope(&setting.model, multiplier).unwrap();
                // One class has nearly all probability: a record of another has slopes of the length sqrt(2), whose
                // signs are those of its scores, or not.
                for (size, last) in [(0.0, 0.0), (2.0, 0.5), (0.0, 80.0), (90.0, 0.0)] {
                    let mut theta = coefficients(about.n_columns(), last);
                    let diagonal = theta.iter_mut().step_by(about.n_columns() + 1);
                    diagonal.for_each(|theta| *theta += size);
                    let moved = setting.worst(
                        &[question.once()],
                        &|session| session.ask(&question, &theta).map(drop),
                        &l2,
                    );
                    reached.add(&setting, moved, gaussian(&question));
                }
            }
        }
        assert!(onto >= 50, "{onto}");
        reached.at_least(0.8);
    });
}

/// A slope of scores is the sum of the diagonal of their gradient, of every record by its own weights.
#[test]
fn slopes_of_scores_are_diagonals_of_gradients() {
    alone(|| {
        for setting in class_settings() {
            if n_features(&setting) != CLASSES {
                continue;
            }
            let (about, columns) = (&setting.about, setting.about.n_columns());
            let theta: Vec<f64> = (0..CLASSES * columns)
                .map(|j| ((j * 7 % 5) as f64 - 1.7) / 2.0)
                .collect();
            let slope = about.score_slope(&setting.model, 1e-3).unwrap();
            let gradient = about.gradient(&setting.model, 1e-3).unwrap();
            let (data, planned) = (&setting.family()[1], [slope.once(), gradient.once()]);
            let (result, seen) = asked(&setting, data, &planned, 7, &|session| {
                session.ask(&slope, &theta)?;
                session.ask(&gradient, &theta).map(drop)
            });
            result.unwrap();
            let [Seen::Integers(slope), Seen::Integers(gradient)] = &seen[..] else {
                panic!("{seen:?}");
            };
            let diagonal: i64 = (0..CLASSES).map(|k| gradient[k * columns + k]).sum();
            assert_eq!(slope[..], [diagonal], "{}", setting.name);
        }
    });
}

/// Numbers of records, in the sum of sizes, of two classes and of three, with weights and without.
#[test]
fn numbers_of_classes_move_by_no_more_than_their_sensitivity() {
    alone(|| {
        let mut reached = [Reached::default(), Reached::default()];
        for setting in settings().into_iter().chain(class_settings()) {
            let target = setting.about.schema().target();
            if !target.is_classes() {
                continue;
            }
            let question = setting.about.class_counts(0.7).unwrap();
            let [(Event::Laplace { sensitivity, scale }, 1)] = question.events()[..] else {
                panic!("{:?}", question.events());
            };
            assert!(scale * 0.7 >= sensitivity * (1.0 - 1e-15));
            let moved = setting.worst(
                &[question.once()],
                &|session| session.ask(&question, ()).map(drop),
                &l1,
            );
            reached[target.classes() - 2].add(&setting, moved, sensitivity);
        }
        for reached in &reached {
            reached.at_least(0.99);
        }
    });
}

/// Minimisers and descents of a softmax model, whose records have slopes of the length sqrt(2); slopes with a clamp are
/// no gradient of a convex function, and have none.
#[test]
fn points_of_several_scores_move_by_no_more_than_their_sensitivity() {
    alone(|| {
        let mut reached = [Reached::default(), Reached::default()];
        for setting in class_settings().into_iter().step_by(3) {
            if setting.name.starts_with("clipped") {
                let refused = setting.about.strongly_convex(&setting.model, None, 0.4);
                assert!(matches!(refused, Err(Error::UnsoundMechanism(_))));
                continue;
            }
            for (penalty, ridge) in
                (norms(n_features(&setting)).into_iter()).zip([0.01, 0.4, 3.0, 0.1])
            {
                add_full_points(&setting, penalty, ridge, &mut reached);
            }
        }
        // Few records: slopes are no longer than where all classes are alike.
        for reached in &reached {
            reached.at_least(0.5);
        }
    });
}

/// A record of class 1, as long as allowed, is replaced by its reflection among many of class 0, which look alike: its
/// slopes are nearly as long as slopes can be. The largest slope in the place of their length would not do.
#[test]
fn rare_classes_move_points_nearly_as_far_as_stated() {
    let n = 5000;
    let target = Target::Multiclass { classes: 3 };
    let schema = Schema::new(P, bounds(), Geometry::Uncentred, target, true, None).unwrap();
    let about = Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
    let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
    let noise = PointNoise::Gaussian { multiplier: 1.0 };
    let minimiser = about.strongly_convex(&model, None, 0.0025).unwrap();
    let descent = DescentOptions {
        ridge: 0.0,
        penalty: None,
        n_iter: 60,
        step: 0.999,
    };
    let descent = about.descent(&model, descent).unwrap();
    for question in [
        minimiser.with_output_noise(noise).unwrap(),
        descent.with_output_noise(noise).unwrap(),
    ] {
        let points = [1.0, -1.0].map(|side| {
            let mut x = Array2::zeros((n, P));
            x.row_mut(7).fill(side);
            let y: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == 7))).collect();
            let curator = Curator::from_dense(x.view(), &y);
            let point = curator.non_private_point(&question, &mut Source::seeded(1));
            point.unwrap().unwrap()
        });
        let [(one, stated), (other, _)] = &points;
        let moved: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
        let part = norm2(&moved) / stated;
        assert!((0.75..=1.0).contains(&part), "{part}");
    }
}

/// The l1 ball, the l-infinity ball and groups of all classes' coefficients of some features.
fn polytopes(setting: &Setting) -> Vec<(Selectable, Option<f64>)> {
    let columns = setting.about.n_columns();
    let entries = CLASSES * columns;
    let of_columns = |group: &[usize]| -> Vec<usize> {
        let of_class = |k| group.iter().map(move |&j| k * columns + j);
        (0..CLASSES).flat_map(of_class).collect()
    };
    let groups: Vec<Vec<usize>> = (0..columns).map(|j| of_columns(&[j])).collect();
    let pairs = match columns {
        0..2 => groups.clone(),
        _ => {
            let rest: Vec<usize> = (1..columns - 1).collect();
            let mut pairs = vec![of_columns(&[0, columns - 1])];
            pairs.extend((!rest.is_empty()).then(|| of_columns(&rest)));
            pairs
        }
    };
    let group_ball = |groups: &[Vec<usize>]| GroupBall::new(groups, entries, false, 1.0);
    vec![
        (SignedCoordinates::l1_ball(entries, 2.0).into(), None),
        (SignedCoordinates::l1_ball(entries, 2.0).into(), Some(1e6)),
        (LinfBall::new(entries, 1.0).into(), None),
        (group_ball(&groups).unwrap().into(), None),
        (group_ball(&pairs).unwrap().into(), None),
    ]
}

/// Models that predict one class each, whatever the features, and one that looks at them.
#[test]
fn searches_of_several_classes_keep_their_range() {
    alone(|| {
        let mut reached = Reached::default();
        for setting in class_settings() {
            let schema = setting.about.schema();
            if !schema.has_intercept() {
                continue;
            }
            let entries = CLASSES * schema.n_features();
            let question = setting.about.held_out(0.7).unwrap();
            let constant = |class: usize| LinearModel {
                coefficients: vec![0.0; entries],
                intercepts: (0..CLASSES).map(|k| f64::from(k == class)).collect(),
                feature_ranges: None,
            };
            let mut models: Vec<LinearModel> = (0..CLASSES).map(constant).collect();
            models.push(LinearModel {
                coefficients: (0..entries).map(|k| (k % 5) as f64 - 2.0).collect(),
                ..constant(1)
            });
            let moved = setting.worst(
                &[question.once()],
                &|session| session.ask(&question, &models).map(drop),
                &choice,
            );
            reached.add(&setting, moved, exponential(&question));
        }
        reached.at_least(0.9);
    });
}

#[test]
fn vertices_of_several_scores_are_chosen_within_their_range() {
    alone(|| {
        let mut reached: Vec<Reached> = (0..5).map(|_| Reached::default()).collect();
        for setting in class_settings() {
            for (k, (polytope, origin)) in polytopes(&setting).into_iter().enumerate() {
                let noise = SelectionNoise::Exponential { epsilon0: 0.8 };
                let question = (setting.about)
                    .vertex(&setting.model, &polytope, noise, origin)
                    .unwrap();
                let columns = setting.about.n_columns() as u32;
                let moved = [(2 * columns - 1, 3), (0, -1)];
                for unit in [0.0, 4.0 / 16_383.0] {
                    let worst = |cost: &dyn Fn(&[Seen], &[Seen]) -> f64| {
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
                    match question.events() {
                        [(Event::ZeroConcentrated { rho }, 1)] => {
                            reached[k].add(&setting, worst(&independent), *rho);
                        }
                        _ => reached[k].add(&setting, worst(&choice), exponential(&question)),
                    }
                }
            }
        }
        for reached in &reached {
            reached.at_least(0.7);
        }
    });
}

/// Noise of the standard deviation that the event states on every entry of every class, around the sum over the
/// records.
#[test]
fn gradients_of_several_scores_leave_with_the_noise_of_their_event() {
    alone(|| {
        let settings = class_settings();
        let setting = settings
            .iter()
            .find(|setting| {
                matches!(setting.view, View::Whole) && setting.about.n_columns() == P + 1
            })
            .unwrap();
        let data = &setting.family()[0];
        assert_eq!(data.y.len(), SHARED + 1);
        let question = setting.about.gradient(&setting.model, 3.0).unwrap();
        let Event::Gaussian { sigma, .. } = question.events()[0].0 else {
            panic!("{:?}", question.events())
        };
        let unit = question.noise_scale() / sigma;
        let theta = coefficients(P + 1, 0.7);
        let (draws, entries) = (400, CLASSES * (P + 1));
        let mut squares = vec![0.0; entries];
        for seed in 0..draws {
            let (answer, seen) = asked(setting, data, &[question.once()], seed, &|session| {
                session.ask(&question, &theta)
            });
            let Seen::Integers(exact) = &seen[0] else {
                panic!("{seen:?}")
            };
            let answer = answer.unwrap();
            assert_eq!((answer.len(), exact.len()), (entries, entries));
            for ((square, noisy), exact) in squares.iter_mut().zip(&answer).zip(exact) {
                *square += ((noisy / unit - *exact as f64) / sigma).powi(2) / draws as f64;
            }
            // Slopes of a record add up to 0: so do its gradients over the classes, but for what noise is floored to.
            for j in 0..=P {
                let sum: i64 = (0..CLASSES).map(|k| exact[k * (P + 1) + j]).sum();
                let size: i64 = (0..CLASSES).map(|k| exact[k * (P + 1) + j].abs()).sum();
                assert!(
                    sum.abs() as f64 <= 1e-3 * (size as f64 + 1e4),
                    "{sum} of {size}"
                );
            }
        }
        // Chi-squared with 400 degrees of freedom: 5 standard deviations are 0.35, and 6 are not reached once in 1e8.
        for square in squares {
            assert!(
                (square - 1.0).abs() < 6.0 * (2.0 / draws as f64).sqrt(),
                "{square}"
            );
        }
    });
}
