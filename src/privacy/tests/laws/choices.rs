//! Choices by the exponential mechanism: frequencies against exp(-eta q) of their scores.

use std::sync::Arc;

use super::super::harness::{MAX_WEIGHT, P, alone, bounds, shared};
use super::{CHOICES, answers, choices_follow, model, root, root_of};
use crate::accounting::event::{Adjacency, Event};
use crate::exact::tap::{Seen, watched};
use crate::loss::{Admitted, Logistic};
use crate::polytope::{GroupBall, LinfBall, Selectable, SignedCoordinates, VertexList};
use crate::privacy::answer::VertexAt;
use crate::privacy::{
    FeatureMap, Geometry, MemoryLedger, RunningPlan, RunningSoftmax, Schema, Statement, Target,
};
use crate::question::{LinearModel, RangesOf, SelectionNoise, TargetValue};

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
