//! Workers in this process, which lose shards.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ndarray::Array2;
use proptest::prelude::*;

use super::log::Log;
use super::merge::{Answer, merged_replies as merged, split_reply as split};
use super::pass::{MoveData, PassData};
use super::shard::{Shard, ShardSource, TakeRecords};
use super::wire::{Body, Message, Reply, Request, decoded, encoded, sums, words};
use super::{Held, Link, Script, Shards, Workers};
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::loss::{Admitted, Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared, Tabulated};
use crate::loss::{ClippedLogistic, TargetGrid};
use crate::privacy::Curator;
use crate::privacy::derived::Derived;
use crate::privacy::records::{Move, Pass, Records, States};
use crate::question::{FeatureMap, LinearModel, MOST_RECORDS, Projection, RoomModel, Statement};
use crate::schema::{Bounds, Geometry, Schema, Target};

/// Features and targets of a shard.
pub(in crate::privacy) struct Raw(pub Array2<f64>, pub Vec<f64>);

impl ShardSource for Raw {
    fn read(&self, take: TakeRecords<'_>) -> Result<()> {
        take(self.0.view().into(), &self.1, None)
    }
}

/// Shards of which every `period`-th that is asked was lost before; 0: none.
pub(in crate::privacy) struct Local {
    raw: Vec<Raw>,
    shards: Mutex<Vec<Shard>>,
    period: usize,
    /// Whether sums travel as shares.
    shared: bool,
    asked: AtomicUsize,
    lost: AtomicUsize,
    /// Whole scripts that shards went through.
    whole: AtomicUsize,
    /// Most bytes of an answer.
    bytes: AtomicU64,
}

impl Local {
    pub(in crate::privacy) fn new(raw: Vec<Raw>, period: usize, shared: bool) -> Self {
        let shards = (0..raw.len() as u32).map(Shard::new).collect();
        Self {
            raw,
            shards: Mutex::new(shards),
            period,
            shared,
            asked: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            whole: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
        }
    }
}

impl Workers for Local {
    fn n_shards(&self) -> usize {
        self.raw.len()
    }

    fn ask(&self, script: Script) -> Result<Vec<Vec<u8>>> {
        let mut replies = Vec::new();
        for (k, shard) in self.shards.lock().unwrap().iter_mut().enumerate() {
            let asked = self.asked.fetch_add(1, Ordering::Relaxed);
            if self.period > 0 && asked % self.period == self.period - 1 {
                *shard = Shard::new(k as u32);
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            let first = match script.reads_records() {
                true => {
                    // What a shard reads is its own: no request is the same for all.
                    assert!(matches!(script.newest(), Err(Error::Workers(_))));
                    None
                }
                false => shard.answer(&script.newest()?, None)?,
            };
            let answer = match first {
                Some(answer) => answer,
                None => {
                    self.whole.fetch_add(1, Ordering::Relaxed);
                    let whole = script.whole(k)?;
                    let answer = shard.answer(&whole, Some(&self.raw[k]))?.unwrap();
                    // Asked twice, it answers the same.
                    assert_eq!(shard.answer(&whole, None)?, Some(answer.clone()));
                    answer
                }
            };
            self.bytes.fetch_max(answer.len() as u64, Ordering::Relaxed);
            replies.push(answer);
        }
        if !self.shared {
            let half = replies.len() / 2;
            let parts = [&replies[..half], &replies[half..]];
            let parts = parts.iter().filter(|part| !part.is_empty());
            return parts.map(|part| merged(part)).collect();
        }
        let halves: Vec<_> = replies
            .iter()
            .map(|reply| split(reply))
            .collect::<Result<_>>()?;
        if matches!(
            decoded::<Reply>(&halves[0].0)?.body,
            Body::Share(_) | Body::Sums(_)
        ) {
            let (one, other): (Vec<_>, Vec<_>) = halves.into_iter().unzip();
            return Ok(vec![merged(&one)?, merged(&other)?]);
        }
        Ok(replies)
    }
}

fn schema(p: usize) -> Schema {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None).unwrap()
}

