//! Points that noise is put on are those that their question says: of a perturbed objective, of a descent, of a
//! permuted one.

use std::sync::Arc;

use super::harness::{MAX_WEIGHT, P, SHARED, alone, both_tilts, shared};
use super::laws::{answers, choices_follow, model, root, roots};
use crate::exact::tap::Seen;
use crate::norm::{ReviewedNorm, SetFunctionNorm};
use crate::question::{DescentOptions, PermutedOptions, PointNoise};
use crate::set_function::Cardinality;

/// The point of a perturbed objective is the minimiser with the linear term that was drawn.
#[test]
fn points_of_perturbed_objectives_follow_the_linear_term() {
    alone(|| {
        let root = root(true);
        let ridge = 0.5;
        let minimiser = root.strongly_convex(&model(), None, ridge).unwrap();
        for noise in both_tilts() {
            let question = minimiser.with_random_tilt(noise).unwrap();
            for (_, seen) in answers(&root, question.once(), 5, &|session| {
                session.ask(&question, ())
            }) {
                let [Seen::Tilt(tilt), Seen::Point(theta), ..] = seen.as_slice() else {
                    panic!("a tilt, then a point: {seen:?}");
                };
                let mut slope: Vec<f64> = (tilt.iter().zip(theta))
                    .map(|(tilt, theta)| tilt + ridge * theta)
                    .collect();
                assert!(tilt.iter().any(|tilt| tilt.abs() > 0.1), "{tilt:?}");
                for (x, y) in shared() {
                    let row: Vec<f64> = x.into_iter().chain([1.0]).collect();
                    let z: f64 = row.iter().zip(theta).map(|(x, theta)| x * theta).sum();
                    let derivative = -y / (1.0 + (y * z).exp()) / shared().len() as f64;
                    (slope.iter_mut().zip(&row)).for_each(|(slope, x)| *slope += derivative * x);
                }
                // Features are rounded to multiples of 1/16383.
                assert!(slope.iter().all(|slope| slope.abs() < 1e-3), "{slope:?}");
            }
        }
    });
}

/// A descent ends where its steps lead: by slopes, a ridge and the prox of a penalty on the features.
#[test]
fn points_of_descents_are_those_of_their_steps() {
    alone(|| {
        let root = root(true);
        let (ridge, alpha, step, n_iter) = (0.3, 0.1, 0.7, 6);
        let l1 = SetFunctionNorm::new(Arc::new(Cardinality::new(P).unwrap())).unwrap();
        let l1 = ReviewedNorm::new(Arc::new(l1)).unwrap();
        for penalty in [None, Some((l1, alpha))] {
            let mut expected = [0.0f64; P + 1];
            for _ in 0..n_iter {
                let mut slope = expected.map(|theta| ridge * theta);
                for (x, y) in shared() {
                    let row: Vec<f64> = x.into_iter().chain([1.0]).collect();
                    let z: f64 = row.iter().zip(&expected).map(|(x, theta)| x * theta).sum();
                    let derivative = -y / (1.0 + (y * z).exp()) / shared().len() as f64;
                    (slope.iter_mut().zip(&row)).for_each(|(slope, x)| *slope += derivative * x);
                }
                (expected.iter_mut().zip(&slope)).for_each(|(theta, slope)| *theta -= step * slope);
                if penalty.is_some() {
                    for theta in &mut expected[..P] {
                        *theta = theta.signum() * (theta.abs() - step * alpha).max(0.0);
                    }
                }
            }
            let options = DescentOptions {
                ridge,
                penalty,
                n_iter,
                step,
            };
            let descent = root.descent(&model(), options).unwrap();
            let noise = PointNoise::Gaussian { multiplier: 3.0 };
            let question = descent.with_output_noise(noise).unwrap();
            let drawn = answers(&root, question.once(), 1, &|session| {
                session.ask(&question, ())
            });
            let Some(Seen::Point(theta)) = drawn[0].1.first() else {
                panic!("a point first: {drawn:?}");
            };
            // Features are rounded to multiples of 1/16383.
            let near = |(theta, expected): (&f64, &f64)| (theta - expected).abs() < 1e-3;
            assert_eq!(theta.len(), P + 1);
            assert!(
                theta.iter().zip(&expected).all(near),
                "{theta:?} {expected:?}"
            );
            assert!(expected.iter().any(|theta| theta.abs() > 0.1));
        }
    });
}

/// All orders of the records.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let with_last = |order: &Vec<usize>, place: usize| {
        let mut order = order.clone();
        order.insert(place, last);
        order
    };
    (orders(last).iter())
        .flat_map(|order| (0..n).map(move |place| with_last(order, place)))
        .collect()
}

/// A permuted descent ends where its steps lead in one of all orders, each as likely as another one; a step is as long
/// as the weight of its record says.
#[test]
fn points_of_permuted_descents_are_those_of_their_steps_in_any_order() {
    alone(|| {
        let (ridge, step) = (0.5, 0.7);
        for root in roots() {
            let shares = match root.schema().max_weight() {
                Some(_) => [0.3, MAX_WEIGHT, 9.0, 1.7].map(|w: f64| w.min(MAX_WEIGHT) / MAX_WEIGHT),
                None => [1.0; SHARED],
            };
            // Steps of at most 1/(beta R2^2 + ridge), and of 1/(ridge t) where that is less.
            let longest = 1.0 / (0.25 * root.row_bound().powi(2) + ridge);
            let ends: Vec<[f64; P + 1]> = (orders(SHARED).iter())
                .map(|order| {
                    let mut theta = [0.0; P + 1];
                    for (t, &i) in (1..).zip(order) {
                        let (x, y) = shared()[i];
                        let row: Vec<f64> = (x.iter())
                            .map(|x| (x * 16_383.0).round() / 16_383.0)
                            .chain([1.0])
                            .collect();
                        let z: f64 = row.iter().zip(&theta).map(|(x, theta)| x * theta).sum();
                        let derivative = -y / (1.0 + (y * z).exp()) * shares[i];
                        let step = longest.min(1.0 / (ridge * f64::from(t)));
                        for (theta, x) in theta.iter_mut().zip(&row) {
                            *theta -= step * (derivative * x + ridge * *theta);
                        }
                    }
                    theta
                })
                .collect();
            let options = PermutedOptions {
                ridge,
                passes: 1,
                batch: 1,
                step,
            };
            let permuted = root.permuted(&model(), options).unwrap();
            let noise = PointNoise::Gaussian { multiplier: 3.0 };
            let question = permuted.with_output_noise(noise).unwrap();
            let mut counts = vec![0.0; ends.len()];
            for (_, seen) in answers(&root, question.once(), 2000, &|session| {
                session.ask(&question, ())
            }) {
                let Some(Seen::Point(theta)) = seen.first() else {
                    panic!("a point first: {seen:?}");
                };
                let is = |end: &[f64; P + 1]| {
                    (theta.iter().zip(end)).all(|(theta, end)| (theta - end).abs() < 1e-9)
                };
                let order: Vec<usize> = (0..ends.len()).filter(|&k| is(&ends[k])).collect();
                assert_eq!(order.len(), 1, "{theta:?}");
                counts[order[0]] += 1.0;
            }
            choices_follow("order", &counts, &vec![1.0 / ends.len() as f64; ends.len()]);
        }
    });
}
