//! Records, statements and sessions for tests.

use std::sync::Arc;

use ndarray::Array2;

use crate::accounting::event::Adjacency;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::exact::tap::{Seen, watched};
use crate::loss::{Admitted, ClippedLogistic, Huber, Logistic, Poisson, Squared};
use crate::privacy::answer::{Answer, Progress, Room, Sides};
use crate::privacy::budget::Budget;
use crate::privacy::records::Records;
use crate::privacy::session::{Core, Session};
use crate::privacy::{Bounds, Curator, FeatureMap, Geometry, RoomModel, Schema, Statement, Target};
use crate::question::{Planned, Projection, Question, Split, TiltNoise};

/// Features of the records.
pub const P: usize = 3;
/// Records that neighbours share.
pub const SHARED: usize = 4;

/// Raw records.
#[derive(Debug, Clone)]
pub struct Data {
    pub x: Array2<f64>,
    pub y: Vec<f64>,
    /// Weights, where records have any.
    pub w: Option<Vec<f64>>,
}

/// One record.
pub type Row = ([f64; P], f64);

impl Data {
    pub fn new(rows: &[Row]) -> Self {
        Self {
            x: Array2::from_shape_fn((rows.len(), P), |(i, j)| rows[i].0[j]),
            y: rows.iter().map(|row| row.1).collect(),
            w: None,
        }
    }

    pub fn weighted(self, weights: Vec<f64>) -> Self {
        Self {
            w: Some(weights),
            ..self
        }
    }

    pub fn curator(&self) -> Curator<'_> {
        let curator = Curator::from_dense(self.x.view(), &self.y);
        match &self.w {
            Some(weights) => curator.weighted(weights),
            None => curator,
        }
    }
}

/// Records that all neighbours have, of middling sizes.
pub fn shared() -> Vec<Row> {
    vec![
        ([0.3, -0.2, 0.9], 1.0),
        ([-0.7, 0.4, 0.1], -1.0),
        ([0.5, 0.5, -0.6], 1.0),
        ([0.0, -0.9, 0.2], -1.0),
    ]
}

/// Records of every extreme kind: as long as allowed, longer, short, empty, of one feature; either target.
pub fn extremes() -> Vec<Row> {
    let rows = [
        [1.0, 1.0, 1.0],
        [-1.0, -1.0, -1.0],
        [1.0, -1.0, 1.0],
        [1e9, -1e9, 1e9],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.0, 0.0],
        [0.577, 0.577, -0.577],
    ];
    (rows.iter())
        .flat_map(|&row| [(row, 1.0), (row, -1.0)])
        .collect()
}

/// The largest weight of records with weights.
pub const MAX_WEIGHT: f64 = 4.0;

/// Weights of every kind: above the largest, the largest, none, and in between.
fn weights() -> impl Iterator<Item = f64> {
    [1e9, MAX_WEIGHT, 0.0, 0.3, 3.9].into_iter().cycle()
}

/// How the records of a question come about in a session.
#[derive(Debug, Clone)]
pub enum View {
    Whole,
    Mapped(FeatureMap),
    Restricted(Vec<u32>),
    Varying,
    Projected(Projection),
}

/// Public facts under which questions are asked.
#[derive(Debug, Clone)]
pub struct Setting {
    pub name: String,
    pub root: Arc<Statement>,
    pub view: View,
    /// The statement of the questions.
    pub about: Arc<Statement>,
    pub model: RoomModel,
}

pub fn bounds() -> Bounds {
    Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    }
}

fn schema(target: Target, intercept: Option<f64>) -> Schema {
    let has = intercept.is_some();
    let schema = Schema::new(P, bounds(), Geometry::Uncentred, target, has, None).unwrap();
    match intercept {
        Some(value) => schema.with_intercept_value(value).unwrap(),
        None => schema,
    }
}

fn with_norm(target: Target, intercept: f64, norm: f64) -> Schema {
    let schema = Schema::new(P, bounds(), Geometry::Uncentred, target, true, Some(norm));
    schema.unwrap().with_intercept_value(intercept).unwrap()
}

fn weighted(schema: Schema) -> Schema {
    schema.with_max_weight(MAX_WEIGHT).unwrap()
}

/// A map that moves, stretches, clips and shortens.
pub fn map() -> FeatureMap {
    FeatureMap::new(vec![3.0, -1.5, 0.5], vec![0.4, 0.0, -0.3], 1.0).divided_by(1.2)
}

/// Coefficients of three scores a record.
pub fn scores() -> Vec<f64> {
    vec![
        2.0, -0.7, 0.0, 0.4, -1.1, 0.9, 0.6, -0.2, 0.0, 0.3, -2.0, 0.1,
    ]
}