fn raw(n: usize, p: usize) -> Raw {
    let entry = |(i, j): (usize, usize)| ((i * 31 + j * 17) % 23) as f64 / 11.0 - 1.0;
    let y = (0..n).map(|i| [1.0, -1.0, 1.0][i % 3]);
    Raw(Array2::from_shape_fn((n, p), entry), y.collect())
}

/// Every kind of derivation, of all records and of parts, margins that go on from pass to pass, with shards lost
/// everywhere: sums are those of the same records here, with whole replies and with shares.
#[test]
fn lost_shards_change_nothing() {
    let (n, p) = (90, 3);
    let statement = Statement::new(schema(p), n, Adjacency::AddRemove, 1).unwrap();
    let all = raw(n, p);
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let positions: Vec<u32> = (0..n as u32).filter(|i| i % 4 != 1).collect();
    let unit = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let of_scores = |scores| {
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        Schema::new(scores, unit.clone(), geometry, target, true, None).unwrap()
    };
    let derivations = [
        (
            Derived::Mapped {
                map: FeatureMap::new(vec![0.5, -2.0, 1.0], vec![0.1, 0.0, -0.3], 0.9),
                schema: schema(p),
            },
            3,
        ),
        (Derived::Restricted(vec![0, 2]), 2),
        (Derived::Varying, 3),
        (
            Derived::Projected {
                projection: Projection::new(vec![1.0, -0.5, 0.2, 0.1], 1.5).unwrap(),
                schema: of_scores(1),
            },
            1,
        ),
        (
            Derived::Projected {
                projection: Projection::new(vec![0.3, 0.8, -1.0, 0.0, -0.4, 0.0, 0.7, 0.2], 0.9)
                    .unwrap()
                    .with_beyond(0.2, vec![0.0, -0.8, 1.0, 0.0, 0.4, 0.5, 0.0, 0.0])
                    .unwrap(),
                schema: of_scores(2),
            },
            2,
        ),
    ];
    let sums_of = |curator: &Curator<'_>| {
        let mut sums = Vec::new();
        for positions in [None, Some(&positions[..])] {
            let taken = curator.take(positions, statement.schema()).unwrap();
            let records = curator.given(taken, &statement, false).unwrap();
            for (by, features) in &derivations {
                let made = records.derived(by.clone(), &statement).unwrap();
                let mut states = [States::default(), States::default()];
                for step in 0..6u32 {
                    let direction = [(step % (features + 1), 40_000), (*features, -9_000)];
                    let moves = [Move {
                        output: 0,
                        direction: &direction,
                        weight: i64::from(step) + 1,
                    }];
                    let pass = Pass::Gradient {
                        model: &model,
                        moves: &moves,
                        fresh: step == 3,
                        unit: 2f64.powi(-30),
                    };
                    let states = &mut states[step as usize % 2];
                    sums.push(made.fold(&pass, states, &mut || Ok(())).unwrap().0);
                }
                let pass = Pass::Moments;
                sums.push(
                    made.fold(&pass, &mut States::default(), &mut || Ok(()))
                        .unwrap()
                        .0,
                );
            }
        }
        sums
    };
    let expected = sums_of(&Curator::from_dense(all.0.view(), &all.1));
    let shards = || {
        // Record 49 is at none of the positions: a shard of records without one that is taken.
        let cuts = [0, 7, 7, 49, 50, 51, n];
        let part = |ends: &[usize]| {
            let rows = (ends[0]..ends[1]).into();
            Raw(
                all.0.slice_axis(ndarray::Axis(0), rows).to_owned(),
                all.1[ends[0]..ends[1]].to_vec(),
            )
        };
        cuts.windows(2).map(part).collect::<Vec<_>>()
    };
    for period in [0, 1, 2, 3, 7, 11] {
        for shared in [false, true] {
            let workers = std::sync::Arc::new(Local::new(shards(), period, shared));
            let curator = Curator::from_workers(workers.clone(), n);
            curator.all(&statement, &[]).unwrap();
            assert_eq!(sums_of(&curator), expected);
            assert_eq!(workers.lost.load(Ordering::Relaxed) > 0, period > 0);
            // The longest sums are six moments and four columns: no answer holds more than these and a few numbers.
            assert!(workers.bytes.load(Ordering::Relaxed) <= 8 * 10 + 40);
        }
    }
}

