//! Slopes that may lag behind: scores move by no more than their sensitivity, whatever the others do, and storage
//! changes no integer.

use std::sync::Arc;

use ndarray::Array2;
use proptest::prelude::*;

use super::harness::{Setting, alone, settings};
use super::neighbours::{Reached, choice, exponential};
use crate::accounting::event::Adjacency;
use crate::loss::Logistic;
use crate::polytope::SignedCoordinates;
use crate::privacy::answer::VertexAt;
use crate::privacy::blocks::Blocks;
use crate::privacy::bounded_data::tests::all_kinds_of;
use crate::privacy::records::{LaggingPass, Move, Pass, Records, States};
use crate::privacy::{Bounds, Geometry, RoomModel, Schema, Session, Statement, Target};
use crate::question::{Question, SelectionNoise, Vertex};

fn lagging(setting: &Setting, origin: Option<f64>, tolerance: f64) -> Question<Vertex> {
    let ball = SignedCoordinates::l1_ball(setting.about.n_columns(), 2.0).into();
    let noise = SelectionNoise::Exponential { epsilon0: 0.8 };
    let question = setting.about.vertex(&setting.model, &ball, noise, origin);
    question.unwrap().lagging(tolerance).unwrap()
}

/// The l1 ball in every setting, over several steps of one public transcript: the range of each choice is the event's.
/// With a tolerance this large shared records lag behind by much of their slopes: were they taken anew because of
/// another record, scores would move by several times their sensitivity.
#[test]
fn lagging_choices_keep_their_range() {
    alone(|| {
        let mut reached = Reached::default();
        for setting in settings() {
            for (tolerance, origin) in [(0.02, None), (1.5, Some(1e6)), (5.0, None)] {
                let question = lagging(&setting, origin, tolerance);
                let last = setting.about.n_columns() as u32 - 1;
                let steps: [&[(u32, i64)]; 6] = [
                    &[],
                    &[(0, 1)],
                    &[(last, -1)],
                    &[(0, -1)],
                    &[(last, 1)],
                    &[(0, 1)],
                ];
                let ask = |session: &mut Session<'_>| {
                    for (t, moved) in steps.iter().enumerate() {
                        let at = VertexAt {
                            moved: (moved, 1 + t as i64),
                            retired: &[],
                            unit: 30.0 / (16_383.0 * (1.0 + t as f64)),
                        };
                        session.ask(&question, at)?;
                    }
                    Ok(())
                };
                let moved = setting.worst(&[question.times(6)], &ask, &choice);
                reached.add(&setting, moved, exponential(&question));
            }
        }
        reached.at_least(0.9);
    });
}

/// Records of a few entries each, some of them empty.
#[derive(Debug, Clone)]
struct Rows {
    x: Array2<f64>,
    y: Vec<f64>,
    weights: Option<Vec<f64>>,
}

const P: usize = 150;

impl Rows {
    fn new(rows: &[(Vec<(usize, f64)>, bool)], weights: bool) -> Self {
        let mut x = Array2::zeros((rows.len(), P));
        for (i, (row, _)) in rows.iter().enumerate() {
            row.iter().for_each(|&(j, value)| x[[i, j]] = value);
        }
        let share = |i: usize| [9.0, 0.3, 0.0, 3.9, 1.7][i % 5];
        Self {
            x,
            y: rows
                .iter()
                .map(|row| if row.1 { 1.0 } else { -1.0 })
                .collect(),
            weights: weights.then(|| (0..rows.len()).map(share).collect()),
        }
    }

    /// Without the record at a position, all others of one weight.
    fn without(&self, position: usize) -> Self {
        let kept: Vec<usize> = (0..self.y.len()).filter(|&i| i != position).collect();
        let weights = self.weights.as_ref();
        Self {
            x: self.x.select(ndarray::Axis(0), &kept),
            y: kept.iter().map(|&i| self.y[i]).collect(),
            weights: weights.map(|all| kept.iter().map(|&i| all[i]).collect()),
        }
    }

    /// In dense storage, compressed rows and compressed columns.
    fn stored(&self, schema: &Schema) -> Vec<Blocks> {
        let statement =
            Statement::new(schema.clone(), self.y.len(), Adjacency::AddRemove, 1).unwrap();
        let all = all_kinds_of(&self.x, &self.y, schema);
        (all.into_iter())
            .map(|data| {
                let data = data.weighed(self.weights.as_deref()).unwrap();
                Blocks::new(Arc::new(data), &statement).unwrap()
            })
            .collect()
    }
}