/// Linear terms of either law.
pub fn both_tilts() -> [TiltNoise; 2] {
    [
        TiltNoise::Gaussian {
            sigma: 7.0,
            cover: 20.0,
        },
        TiltNoise::Gamma {
            epsilon: 0.8,
            cover: 0.1,
        },
    ]
}

/// A test on one thread: its many small passes over records would mostly wait for each other.
pub fn alone(test: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(test);
}

/// A loss by name, with its clamp, for targets of a kind.
type Kind = (&'static str, Admitted, Option<f64>, Target);

/// Every combination of neighbours, records a person, schema, view and loss that is worth a look.
pub fn settings() -> Vec<Setting> {
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    let counts = Target::Counts {
        low: 0.0,
        high: 1.0,
        unit: 0.25,
    };
    let losses: [Kind; 5] = [
        ("logistic", Logistic.into(), None, Target::Classes),
        ("huber", Huber::new(0.3).unwrap().into(), None, interval),
        ("squared 0.05", Squared.into(), Some(0.05), interval),
        ("squared 2", Squared.into(), Some(2.0), interval),
        (
            "poisson",
            Poisson::new(4.0, 0.5).unwrap().into(),
            None,
            counts,
        ),
    ];
    settings_of(&losses)
}

/// The same for softmax models of three classes.
pub fn class_settings() -> Vec<Setting> {
    let clipped = ClippedLogistic::new(0.4).unwrap();
    let target = Target::Multiclass { classes: 3 };
    settings_of(&[
        ("softmax", Logistic.into(), None, target),
        ("clipped softmax", clipped.into(), None, target),
    ])
}

fn settings_of(losses: &[Kind]) -> Vec<Setting> {
    let mut settings = Vec::new();
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
        for persons in [1, 2] {
            for (name, loss, clamp, target) in losses {
                let model = RoomModel::for_target(loss, *clamp, *target).unwrap();
                let n = SHARED + persons;
                let constant = Bounds {
                    lower: vec![-1.0, 0.0, -1.0],
                    upper: vec![1.0, 0.0, 1.0],
                };
                let constant =
                    Schema::new(P, constant, Geometry::Uncentred, *target, true, Some(0.9));
                let schemas = [
                    ("no intercept", schema(*target, None)),
                    ("intercept", schema(*target, Some(1.0))),
                    ("row norm", with_norm(*target, 1.0, 0.8)),
                    ("short row norm", with_norm(*target, 0.7, 0.05)),
                    (
                        "gradient norm",
                        schema(*target, Some(0.25)).with_gradient_norm(0.4).unwrap(),
                    ),
                    ("a constant feature", constant.unwrap()),
                    ("weights", weighted(schema(*target, Some(1.0)))),
                    (
                        "weights and a gradient norm",
                        weighted(schema(*target, Some(0.25)).with_gradient_norm(0.4).unwrap()),
                    ),
                    ("weights without intercept", weighted(schema(*target, None))),
                ];
                for (kind, schema) in schemas {
                    let root = Statement::new(schema, n, adjacency, persons).unwrap();
                    let mut push = |view: View, about: Arc<Statement>, how: &str| {
                        settings.push(Setting {
                            name: format!("{name}, {kind}, {adjacency}, {persons}, {how}"),
                            root: Arc::clone(&root),
                            view,
                            about,
                            model: model.clone(),
                        });
                    };
                    push(View::Whole, Arc::clone(&root), "whole");
                    if !root.schema().has_intercept() {
                        continue;
                    }
                    let short = root.mapped(with_norm(*target, 0.3, 0.6)).unwrap();
                    push(View::Mapped(map()), short, "mapped to a row norm");
                    let weighed = schema_of_weights(*target);
                    let weighed = root.mapped(weighed).unwrap();
                    push(View::Mapped(map()), weighed, "mapped to weights");
                    if !target.is_classes() {
                        let moved = root.mapped(schema_of_weights(*target)).unwrap();
                        let targets = View::Mapped(map().with_target(0.3, 0.2));
                        push(targets, moved, "mapped, targets too");
                    }
                    let projection = Projection::new(vec![2.0, -0.7, 0.0, 0.4], 1.3).unwrap();
                    let projected = root.projected(0.5, 0.6).unwrap();
                    if matches!(target, Target::Interval { .. }) {
                        let zoomed = projection.clone().with_zoom(3.0).unwrap();
                        let how = "projected, targets larger";
                        push(View::Projected(zoomed), Arc::clone(&projected), how);
                    }
                    let beyond = vec![-1.0, 0.4, 0.0, 0.0];
                    let bent = projection.clone().with_beyond(0.3, beyond).unwrap();
                    push(
                        View::Projected(bent),
                        Arc::clone(&projected),
                        "projected, bent",
                    );
                    push(View::Projected(projection), projected, "projected");
                    if let 2.. = target.outputs() {
                        let onto = Projection::new(scores(), 1.3).unwrap();
                        let about = root.projected_scores(target.outputs(), 0.1, 0.6);
                        push(View::Projected(onto), about.unwrap(), "onto scores");
                    }
                    let two = root.restricted(2).unwrap();
                    push(View::Restricted(vec![0, 2]), two, "restricted");
                    if root.schema().n_varying() < P {
                        push(View::Varying, root.varying().unwrap(), "varying");
                    }
                }
            }
        }
    }
    settings
}