/// Margins of several outputs are restored output by output.
#[test]
fn lost_margins_of_several_outputs_are_restored() {
    let (n, p, classes) = (30, 2, 3);
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let target = Target::Multiclass { classes };
    let schema = Schema::new(p, bounds, Geometry::Centred, target, true, None).unwrap();
    let statement = Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
    let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
    let own = |raw: Raw| Raw(raw.0, (0..raw.1.len()).map(|i| (i % 3) as f64).collect());
    let all = own(raw(n, p));
    let sums_of = |curator: &Curator<'_>| {
        let records = curator.all(&statement, &[]).unwrap();
        let mut states = States::default();
        (0..5u32)
            .map(|step| {
                let direction = [(step % 3, 60_000), (2, -20_000)];
                let move_of = |output| Move {
                    output,
                    direction: &direction,
                    weight: output as i64 - i64::from(step),
                };
                let pass = Pass::Gradient {
                    model: &model,
                    moves: &[move_of(1), move_of(2)],
                    fresh: false,
                    unit: 2f64.powi(-30),
                };
                (records.fold(&pass, &mut states, &mut || Ok(())).unwrap()).0
            })
            .collect::<Vec<_>>()
    };
    let mut log = Log::default();
    let step = MoveData {
        output: 2,
        direction: vec![(1, 10)],
        weight: -3,
    };
    log.moved(7, 5, (3, 4), &[step]);
    let [
        Request::Restore {
            records: 5,
            states: 7,
            outputs: 3,
            moves,
        },
    ] = &log.replay(0)[..]
    else {
        panic!("margins of three outputs: {log:?}");
    };
    let kept: Vec<&[(u32, i64)]> = moves.iter().map(|step| &step.direction[..]).collect();
    assert_eq!(kept, [&[][..], &[], &[(1, -30)]]);

    let expected = sums_of(&Curator::from_dense(all.0.view(), &all.1));
    assert_eq!(expected[0].len(), 3 * (p + 1));
    for period in [0, 1, 2, 3] {
        let workers = std::sync::Arc::new(Local::new(vec![own(raw(n, p))], period, false));
        assert_eq!(sums_of(&Curator::from_workers(workers, n)), expected);
    }
}

/// What is no longer asked about is forgotten.
#[test]
fn shards_keep_what_is_asked_about() {
    let statement = Statement::new(schema(2), 20, Adjacency::ReplaceOne, 1).unwrap();
    let workers = std::sync::Arc::new(Local::new(vec![raw(20, 2)], 0, false));
    let curator = Curator::from_workers(workers.clone(), 20);
    let records = curator.all(&statement, &[]).unwrap();
    assert_eq!(records.n_records(), 20);
    let mut most = 0;
    for _ in 0..5 {
        let made = records.derived(Derived::Varying, &statement).unwrap();
        let pass = Pass::Absolute;
        made.fold(&pass, &mut States::default(), &mut || Ok(()))
            .unwrap();
        most = most.max(workers.shards.lock().unwrap()[0].n_held());
    }
    assert_eq!(most, 2);
    // Nothing was lost: no script but the one that reads the records is longer than its newest request.
    assert_eq!(workers.whole.load(Ordering::Relaxed), 1);
}

/// A worker's memory is asked before the records of a release are, and no curvature comes from elsewhere.
#[test]
fn shards_have_room_and_no_curvature() {
    let workers = std::sync::Arc::new(Local::new(vec![raw(7, 2), raw(13, 2)], 0, false));
    let link = Link::new(workers);
    assert_eq!(link.room(1), Ok(()));
    for bytes in [u128::from(u64::MAX), u128::MAX] {
        assert!(matches!(link.room(bytes), Err(Error::TooLarge { .. })));
    }
    let held = Held::read(&link, None, &schema(2)).unwrap();
    assert_eq!(held.largest(), 13);
    let statement = Statement::new(schema(2), 20, Adjacency::ReplaceOne, 1).unwrap();
    let records = Shards::new(held, &statement).unwrap();
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let mut out = vec![1.0; 9];
    records.curvature(&model, 1.0, &States::default(), &mut out);
    assert_eq!(out, [0.0; 9]);
}

