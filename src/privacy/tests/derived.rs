//! What records of derived statements may be.

use std::sync::Arc;

use super::harness::{P, asked, bounds, shared};
use super::refusals::{data, is_argument, refused, statement, whole};
use crate::accounting::event::Adjacency;
use crate::exact::tap::Seen;
use crate::privacy::{FeatureMap, Geometry, Schema, Statement, Target};
use crate::question::{Projection, TargetValue};

/// A score has one coefficient a column, an intercept beside it, and a scale.
#[test]
fn projections_are_by_finite_coefficients_of_all_columns() {
    for (theta, reach) in [
        (vec![f64::NAN], 1.0),
        (vec![f64::INFINITY], 1.0),
        (vec![1.0], 0.0),
        (vec![1.0], f64::INFINITY),
    ] {
        let error = Projection::new(theta, reach).unwrap_err();
        assert!(is_argument(&error, "projection"), "{error}");
    }
    for zoom in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let projection = Projection::new(vec![1.0], 1.0).unwrap();
        let error = projection.with_zoom(zoom).unwrap_err();
        assert!(is_argument(&error, "zoom"), "{error}");
    }
    for (near, theta, name) in [
        (0.0, vec![1.0], "near"),
        (f64::NAN, vec![1.0], "near"),
        (f64::INFINITY, vec![1.0], "near"),
        (0.5, vec![], "projection"),
        (0.5, vec![1.0; 2], "projection"),
        (0.5, vec![f64::NAN], "projection"),
        (0.5, vec![f64::MIN], "projection"),
    ] {
        let projection = Projection::new(vec![f64::MAX], 1.0).unwrap();
        let error = projection.with_beyond(near, theta).unwrap_err();
        assert!(is_argument(&error, name), "{error}");
    }
    let root = statement(Adjacency::ReplaceOne);
    let to = root.projected(1.0, 1.0).unwrap();
    let planned = [to.moments(1.0).unwrap().once()];
    for (columns, fits) in [(P, false), (P + 1, true), (P + 2, false)] {
        let projection = Projection::new(vec![1.0; columns], 1.0).unwrap();
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.projected(&projection, &to).map(drop)
        });
        assert_eq!(result.is_ok(), fits, "{columns}");
    }
    let onto = root.projected_scores(2, 1.0, 1.0).unwrap();
    let planned = [onto.moments(1.0).unwrap().once()];
    for (columns, fits) in [(P + 1, false), (2 * P + 1, false), (2 * P + 2, true)] {
        let projection = Projection::new(vec![1.0; columns], 1.0).unwrap();
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.projected(&projection, &onto).map(drop)
        });
        assert_eq!(result.is_ok(), fits, "{columns}");
    }
    assert!(root.projected_scores(0, 1.0, 1.0).is_err());
    let schema = Schema::new(
        P,
        bounds(),
        Geometry::Uncentred,
        Target::Classes,
        false,
        None,
    );
    let bare = Statement::new(schema.unwrap(), 9, Adjacency::ReplaceOne, 1).unwrap();
    assert!(is_argument(
        &bare.projected(1.0, 1.0).unwrap_err(),
        "fit_intercept"
    ));
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(is_argument(
            &root.projected(1.0, norm).unwrap_err(),
            "row_norm"
        ));
    }
}

/// Targets move where map and statement both say so; classes never.
#[test]
fn targets_move_as_the_statement_says() {
    let interval = |low: f64, high: f64| Target::Interval { low, high };
    let of = |target: Target| {
        let schema = Schema::new(P, bounds(), Geometry::Uncentred, target, true, None);
        schema.unwrap()
    };
    let root = Statement::new(
        of(interval(0.0, 9.0)),
        shared().len(),
        Adjacency::ReplaceOne,
        1,
    );
    let root = root.unwrap();
    assert!(is_argument(
        &root.mapped(of(Target::Classes)).unwrap_err(),
        "schema"
    ));
    let to = root.mapped(of(interval(-1.0, 1.0))).unwrap();
    let planned = [to.moments(1.0).unwrap().once()];
    let map = FeatureMap::linear(vec![1.0; P]);
    for (map, fits) in [(map.clone(), false), (map.with_target(0.1, 0.2), true)] {
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.mapped(&map, &to).map(drop)
        });
        assert_eq!(result.is_ok(), fits);
    }
    let classes = Statement::new(of(Target::Classes), 9, Adjacency::ReplaceOne, 1).unwrap();
    assert!(classes.target_quantile(1.0, 0.5).is_err());
    for level in [0.0, 1.0, f64::NAN] {
        assert!(is_argument(
            &root.target_quantile(1.0, level).unwrap_err(),
            "level"
        ));
    }
    let median = root.target_quantile(1.0, 0.5).unwrap();
    for point in [f64::NAN, 1.1, -1.1] {
        refused(&root, &[median.once()], &|session| {
            session.ask(&median, TargetValue::DistanceFrom(point))
        });
    }
}