fn schema_of_weights(target: Target) -> Schema {
    schema(target, Some(0.5)).with_gradient_norm(0.7).unwrap()
}

/// The sides of a split of these records.
pub fn sides(split: &Question<Split>, records: &dyn Records, seed: u64) -> Sides {
    let mut state = Sides::default();
    let room = Room {
        records,
        state: &mut state,
        source: &mut Source::seeded(seed),
        watch: &mut || Ok(()),
        progress: &Progress::default(),
    };
    split.answer.draw((), room).unwrap();
    state
}

/// What happens in a session, and what the samplers were given meanwhile.
pub fn asked<R>(
    setting: &Setting,
    data: &Data,
    planned: &[Planned],
    seed: u64,
    ask: &dyn Fn(&mut Session<'_>) -> Result<R>,
) -> (Result<R>, Vec<Seen>) {
    let curator = data.curator();
    let records = curator.all(&setting.root, &[]).unwrap();
    let mut core = Core {
        budget: Budget::new(planned).unwrap(),
        source: Source::seeded(seed),
        progress: std::cell::Cell::new((0, 1)),
        transcript: None,
    };
    let mut quiet = |_: usize, _: usize| Ok(());
    let mut session = Session::new(&*records, &mut core, &mut quiet, &curator);
    watched(|| match &setting.view {
        View::Whole => ask(&mut session),
        View::Mapped(map) => ask(&mut session.mapped(map, &setting.about)?),
        View::Restricted(features) => ask(&mut session.restricted(features, &setting.about)?),
        View::Varying => ask(&mut session.varying(&setting.about)?),
        View::Projected(projection) => ask(&mut session.projected(projection, &setting.about)?),
    })
}

impl Setting {
    /// Data sets of which any two are neighbours under replace-one, and the first of which is one of all others under
    /// add-remove.
    pub fn family(&self) -> Vec<Data> {
        let m = self.root.records_per_person() as usize;
        let classes = self.root.schema().target().outputs();
        let shared: Vec<Row> = match classes {
            1 => shared(),
            _ => (shared().into_iter().enumerate())
                .map(|(i, (x, _))| (x, (i % classes) as f64))
                .collect(),
        };
        let has_weights = self.root.schema().max_weight().is_some();
        // Every person comes twice, with weights of other kinds.
        let with = |(k, own): (usize, Vec<Row>)| {
            let data = Data::new(&[shared.clone(), own].concat());
            let n = data.y.len();
            match has_weights {
                true => data.weighted(
                    (weights().take(SHARED))
                        .chain(weights().skip(k))
                        .take(n)
                        .collect(),
                ),
                false => data,
            }
        };
        let all: Vec<Row> = match classes {
            1 => extremes(),
            _ => (extremes().into_iter().step_by(2))
                .flat_map(|(x, _)| (0..classes).map(move |y| (x, y as f64)))
                .collect(),
        };
        // The records of a person are alike, or not.
        let mut persons: Vec<Vec<Row>> = all.iter().map(|&row| vec![row; m]).collect();
        if m > 1 {
            persons.push(vec![all[0], all[3]]);
        }
        let none = (self.root.adjacency() == Adjacency::AddRemove).then(Vec::new);
        if has_weights {
            let again = persons.clone();
            persons = (again.into_iter())
                .flat_map(|own| [own.clone(), own])
                .collect();
        }
        none.into_iter()
            .chain(persons)
            .enumerate()
            .map(with)
            .collect()
    }

    /// The largest of `moved` over all pairs of neighbours of a family.
    pub fn worst(
        &self,
        planned: &[Planned],
        ask: &dyn Fn(&mut Session<'_>) -> Result<()>,
        moved: &dyn Fn(&[Seen], &[Seen]) -> f64,
    ) -> f64 {
        let seen: Vec<Vec<Seen>> = (self.family().iter())
            .map(|data| {
                let (result, seen) = asked(self, data, planned, 5, ask);
                result.unwrap_or_else(|error| panic!("{}: {error}", self.name));
                assert!(!seen.is_empty(), "{}: nothing was drawn", self.name);
                seen
            })
            .collect();
        let first = match self.root.adjacency() {
            Adjacency::ReplaceOne => seen.len(),
            Adjacency::AddRemove => 1,
        };
        let mut worst = 0.0f64;
        for (k, one) in seen[..first].iter().enumerate() {
            for other in &seen[k + 1..] {
                worst = worst.max(moved(one, other));
            }
        }
        worst
    }
}