/// A second release by the same shards, which another curator left right after they had read their records under other
/// bounds: its records are read anew, and its sums are those of new shards.
#[test]
fn shards_read_their_records_for_every_curator() {
    let wide = Bounds {
        lower: vec![-4.0],
        upper: vec![4.0],
    };
    let wide = Schema::new(2, wide, Geometry::Centred, Target::Classes, true, None).unwrap();
    let new = || std::sync::Arc::new(Local::new(vec![raw(7, 2), raw(13, 2)], 0, false));
    let sums = |workers: std::sync::Arc<Local>| {
        let held = Held::read(&Link::new(workers), None, &schema(2)).unwrap();
        let statement = Statement::new(schema(2), 20, Adjacency::ReplaceOne, 1).unwrap();
        let records = Shards::new(held, &statement).unwrap();
        let sums = records.fold(&Pass::Absolute, &mut States::default(), &mut || Ok(()));
        sums.unwrap().0
    };
    let workers = new();
    Held::read(&Link::new(workers.clone()), None, &wide).unwrap();
    assert_eq!(sums(workers), sums(new()));
}

/// Workers that say how many records they hold, and hold none.
struct Says(Vec<u64>);

impl Workers for Says {
    fn n_shards(&self) -> usize {
        self.0.len()
    }

    fn ask(&self, script: Script) -> Result<Vec<Vec<u8>>> {
        let say = |(k, &count): (usize, &u64)| {
            let message: Message<Request> = decoded(&script.whole(k)?)?;
            Ok(reply(message.place, &[k as u32], Body::Counts(vec![count])))
        };
        self.0.iter().enumerate().map(say).collect()
    }
}

/// There is room for sums over fewer than 2^31 records: more are refused, as none are.
#[test]
fn as_many_records_are_read_as_sums_have_room_for() {
    let read = |counts: &[u64]| {
        let link = Link::new(std::sync::Arc::new(Says(counts.to_vec())));
        Held::read(&link, None, &schema(2)).map(|held| held.largest())
    };
    let most = MOST_RECORDS as u64;
    assert_eq!(read(&[most]), Ok(MOST_RECORDS));
    assert_eq!(read(&[most - 5, 5]), Ok(MOST_RECORDS - 5));
    assert_eq!(read(&[0, 3, 0]), Ok(3));
    for counts in [&[most, 1][..], &[most + 1], &[u64::MAX, 2], &[0, 0]] {
        assert!(
            matches!(read(counts), Err(Error::InvalidData(_))),
            "{counts:?}"
        );
    }
}

/// Other records than those that were read before, another number of them, and none.
#[test]
fn records_that_change_are_refused() {
    let statement = Statement::new(schema(2), 20, Adjacency::ReplaceOne, 1).unwrap();
    let of =
        |raw: Vec<Raw>| Curator::from_workers(std::sync::Arc::new(Local::new(raw, 0, false)), 20);
    assert!(of(vec![raw(20, 2), raw(0, 2)]).all(&statement, &[]).is_ok());
    let target_alone = vec![raw(20, 2), Raw(Array2::zeros((0, 2)), vec![1.0])];
    let features_alone = vec![raw(19, 2), Raw(Array2::zeros((1, 2)), vec![])];
    for wrong in [
        vec![raw(19, 2)],
        vec![raw(0, 2)],
        vec![raw(20, 3)],
        target_alone,
        features_alone,
    ] {
        assert!(of(wrong).all(&statement, &[]).is_err());
    }
    let mut shard = Shard::new(0);
    let read = |count| {
        encoded(&Message {
            after: 0,
            place: 1,
            forget: vec![],
            before: None,
            request: Request::Read {
                records: 1,
                schema: schema(2),
                positions: None,
                count,
            },
        })
        .unwrap()
    };
    let own = raw(20, 2);
    assert!(shard.answer(&read(Some(21)), Some(&own)).is_err());
    assert!(
        Shard::new(0)
            .answer(&read(Some(20)), Some(&own))
            .unwrap()
            .is_some()
    );
    // Bytes of another version, whatever they may be read as.
    let mut other = read(Some(20));
    other[0] += 1;
    let answer = Shard::new(0).answer(&other, Some(&own));
    assert!(matches!(answer, Err(Error::Workers(_))));
    // After an error it is nowhere.
    assert_eq!(shard.answer(&read(Some(20)), Some(&own)), Ok(None));
    // Positions of records that a shard does not hold, or not in their order.
    let part = |positions: &[u32]| {
        let request = Request::Read {
            records: 1,
            schema: schema(2),
            positions: Some(positions.to_vec()),
            count: None,
        };
        let message = Message {
            after: 0,
            place: 1,
            forget: vec![],
            before: None,
            request,
        };
        Shard::new(0).answer(&encoded(&message).unwrap(), Some(&own))
    };
    for positions in [&[20][..], &[3, 3], &[4, 2], &[0, 25]] {
        assert!(
            matches!(part(positions), Err(Error::Workers(_))),
            "{positions:?}"
        );
    }
    assert!(part(&[0, 19]).is_ok() && part(&[]).is_ok());
}