/// Bounds between which zeros stay zeros or do not, with and without intercept, weights and a gradient norm.
fn schemas() -> Vec<Schema> {
    let schema = |lower: f64, geometry: Geometry, intercept: bool| {
        let bounds = Bounds {
            lower: vec![lower],
            upper: vec![1.0],
        };
        Schema::new(P, bounds, geometry, Target::Classes, intercept, None).unwrap()
    };
    vec![
        schema(0.0, Geometry::Uncentred, false),
        schema(0.0, Geometry::Centred, true),
        schema(-1.0, Geometry::Centred, true),
        schema(-0.5, Geometry::Centred, true),
        schema(0.0, Geometry::Uncentred, false)
            .with_max_weight(4.0)
            .unwrap(),
        schema(-1.0, Geometry::Centred, true)
            .with_gradient_norm(0.8)
            .unwrap(),
    ]
}

/// A public transcript: a column (of all, the intercept too) with its sign, step by step.
type Transcript = Vec<(usize, bool)>;

/// What a lagging pass makes of a transcript: sums of all columns and slopes of all records, step by step, of rare
/// features where they are asked for.
fn played(
    records: &Blocks,
    transcript: &Transcript,
    (tolerance, rare): (f64, Option<i64>),
) -> Vec<(Vec<i64>, Vec<i16>)> {
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let columns = records.n_columns();
    let (mut states, mut sums) = (States::default(), vec![0; columns]);
    let mut played = Vec::new();
    let mut moved: Vec<Vec<(u32, i64)>> = Vec::new();
    for (t, &(column, up)) in transcript.iter().enumerate() {
        let moves: Vec<Move<'_>> = (moved.iter())
            .map(|direction| Move {
                output: 0,
                direction,
                weight: t as i64,
            })
            .collect();
        let count = t.max(1) as f64;
        let pass = LaggingPass {
            model: &model,
            moves: &moves,
            unit: 2.0 * 20.0 / (count * (count + 1.0) * 16_383.0),
            tolerance,
            rare,
        };
        let changed = records.lagging(&pass, &mut states, &mut || Ok(())).unwrap();
        assert!(changed.0.is_sorted_by(|a, b| a.0 < b.0));
        let lagging = states.lagging.as_ref().unwrap();
        let number_of = |j: usize| match lagging.rare() {
            Some(rare) => rare.number_of(j),
            None => Some(j),
        };
        let total = states.slopes[0].iter().map(|&d| i64::from(d)).sum::<i64>();
        assert_eq!(lagging.total(), total);
        for (j, sum) in sums.iter_mut().enumerate() {
            match number_of(j).map(|number| number as u32) {
                Some(number) => {
                    let told = changed.0.iter().find(|told| told.0 == number);
                    *sum = told.map_or(*sum, |told| told.1);
                }
                None => {
                    *sum = records.lagging_sum(j, &states);
                    let zero = i64::from(records.schema().lattice_value(0.0, j));
                    let largest = model.lattice().bound().linf as i64;
                    assert!((*sum - zero * total).abs() <= rare.unwrap() * largest);
                }
            }
        }
        // The sums are those of all records at their present slopes.
        let mut whole = vec![0; columns];
        records
            .whole()
            .unwrap()
            .gradient(&states.slopes[0], &mut whole);
        assert_eq!(sums, whole);
        if tolerance < 1e-200 {
            // Every slope is taken anew where its score moves at all: exact.
            let pass = Pass::Gradient {
                model: &model,
                moves: &[],
                fresh: false,
                unit: pass.unit,
            };
            let mut exact = States {
                margins: states.margins.clone(),
                slopes: vec![vec![0; records.n_records()]],
                ..States::default()
            };
            let sum = records.fold(&pass, &mut exact, &mut || Ok(())).unwrap();
            assert_eq!(sums, sum.0);
        }
        played.push((sums.clone(), states.slopes[0].clone()));
        moved = vec![vec![(
            column.min(columns - 1) as u32,
            if up { 2 } else { -1 },
        )]];
    }
    played
}