/// Targets grow by a public factor, are clipped, and are no larger than is said; labels stay labels.
#[test]
fn projected_targets_are_zoomed_and_clipped() {
    let interval = |low: f64, high: f64| Target::Interval { low, high };
    let of = |target: Target| {
        let schema = Schema::new(P, bounds(), Geometry::Uncentred, target, true, None);
        let root = Statement::new(schema.unwrap(), shared().len(), Adjacency::ReplaceOne, 1);
        root.unwrap()
    };
    let zoomed = |zoom: f64| {
        let projection = Projection::new(vec![1.0; P + 1], 1.0).unwrap();
        projection.with_zoom(zoom).unwrap()
    };
    // Targets 1 and -1 of bounds -4 and 4 are 1/4 and -1/4; mapped by 0.1 and 0.75, 0.2 and -7/15, of at most 22/15.
    let root = of(interval(-4.0, 4.0));
    let mapped = root
        .mapped(of(interval(-1.0, 1.0)).schema().clone())
        .unwrap();
    let to = mapped.projected(1.0, 1.0).unwrap();
    let question = to.target_quantile(1.0, 0.5).unwrap();
    for (half, tail, zoom, usual) in [
        (0.75, None, 1.0, 1.0),
        (0.75, None, 3.0, 1.0),
        (2.2, None, 1.0, 0.5),
        (2.2, None, 1.5, 0.75),
        (2.2, None, 3.0, 1.0),
        (2.2, Some(0.55), 3.0, 0.75),
        (2.2, Some(5.0), 1.5, 0.75),
    ] {
        let map = FeatureMap::linear(vec![1.0; P]).with_target(0.1, half);
        let map = map.with_tail(tail);
        let expected = [0.25, -0.25].map(|y: f64| (zoom * (y - 0.1) / half).clamp(-1.0, 1.0));
        // What is beyond the ends shows in distances alone.
        for value in [TargetValue::Itself, TargetValue::DistanceFrom(0.2)] {
            let (found, seen) = asked(&whole(&root), &data(), &[question.once()], 1, &|session| {
                let mut session = session.mapped(&map, &mapped)?;
                let mut session = session.projected(&zoomed(zoom), &to)?;
                session.ask(&question, value)?;
                Ok(session.usual_target())
            });
            assert!((found.unwrap() - usual).abs() < 1e-12, "{half} {zoom}");
            let Some(Seen::Scores(scores, _)) = seen.first() else {
                panic!("{seen:?}");
            };
            let last = scores.len() - 1;
            let up_to = |k: usize| {
                let threshold = threshold(value, k, last);
                let values = expected.iter().map(|&y| value.of(y));
                2 * values.filter(|&value| value <= threshold).count() as i64
            };
            for (k, &score) in scores.iter().enumerate() {
                let below = if k == 0 { 0 } else { up_to(k - 1) };
                assert_eq!(
                    score,
                    (below - 2).max(2 - up_to(k)).max(0),
                    "{half} {zoom} {k}"
                );
            }
        }
    }
    let classes = of(Target::Classes);
    let to = classes.projected(1.0, 1.0).unwrap();
    for (zoom, fits) in [(1.0, true), (2.0, false)] {
        let planned = [to.moments(1.0).unwrap().once()];
        let (result, _) = asked(&whole(&classes), &data(), &planned, 1, &|session| {
            session.projected(&zoomed(zoom), &to).map(drop)
        });
        assert_eq!(result.is_ok(), fits);
    }
}

/// Records with these targets.
fn uncentred(target: Target) -> Arc<Statement> {
    let schema = Schema::new(P, bounds(), Geometry::Uncentred, target, true, None).unwrap();
    Statement::new(schema, shared().len(), Adjacency::ReplaceOne, 1).unwrap()
}

/// The threshold of place `k` of those of a quantile, `last` the place of the largest.
fn threshold(value: TargetValue, k: usize, last: usize) -> f64 {
    let octaves = |per_octave: f64| 0.5f64.powf((last - k) as f64 / per_octave);
    match value {
        TargetValue::Itself => 2.0 * k as f64 / last as f64 - 1.0,
        TargetValue::Size => octaves(12.0),
        TargetValue::DistanceFrom(_) => 2.0 * octaves(2.0),
    }
}

/// Scores of quantiles are those of the targets, each of which counts once: 1, -1, 1 and -1, moved to 1 and -1/3, or as
/// counts 1/2 and, clipped, 0.
#[test]
fn quantiles_of_targets_count_each_once() {
    let reals = Target::Interval {
        low: -2.0,
        high: 1.0,
    };
    let counts = Target::counts(0.0, 2.0, true);
    for (target, value, values) in [
        (reals, TargetValue::Itself, [1.0, -1.0 / 3.0]),
        (
            reals,
            TargetValue::DistanceFrom(0.5),
            [0.5, 0.5 + 1.0 / 3.0],
        ),
        (counts, TargetValue::Size, [0.5, 0.0]),
        (counts, TargetValue::DistanceFrom(0.5), [0.0, 0.5]),
    ] {
        let root = uncentred(target);
        let question = root.target_quantile(1.0, 0.75).unwrap();
        let (_, seen) = asked(&whole(&root), &data(), &[question.once()], 1, &|session| {
            session.ask(&question, value)
        });
        let Some(Seen::Scores(scores, _)) = seen.first() else {
            panic!("{seen:?}");
        };
        let last = scores.len() - 1;
        let up_to = |k: usize| {
            let values = values.iter();
            2 * values.filter(|&&x| x <= threshold(value, k, last)).count() as i64
        };
        for (k, &score) in scores.iter().enumerate() {
            let below = if k == 0 { 0 } else { up_to(k - 1) };
            assert_eq!(score, (below - 3).max(3 - up_to(k)).max(0), "{value:?} {k}");
        }
    }
}