fn reply(place: u64, shards: &[u32], body: Body) -> Vec<u8> {
    let shards = shards.to_vec();
    encoded(&Reply {
        place,
        shards,
        body,
    })
    .unwrap()
}

/// Replies that are missing, or there twice, or about something else, or longer or larger than they may be.
#[test]
fn wrong_replies_are_refused() {
    let of = |values: &[i64]| Body::Sums(words(values));
    let sums = |replies: &[Vec<u8>]| Answer::of(replies, 5, 2)?.sums(2, 100);
    let good = [reply(5, &[1], of(&[1, 2])), reply(5, &[0], of(&[10, -20]))];
    assert_eq!(sums(&good), Ok(vec![11, -18]));
    assert_eq!(sums(&[merged(&good).unwrap()]), Ok(vec![11, -18]));
    assert_eq!(
        sums(&[good[0].clone(), reply(5, &[0], of(&[]))]),
        Ok(vec![1, 2])
    );
    let share = |shards: &[u32]| reply(5, shards, Body::Share(words(&[1, 2])));
    let wrong: [&[Vec<u8>]; 12] = [
        &[],
        &good[..1],
        &[good[0].clone(), good[0].clone()],
        &[good[0].clone(), good[1].clone(), good[1].clone()],
        &[good[0].clone(), reply(5, &[0, 0], of(&[1, 2]))],
        &[good[0].clone(), reply(4, &[0], of(&[1, 2]))],
        &[good[0].clone(), reply(5, &[2], of(&[1, 2]))],
        &[good[0].clone(), reply(5, &[0], of(&[1, 2, 3]))],
        &[good[0].clone(), reply(5, &[0], of(&[1, 100]))],
        &[good[0].clone(), reply(5, &[0], Body::Counts(vec![3]))],
        &[good[0].clone(), b"text".to_vec()],
        &[share(&[0]), share(&[1])],
    ];
    for replies in wrong {
        assert!(
            matches!(sums(replies), Err(Error::Workers(_))),
            "{replies:?}"
        );
    }
    assert_eq!(sums(&[share(&[0, 1]), share(&[1, 0])]), Ok(vec![2, 4]));
    // No words are sums over no records, whichever shard holds none.
    let (none, one) = (reply(5, &[0], of(&[])), reply(5, &[1], of(&[7, -7])));
    for replies in [[none.clone(), one.clone()], [one, none]] {
        assert_eq!(sums(&[merged(&replies).unwrap()]), Ok(vec![7, -7]));
    }
}