type Entries = Vec<(Vec<(usize, f64)>, bool)>;

fn entries(n: std::ops::Range<usize>) -> impl Strategy<Value = Entries> {
    // A few columns are in many rows, so that transcripts meet them.
    let column = prop_oneof![3 => 0usize..4, 1 => 0usize..P];
    let value = prop_oneof![Just(1.0), -1.0..1.0f64];
    let row = prop::collection::vec((column, value), 0..5);
    prop::collection::vec((row, any::<bool>()), n)
}

fn transcript() -> impl Strategy<Value = Transcript> {
    let column = prop_oneof![6 => 0usize..4, 1 => 0usize..=P];
    prop::collection::vec((column, any::<bool>()), 2..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Storage changes neither slopes nor sums, which are those of a pass over all records.
    #[test]
    fn every_storage_lags_alike(
        rows in entries(1..40),
        transcript in transcript(),
        tolerance in prop_oneof![Just(1e-300), Just(0.03), Just(1.0)],
    ) {
        for schema in schemas() {
            let rows = Rows::new(&rows, schema.max_weight().is_some());
            let stored = rows.stored(&schema);
            let first = played(&stored[0], &transcript, (tolerance, None));
            for rare in [None, Some(0), Some(20_000)] {
                for data in &stored {
                    prop_assert_eq!(&played(data, &transcript, (tolerance, rare)), &first);
                }
            }
        }
    }

    /// One record more, wherever it stands, leaves the slopes of all others as they are at every step, and moves each
    /// sum by its own term alone.
    #[test]
    fn other_records_change_no_slope(
        rows in entries(2..30),
        transcript in transcript(),
        position: prop::sample::Index,
        tolerance in prop_oneof![Just(0.03), Just(1.0), Just(6.0)],
    ) {
        let position = position.index(rows.len());
        for schema in schemas() {
            let all = Rows::new(&rows, schema.max_weight().is_some());
            let fewer = all.without(position).stored(&schema);
            for (with, without) in all.stored(&schema).iter().zip(&fewer) {
                let played = |data: &Blocks| played(data, &transcript, (tolerance, Some(20_000)));
                let steps = played(with).into_iter().zip(played(without));
                for ((sums, mut slopes), (other_sums, other_slopes)) in steps {
                    let own = i64::from(slopes.remove(position));
                    prop_assert_eq!(slopes, other_slopes);
                    for (sum, other) in sums.iter().zip(other_sums) {
                        prop_assert!((sum - other).abs() <= own.abs() * 16_383);
                    }
                    prop_assert!(own.abs() <= 1 << 14);
                }
            }
        }
    }
}

/// What no proof covers is refused before anything is spent.
#[test]
fn lag_is_for_lists_of_coordinates() {
    use crate::polytope::{GroupBall, LinfBall};
    let schema = schemas().remove(0);
    let statement = Statement::new(schema, 10, Adjacency::ReplaceOne, 1).unwrap();
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let exponential = SelectionNoise::Exponential { epsilon0: 0.5 };
    let laplace = SelectionNoise::Laplace { scale: 1e9 };
    let ball = || SignedCoordinates::l1_ball(P, 1.0);
    let groups: Vec<Vec<usize>> = (0..P).map(|j| vec![j]).collect();
    let groups = GroupBall::new(&groups, P, false, 1.0).unwrap();
    let refused = |polytope: crate::polytope::Selectable, noise, tolerance: f64| {
        let question = statement.vertex(&model, &polytope, noise, None).unwrap();
        let error = question.lagging(tolerance).err();
        error.map(|error| error.to_string())
    };
    assert_eq!(refused(ball().into(), exponential, 0.1), None);
    assert_eq!(
        refused(
            SignedCoordinates::simplex(P, false, 1.0).into(),
            exponential,
            0.1
        ),
        None
    );
    for (polytope, noise) in [
        (ball().into(), laplace),
        (LinfBall::new(P, 1.0).into(), exponential),
        (groups.into(), exponential),
    ] {
        let error = refused(polytope, noise, 0.1).unwrap();
        assert!(error.contains("refresh"), "{error}");
    }
    for tolerance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(ball().into(), exponential, tolerance).unwrap();
        assert!(error.contains("tolerance"), "{error}");
    }
}
