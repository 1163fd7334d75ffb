//! Choices by report-noisy-minimum.

use super::super::harness::{P, alone};
use super::{CHOICES, answers, choices_follow, laplace, model, root};
use crate::exact::tap::Seen;
use crate::polytope::SignedCoordinates;
use crate::privacy::answer::VertexAt;
use crate::question::SelectionNoise;

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