/// Halves add up to the sums whatever these are, and each half alone is uniform: a test of the bytes at a false
/// positive of 1e-6.
#[test]
fn one_aggregator_sees_uniform_words() {
    let values = [0, 1, -1, 1 << 50, -(1 << 50), i64::MAX, i64::MIN, 12_345];
    let whole = reply(1, &[0], Body::Sums(words(&values)));
    let mut counts = [[0f64; 256]; 2];
    let rounds = 8192;
    for _ in 0..rounds {
        let (one, other) = split(&whole).unwrap();
        let answer = Answer::of(&[one.clone(), other.clone()], 1, 1).unwrap();
        assert_eq!(answer.sums(8, 1 << 64), Ok(values.to_vec()));
        for (half, counts) in [one, other].iter().zip(&mut counts) {
            let Body::Share(bytes) = decoded::<Reply>(half).unwrap().body else {
                panic!("no share");
            };
            bytes.iter().for_each(|&byte| counts[byte as usize] += 1.0);
        }
    }
    let expected = (rounds * 8 * 8) as f64 / 256.0;
    for counts in counts {
        let statistic: f64 = counts
            .iter()
            .map(|c| (c - expected).powi(2) / expected)
            .sum();
        // The quantile of a chi-squared variable with 255 degrees of freedom that 5e-7 of them exceed.
        assert!(statistic < 383.0, "{statistic}");
    }
}

/// Totals of two aggregators that are the same: of what is no sum, and of sums over no records, which are zeros. One of
/// them alone is no answer to a sum, and two whole replies of one shard are none at all.
#[test]
fn totals_without_halves_are_answers_too() {
    let totals = |body: Body| {
        let (one, other) = split(&reply(5, &[1, 0], body)).unwrap();
        assert_eq!(one, other);
        [one, other]
    };
    for body in [Body::Done, Body::Counts(vec![4, 3])] {
        let answer = Answer::of(&totals(body.clone()), 5, 2).unwrap();
        match body {
            Body::Counts(_) => assert_eq!(answer.body, Body::Counts(vec![3, 4])),
            body => assert_eq!(answer.body, body),
        }
    }
    let empty = totals(Body::Sums(Vec::new()));
    assert_eq!(Answer::of(&empty, 5, 2).unwrap().sums(3, 0), Ok(vec![0; 3]));
    let whole = reply(5, &[0], Body::Sums(words(&[1])));
    for (replies, n_shards) in [(&empty[..1], 2), (&[whole.clone(), whole], 1)] {
        let answer = Answer::of(replies, 5, n_shards);
        assert!(matches!(answer, Err(Error::Workers(_))));
    }
}

fn losses() -> Vec<(Admitted, Option<f64>)> {
    let table = Tabulated::new(|z, y| Ok(z.tanh() - y), TargetGrid::Classes, 8.0, 2.0).unwrap();
    vec![
        (Logistic.into(), None),
        (ClippedLogistic::new(0.4).unwrap().into(), None),
        (SmoothedHinge::new(0.3).unwrap().into(), None),
        (Huber::new(0.7).unwrap().into(), None),
        (Pinball::new(0.8, 0.05).unwrap().into(), None),
        (Poisson::new(11.0, 1.5).unwrap().into(), None),
        (Squared.into(), Some(0.6)),
        (table.into(), None),
    ]
}