/// Sizes are those of counts alone.
#[test]
fn reals_have_no_sizes() {
    let reals = uncentred(Target::Interval {
        low: -2.0,
        high: 1.0,
    });
    let question = reals.target_quantile(1.0, 0.5).unwrap();
    let (result, seen) = asked(&whole(&reals), &data(), &[question.once()], 1, &|session| {
        session.ask(&question, TargetValue::Size)
    });
    let refusal = result.unwrap_err().to_string();
    assert!(refusal.contains("counts") && seen.is_empty(), "{refusal}");
}

/// Scores s of mapped counts stand for rates r e^(s/r): records are asked about their logarithms, also as a line
/// through scores is, and what is undone has them.
#[test]
fn scores_of_counts_start_at_their_rate() {
    let counts = uncentred(Target::counts(0.0, 40.0, true));
    let images = Target::Counts {
        low: 0.0,
        high: 1.0,
        unit: 1.0 / 50.0,
    };
    let schema = Schema::new(P, bounds(), Geometry::Uncentred, images, true, None).unwrap();
    let mapped = counts.mapped(schema).unwrap();
    let projected = mapped.projected(1.0, 0.5).unwrap();
    let map = FeatureMap::linear(vec![0.5; P]).with_target(0.0, 2.5);
    let theta: Vec<f64> = (0..=P).map(|j| 0.3 - 0.1 * j as f64).collect();
    let question = projected.target_quantile(1.0, 0.5).unwrap();
    for rate in [1.0, 4.0] {
        let map = map.clone().with_rate(rate);
        let (found, _) = asked(
            &whole(&counts),
            &data(),
            &[question.once()],
            1,
            &|session| {
                assert_eq!(session.of_scores(&theta), theta.as_slice());
                let mut session = session.mapped(&map, &mapped)?;
                let scores = session.of_scores(&theta).into_owned();
                let units = session.units().cloned();
                let projection = Projection::new(theta.clone(), 2.0)?;
                let line = session.projected(&projection, &projected)?;
                Ok((scores, units, line.of_scores(&[0.7, 0.2]).into_owned()))
            },
        );
        let (scores, units, line) = found.unwrap();
        for (j, &theta) in theta.iter().enumerate() {
            let start = if j == P { rate.ln() } else { 0.0 };
            assert!((scores[j] - (theta / rate + start)).abs() < 1e-12);
        }
        let intercept = projected.schema().intercept_value();
        assert!((line[0] - 0.7 / rate).abs() < 1e-12);
        assert!((line[1] - (0.2 / rate + rate.ln() / intercept)).abs() < 1e-12);
        // One feature at its upper bound: rates in the user's unit are 40 * 2.5/50 = 2 times those of images.
        let mut undone = theta.clone();
        map.undo(&mut undone, mapped.schema(), counts.schema());
        let own = 5.0; // an eighth of the upper bound
        let rate_of = |theta: &[f64]| (theta[0] + theta[P]).exp();
        let image = (0.5 * scores[0] + scores[P]).exp();
        assert!((own * rate_of(&undone) - 2.0 * image).abs() < 1e-9);
        let units = units.unwrap();
        assert!((units.coefficients[0] - 0.5 / rate).abs() < 1e-12);
        assert!((units.target - 2.5 * 8.0 / 50.0 / rate).abs() < 1e-12);
    }
}

/// A rate is where counts start, and takes an intercept.
#[test]
fn rates_are_for_counts_with_an_intercept() {
    let counts = Target::counts(0.0, 40.0, true);
    let reals = Target::Interval {
        low: -2.0,
        high: 1.0,
    };
    for (target, intercept, fits) in [
        (counts, true, true),
        (counts, false, false),
        (reals, true, false),
        (Target::Classes, true, false),
    ] {
        let of = || Schema::new(P, bounds(), Geometry::Uncentred, target, intercept, None).unwrap();
        let root = Statement::new(of(), shared().len(), Adjacency::ReplaceOne, 1).unwrap();
        let mapped = root.scaled(of()).unwrap();
        let planned = [mapped.moments(1.0).unwrap().once()];
        let map = FeatureMap::linear(vec![0.5; P]).with_target(0.0, 2.0);
        for (map, fits) in [(map.clone(), true), (map.with_rate(4.0), fits)] {
            let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
                session.mapped(&map, &mapped).map(drop)
            });
            match result {
                Ok(()) => assert!(fits, "{target:?} {intercept}"),
                Err(error) => assert!(!fits && is_argument(&error, "map"), "{error}"),
            }
        }
    }
}