/// Models come out of the wire with the same slopes, bit for bit.
#[test]
fn models_travel() {
    let z: Vec<f64> = (-40..40).map(|k| f64::from(k) / 7.0).collect();
    let y: Vec<f64> = (0..80).map(|k| [1.0, -1.0][k % 2]).collect();
    for (loss, clamp) in losses() {
        let model = RoomModel::new(&loss, clamp).unwrap();
        let data = decoded::<crate::question::ModelData>(&encoded(&model.as_data()).unwrap());
        let other = data.unwrap().model().unwrap();
        let slopes = |model: &RoomModel| {
            let mut slopes = vec![0.0; 80];
            model.model().slopes(&z, &y, &mut slopes);
            slopes
                .iter()
                .map(|slope| slope.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(slopes(&model), slopes(&other));
        assert_eq!(
            (model.bound(), model.lattice()),
            (other.bound(), other.lattice())
        );
    }
    let target = Target::Multiclass { classes: 5 };
    let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
    let other = model.as_data().model().unwrap();
    assert_eq!((other.outputs(), other.bound()), (5, model.bound()));
}

proptest! {
    /// Requests come out of the wire as they went in, schemas with all their maps.
    #[test]
    fn requests_travel(
        bounds in prop::collection::vec((-5.0..5.0f64, 0.0..3.0f64), 1..6),
        norms in (prop::option::of(0.1..9.0f64), prop::option::of(0.1..9.0f64)),
        directions in prop::collection::vec(prop::collection::vec((any::<u32>(), any::<i64>()), 0..9), 0..4),
        numbers in any::<[u64; 4]>(),
        unit in any::<f64>(),
        fresh: bool,
        positions in prop::option::of(prop::collection::vec(any::<u32>(), 0..9)),
    ) {
        let p = bounds.len();
        let sides = Bounds {
            lower: bounds.iter().map(|&(low, _)| low).collect(),
            upper: bounds.iter().map(|&(low, width)| low + width).collect(),
        };
        let target = Target::Interval { low: -1.0, high: 2.0 };
        let mut schema = Schema::new(p, sides, Geometry::Uncentred, target, true, norms.0).unwrap();
        schema = schema.with_intercept_value(0.25).unwrap().with_max_weight(3.0).unwrap();
        if let Some(norm) = norms.1 {
            schema = schema.with_gradient_norm(norm).unwrap();
        }
        let few: Vec<u32> = (0..p as u32).step_by(2).collect();
        for schema in [schema.restricted(&few), schema.clone()] {
            let other: Schema = decoded(&encoded(&schema).unwrap()).unwrap();
            prop_assert_eq!(other, schema);
        }
        let moves: Vec<MoveData> = (0..).zip(directions)
            .map(|(output, direction)| MoveData { output, direction, weight: -7 })
            .collect();
        let model = RoomModel::new(&Logistic.into(), None).unwrap().as_data();
        let map = FeatureMap::new(vec![1.5; p], vec![-0.5; p], f64::INFINITY).with_target(0.5, 2.0);
        let models = vec![LinearModel { coefficients: vec![unit; p], intercepts: vec![1.0], feature_ranges: None }];
        let counts = Schema::new(p, schema.bounds().clone(), Geometry::Uncentred, Target::counts(0.0, 9.0, true), true, None);
        let counts = Statement::new(counts.unwrap(), 9, Adjacency::ReplaceOne, 1).unwrap();
        let mean = counts.mean_count(0.5, 3.0, 0.1).unwrap();
        let [records, states, place, after] = numbers;
        let folds = [
            PassData::Gradient { model, moves: moves.clone(), fresh, unit },
            PassData::Moments,
            PassData::Images { map: map.clone(), row_norm: unit },
            PassData::Norms { map: map.clone(), candidates: vec![unit, 2.0] },
            PassData::Classes,
            PassData::Mean(mean.answer.candidates),
            PassData::HeldOut { models },
        ];
        let folds = folds.map(|pass| Request::Fold { records, states: fresh.then_some(states), pass });
        let others = [
            Request::Read { records, schema: schema.clone(), positions, count: Some(after) },
            Request::Derive { records, of: states, by: Derived::Mapped { map, schema } },
            Request::Restore { records, states, outputs: 3, moves },
            Request::Room { bytes: place },
        ];
        for request in folds.into_iter().chain(others) {
            let message = Message { after, place, forget: vec![records], before: Some(vec![request]), request: Request::Room { bytes: 1 } };
            let bytes = encoded(&message).unwrap();
            let other: Message<Request> = decoded(&bytes).unwrap();
            // Not-a-number equals itself here.
            prop_assert_eq!(format!("{other:?}"), format!("{message:?}"));
            prop_assert_eq!(encoded(&other).unwrap(), bytes.clone());
            prop_assert!(decoded::<Message<Request>>(&bytes[..bytes.len() - 1]).is_err());
        }
        prop_assert_eq!(sums(&words(&[i64::MIN, 5])).unwrap(), [i64::MIN, 5]);
    }
}

#[test]
fn positions_of_shards_are_counted_within_each() {
    let counts = [3, 0, 2];
    let within = |positions: &[u32]| super::within(positions, &counts).ok();
    assert_eq!(
        within(&[0, 2, 3, 4]),
        Some(vec![vec![0, 2], vec![], vec![0, 1]])
    );
    assert_eq!(within(&[]), Some(vec![vec![]; 3]));
    for bad in [&[1, 1][..], &[2, 1], &[5], &[0, 5], &[1, 0, 5]] {
        assert_eq!(within(bad), None, "{bad:?}");
    }
}
