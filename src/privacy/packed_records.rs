//! The one pass over an array whose columns have few public values: which columns share a byte, and the bytes.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayView1, ArrayView2, Axis, Slice};
use rayon::prelude::*;

use super::dense_records::{not_finite, read_dense};
use super::packed::{Coded, Entries, Group, Packed, ROWS};
use super::planes::in_pieces;
use super::row_norm::RowNorm;
use crate::error::{Error, Result};
use crate::schema::Schema;

/// Columns that share a byte, at least: fewer are read faster as they stand.
const LEAST: usize = 3;

/// Groups that share a byte, at most: tables and sums by code take kilobytes each, which would be more than the columns
/// of few records.
const MOST: usize = 512;

/// Records per piece of work: rows of a piece stay in the nearest cache while columns pass by.
const PIECE: usize = 256;

/// Columns whose entries are one digit of a code.
struct Field {
    columns: Range<usize>,
    /// Of a column of whole numbers, the least one that differs from those below it; None: a one-hot block, whose digit
    /// is 0 where all entries are 0, and else one more than the place of the entry that is 1.
    least: Option<f64>,
    /// Number of values of the digit.
    values: usize,
    /// What the digit is multiplied by.
    stride: usize,
}

/// Consecutive columns that are stored together: without fields as they stand.
struct Planned {
    columns: Range<usize>,
    fields: Vec<Field>,
}

impl Planned {
    /// A group of no columns yet, from this one on.
    fn from(start: usize) -> Self {
        Self {
            columns: start..start,
            fields: Vec::new(),
        }
    }

    fn rows(&self) -> usize {
        (self.fields.last()).map_or(1, |last| last.stride * last.values)
    }
}

/// Which columns are stored together, by public facts: their bounds, whether entries come in bytes, and which blocks
/// are one-hot. None where nothing is gained, of too many columns, or where rows may have to be shortened, which gives
/// columns other values.
pub(super) fn layout<T>(schema: &Schema, one_hot: &[Range<usize>]) -> Option<Layout> {
    let whole = size_of::<T>() == 1;
    let mut groups: Vec<Planned> = Vec::new();
    let mut open = Planned::from(0);
    let mut blocks = one_hot.iter().peekable();
    while open.columns.end < schema.n_features() {
        let j = open.columns.end;
        let block = blocks.next_if(|block| block.start == j && block.len() < ROWS);
        let (columns, least, values) = match block {
            Some(block) => (block.clone(), None, block.len() + 1),
            None if whole => {
                // Bytes, with a sign or without; those beyond the bounds have the values of the ends.
                let (lower, upper) = schema.bounds().of(j);
                let (least, most) = (
                    lower.floor().clamp(-128.0, 255.0),
                    upper.ceil().clamp(-128.0, 255.0),
                );
                (j..j + 1, Some(least), (most - least) as usize + 1)
            }
            None => (j..j + 1, None, usize::MAX),
        };
        if values > ROWS || open.rows() * values > ROWS {
            close(&mut groups, &mut open);
        }
        open.columns.end = columns.end;
        if values > ROWS {
            close(&mut groups, &mut open);
        } else {
            let stride = open.rows();
            open.fields.push(Field {
                columns,
                least,
                values,
                stride,
            });
        }
    }
    close(&mut groups, &mut open);
    let coded = groups.iter().filter(|group| !group.fields.is_empty());
    let gains = (1..=MOST).contains(&coded.count());
    let layout = Layout { groups };
    let stays = RowNorm::of(schema).is_none_or(|norm| norm.covers(layout.largest_square(schema)));
    (gains && stays).then_some(layout)
}

/// Ends the open group, and begins the next. One of few columns is stored as it stands, with its neighbours.
fn close(groups: &mut Vec<Planned>, open: &mut Planned) {
    let next = Planned::from(open.columns.end);
    let mut group = std::mem::replace(open, next);
    if group.columns.is_empty() {
        return;
    }
    if group.columns.len() < LEAST {
        group.fields.clear();
    }
    match groups.last_mut() {
        Some(last) if last.fields.is_empty() && group.fields.is_empty() => {
            last.columns.end = group.columns.end
        }
        _ => groups.push(group),
    }
}

/// How the columns of an array are stored.
pub(super) struct Layout {
    groups: Vec<Planned>,
}

impl Layout {
    /// Reads an array of any strides.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for entries that are not finite, and for a one-hot block that is none.
    pub(super) fn read<T>(&self, x: ArrayView2<T>, schema: &Schema) -> Result<Packed>
    where
        T: Copy + Into<f64> + Sync,
    {
        let groups = self.groups.iter().map(|group| {
            let columns = group.columns.clone();
            let part = x.slice_axis(Axis(1), Slice::from(columns.clone()));
            let entries = if group.fields.is_empty() {
                let features: Vec<u32> = columns.clone().map(|j| j as u32).collect();
                Entries::Wide(read_dense(part, &schema.with_features(&features))?)
            } else {
                Entries::Coded(Coded {
                    codes: Arc::new(codes(group, part)?),
                    table: table(group, schema),
                    rows: group.rows(),
                })
            };
            Ok(Group { columns, entries })
        });
        Ok(Packed::new(x.nrows(), groups.collect::<Result<_>>()?))
    }

    /// The largest sum of squares that a row can have.
    fn largest_square(&self, schema: &Schema) -> i64 {
        let square = |x: i16| i64::from(x).pow(2);
        let of_group = |group: &Planned| -> i64 {
            if group.fields.is_empty() {
                let ends = |j: usize| {
                    let (lower, upper) = schema.bounds().of(j);
                    [lower, upper].map(|end| square(schema.lattice_value(end, j)))
                };
                return group
                    .columns
                    .clone()
                    .map(|j| ends(j)[0].max(ends(j)[1]))
                    .sum();
            }
            let (table, rows) = (table(group, schema), group.rows());
            let of_row = |row: usize| {
                table
                    .iter()
                    .skip(row)
                    .step_by(rows)
                    .map(|&x| square(x))
                    .sum()
            };
            (0..rows).map(of_row).max().unwrap_or(0)
        };
        self.groups.iter().map(of_group).sum()
    }
}

/// The table of a group, column after column.
fn table(group: &Planned, schema: &Schema) -> Vec<i16> {
    let rows = group.rows();
    let mut table = Vec::with_capacity(rows * group.columns.len());
    for field in &group.fields {
        for (place, j) in field.columns.clone().enumerate() {
            table.extend((0..rows).map(|row| {
                let digit = row / field.stride % field.values;
                let x = match field.least {
                    Some(least) => least + digit as f64,
                    None => f64::from(u8::from(digit == place + 1)),
                };
                schema.lattice_value(x, j)
            }));
        }
    }
    table
}

/// The codes of the records, whose columns of the group these are.
fn codes<T>(group: &Planned, x: ArrayView2<T>) -> Result<Vec<u8>>
where
    T: Copy + Into<f64> + Sync,
{
    let n = x.nrows();
    let mut codes = vec![0; n];
    let first = group.columns.start;
    let pieces = in_pieces([&mut codes[..]].into_iter(), n, PIECE);
    let read = |(piece, mut codes): (usize, Vec<&mut [u8]>)| {
        let (start, codes) = (piece * PIECE, &mut *codes[0]);
        let mut digits = [0u8; PIECE];
        for field in &group.fields {
            let records = Slice::from(start..start + codes.len());
            let column = |j: usize| -> ArrayView1<'_, T> {
                x.index_axis(Axis(1), j - first)
                    .slice_axis_move(Axis(0), records)
            };
            let stride = field.stride as u8;
            match field.least {
                Some(least) => {
                    let most = least + (field.values - 1) as f64;
                    for (code, &x) in codes.iter_mut().zip(column(field.columns.start)) {
                        *code += stride * (x.into().clamp(least, most) - least) as u8;
                    }
                }
                None => {
                    let digits = &mut digits[..codes.len()];
                    digits.fill(0);
                    for (place, j) in field.columns.clone().enumerate() {
                        for (digit, &x) in digits.iter_mut().zip(column(j)) {
                            let x: f64 = x.into();
                            if !x.is_finite() {
                                return Err(not_finite());
                            }
                            if x == 1.0 && *digit == 0 {
                                *digit = place as u8 + 1;
                            } else if x != 0.0 {
                                return Err(Error::InvalidData(
                                    "X must have at most one 1 in every one-hot block, and 0 elsewhere in it".into(),
                                ));
                            }
                        }
                    }
                    let digits = codes.iter_mut().zip(digits);
                    digits.for_each(|(code, digit)| *code += stride * *digit);
                }
            }
        }
        Ok(())
    };
    (pieces.into_par_iter().enumerate()).try_for_each(read)?;
    Ok(codes)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of blocks that hold one
mod tests {
    use super::*;
    use crate::loss::{Logistic, Squared};
    use crate::privacy::block::Block;
    use crate::privacy::bounded_data::{BoundedData, Features};
    use crate::privacy::counts::Thresholds;
    use crate::privacy::curvature::Curvature;
    use crate::privacy::derived::Derived;
    use crate::privacy::records::{LaggingPass, Move, Pass, States, Sum};
    use crate::question::{FeatureMap, LinearModel, Projection, RoomModel};
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn schema(lower: &[f64], upper: &[f64], geometry: Geometry, norm: Option<f64>) -> Schema {
        let bounds = Bounds {
            lower: lower.to_vec(),
            upper: upper.to_vec(),
        };
        Schema::new(lower.len(), bounds, geometry, Target::Classes, true, norm).unwrap()
    }

    fn targets(n: usize) -> Vec<f64> {
        (0..n).map(|i| [1.0, -1.0, -1.0][i % 3]).collect()
    }

    /// All features of all records, column after column.
    fn all_columns(data: &BoundedData) -> Vec<i16> {
        let (n, columns) = (data.n_records(), data.dense_columns());
        let mut all = vec![0; n * columns.n_columns()];
        let pieces = all.chunks_mut(n.max(1)).enumerate();
        pieces.for_each(|(j, out)| columns.fill(j, 0, out));
        all
    }

    /// Packed, and the same records as dense columns.
    fn both<T>(x: &Array2<T>, one_hot: &[Range<usize>], schema: &Schema) -> [BoundedData; 2]
    where
        T: Copy + Into<f64> + Sync,
    {
        let y = targets(x.nrows());
        let wide = x.mapv(|x| -> f64 { x.into() });
        let packed = BoundedData::from_array(x.view(), one_hot, &y, schema.clone()).unwrap();
        assert!(matches!(packed.features, Features::Packed(_)));
        let dense = BoundedData::from_dense(wide.view(), &y, schema.clone()).unwrap();
        assert!(matches!(dense.features, Features::Dense(_)));
        [packed, dense]
    }

    /// The widths of the groups that share a byte, and of the wide ones as negative numbers.
    fn widths<T>(schema: &Schema, one_hot: &[Range<usize>]) -> Option<Vec<i64>> {
        let width = |group: &Planned| match group.fields.is_empty() {
            true => -(group.columns.len() as i64),
            false => group.columns.len() as i64,
        };
        layout::<T>(schema, one_hot).map(|layout| layout.groups.iter().map(width).collect())
    }

    /// Sums of every kind of pass, with states that stay from pass to pass, and what is made of each record.
    fn everything(data: &BoundedData) -> (Vec<Vec<i64>>, Vec<f64>) {
        let (n, p) = (data.n_records(), data.schema.n_features());
        let logistic = RoomModel::new(&Logistic.into(), None).unwrap();
        let squared = RoomModel::new(&Squared.into(), Some(0.7)).unwrap();
        let direction: Vec<(u32, i64)> =
            (0..=p as u32).map(|j| (j, i64::from(j) * 7 - 11)).collect();
        let moves = [&direction[..], &direction[p / 2..p / 2 + 1]].map(|direction| Move {
            output: 0,
            direction,
            weight: 1 << 20,
        });
        let theta: Vec<f64> = (0..=p).map(|j| (j as f64 - 2.0) / 3.0).collect();
        let map = FeatureMap::new(vec![0.8; p], vec![-0.1; p], 0.9).divided_by(1.5);
        let ranges = Bounds {
            lower: (0..p).map(|j| data.schema.bounds().of(j).0).collect(),
            upper: (0..p)
                .map(|j| f64::midpoint(data.schema.bounds().of(j).0, data.schema.bounds().of(j).1))
                .collect(),
        };
        let model = |feature_ranges| LinearModel {
            coefficients: theta[..p].to_vec(),
            intercepts: vec![0.1],
            feature_ranges,
        };
        let models = [model(None), model(Some(ranges))];
        let (chosen, some): (Vec<u32>, Vec<u32>) = (
            (0..p as u32).step_by(2).collect(),
            (0..p as u32).rev().collect(),
        );
        let unit = 2f64.powi(-36);
        let gradient = |model, moves, fresh| Pass::Gradient {
            model,
            moves,
            fresh,
            unit,
        };
        let at = Thresholds {
            limit: 16_383,
            stride: 1_001,
        };
        let passes = [
            gradient(&logistic, &moves[..1], true),
            gradient(&squared, &moves[..], false),
            gradient(&logistic, &moves[1..], false),
            Pass::Fine {
                model: &logistic,
                theta: &theta,
            },
            Pass::Moments,
            Pass::Absolute,
            Pass::Images {
                map: &map,
                row_norm: 0.5,
            },
            Pass::Gains { chosen: &[] },
            Pass::Gains { chosen: &chosen },
            Pass::Ranges {
                features: Some(&some),
                at,
            },
            Pass::Ranges { features: None, at },
            Pass::Norms {
                map: &map,
                candidates: &[0.3, 0.6, 1.8],
            },
            Pass::HeldOut { models: &models },
        ];
        let (mut states, mut margins) = (States::default(), Vec::<Vec<i64>>::new());
        let mut sums: Vec<Vec<i64>> = (passes.iter())
            .map(|pass| {
                let Sum(sums) = Block(data).fold(pass, &mut states, &mut || Ok(())).unwrap();
                if let Pass::Gradient { .. } = pass {
                    margins.clone_from(&states.margins);
                }
                sums
            })
            .collect();
        sums.extend(margins);
        let lagging = LaggingPass {
            model: &logistic,
            moves: &moves,
            unit,
            tolerance: 0.1,
            rare: None,
        };
        let changed = Block(data)
            .lagging_gradient(&lagging, &mut States::default())
            .0;
        sums.push(changed.iter().map(|&(j, sum)| sum + i64::from(j)).collect());
        let columns = data.n_columns();
        let mut floats = map.norms(data);
        let mut row = vec![0.0; columns];
        for i in 0..n {
            data.fill_row(i, &mut row);
            floats.extend(&row);
        }
        let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64 / 4.0).collect();
        let mut gram = vec![0.0; columns * columns];
        data.weighted_gram(&weights, &mut gram);
        floats.extend(gram);
        let slope: Vec<f64> = (0..columns).map(|j| j as f64 - 1.5).collect();
        floats.extend(
            Curvature::new(data, weights, 0.1)
                .direction(&slope, 1e-3, &mut || Ok(()))
                .unwrap(),
        );
        (sums, floats)
    }

    fn agree(packed: &BoundedData, dense: &BoundedData) {
        assert_eq!(all_columns(packed), all_columns(dense));
        let n = dense.n_records();
        let some = n / 3..n - n / 3;
        for j in 0..dense.schema.n_features() {
            let [mut one, mut other] = [vec![], vec![]];
            let found = packed.column(j, some.clone(), &mut one);
            assert_eq!(found, dense.column(j, some.clone(), &mut other));
        }
        let ((sums, floats), (expected, truth)) = (everything(packed), everything(dense));
        for (k, (found, expected)) in sums.iter().zip(&expected).enumerate() {
            assert!(found == expected, "sums of pass {k}");
        }
        assert_eq!((sums.len(), floats.len()), (expected.len(), truth.len()));
        for (k, (found, truth)) in floats.iter().zip(&truth).enumerate() {
            assert!(found == truth, "float {k}: {found} {truth}");
        }
    }

    proptest! {
        /// Packed records are the records: in every pass, and in all that is made of them.
        #[test]
        fn packed_records_are_the_records(
            n in 1usize..40,
            entries in prop::collection::vec(-3..6i8, 40 * 9),
            hot in prop::collection::vec(0usize..4, 40),
            centred: bool,
            ends in prop::collection::vec((-2..2i8, 0..3i8, 0.0..0.9f64), 9),
            norm in prop::option::of(0.5..2.0f64),
        ) {
            // Columns 3, 4, 5 are a one-hot block; the last one has bounds so wide that it stands alone.
            let entry = |i: usize, j: usize| match j {
                3..6 => i8::from(hot[i] == j - 3),
                _ => entries[9 * i + j],
            };
            let x = Array2::from_shape_fn((n, 9), |(i, j)| entry(i, j));
            let (mut lower, mut upper): (Vec<f64>, Vec<f64>) = (ends.iter())
                .map(|&(low, width, part)| (f64::from(low) - part, f64::from(low + width) + part))
                .unzip();
            (lower[8], upper[8]) = (-100.0, 150.0);
            let geometry = if centred { Geometry::Centred } else { Geometry::Uncentred };
            let plain = schema(&lower, &upper, geometry, None);
            let by_columns = Array2::from_shape_vec((9, n), x.t().iter().copied().collect()).unwrap();
            for block in [&[][..], &[3..6]] {
                let [packed, dense] = both(&x, block, &plain);
                agree(&packed, &dense);
                let [packed, _] = both(&by_columns.t().to_owned(), block, &plain);
                prop_assert_eq!(all_columns(&packed), all_columns(&dense));
                let picked: Vec<u32> = (0..n as u32).rev().step_by(2).collect();
                agree(&packed.rows(&picked), &dense.rows(&picked));
                let ascending: Vec<u32> = picked.into_iter().rev().collect();
                let [packed, other] = both(&x, block, &plain);
                agree(&packed.into_rows(&ascending), &other.into_rows(&ascending));
            }
            let [packed, dense] = both(&x, &[3..6], &plain);
            let to = schema(&[-1.0; 9], &[1.0; 9], Geometry::Uncentred, norm);
            let map = FeatureMap::new(vec![1.3; 9], vec![0.2; 9], 0.9).divided_by(1.1);
            let projection = Projection::new((0..10).map(f64::from).collect(), 50.0).unwrap();
            for derived in [
                Derived::Mapped { map, schema: to },
                Derived::Restricted(vec![0, 1, 4, 5, 8]),
                Derived::Restricted(vec![5, 0, 7, 8]),
                Derived::Varying,
            ] {
                let made = derived.of(&packed);
                let stays = match &derived {
                    Derived::Mapped { schema, .. } => schema.row_norm().is_none(),
                    Derived::Restricted(features) => features.is_sorted(),
                    _ => true,
                };
                prop_assert_eq!(matches!(made.features, Features::Packed(_)), stays);
                agree(&made, &derived.of(&dense));
            }
            let to = schema(&[-1.0], &[1.0], Geometry::Uncentred, None);
            let projected = Derived::Projected { projection, schema: to };
            agree(&projected.of(&packed), &projected.of(&dense));
            let short = plain.with_gradient_norm(0.8).unwrap();
            let [packed, dense] = both(&x, &[3..6], &short);
            agree(&packed, &dense);
        }
    }

    /// Several planes of slopes: two, three, and more than are added at once.
    #[test]
    fn sums_of_several_classes_are_those_of_dense_columns() {
        let n = 700;
        let x = Array2::from_shape_fn((n, 11), |(i, j)| u8::from((i * 7 + j * 5) % 11 < 4));
        for classes in [2u32, 3, 5] {
            let bounds = Bounds {
                lower: vec![0.0],
                upper: vec![1.0],
            };
            let target = Target::Multiclass { classes };
            let schema = Schema::new(11, bounds, Geometry::Centred, target, true, None).unwrap();
            let y: Vec<f64> = (0..n).map(|i| (i % classes as usize) as f64).collect();
            let packed = BoundedData::from_dense(x.view(), &y, schema.clone()).unwrap();
            let wide = x.mapv(f64::from);
            let dense = BoundedData::from_dense(wide.view(), &y, schema).unwrap();
            assert!(matches!(packed.features, Features::Packed(_)));
            let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
            let directions: Vec<Vec<(u32, i64)>> = (0..classes)
                .map(|k| (0..12).map(|j| (j, i64::from(j * k) - 9)).collect())
                .collect();
            let moves: Vec<Move<'_>> = (directions.iter().enumerate())
                .map(|(output, direction)| Move {
                    output,
                    direction,
                    weight: 1 << 20,
                })
                .collect();
            let theta: Vec<f64> = (0..12 * classes).map(|j| f64::from(j % 7) - 3.0).collect();
            let unit = 2f64.powi(-36);
            let (model, moves) = (&model, &moves[..]);
            for pass in [
                Pass::Gradient {
                    model,
                    moves,
                    fresh: true,
                    unit,
                },
                Pass::Fine {
                    model,
                    theta: &theta,
                },
            ] {
                let sums = |data: &BoundedData| {
                    let mut states = States::default();
                    Block(data)
                        .fold(&pass, &mut states, &mut || Ok(()))
                        .unwrap()
                        .0
                };
                let found = sums(&packed);
                assert!(found == sums(&dense), "{classes} classes");
                assert!(found.iter().any(|&sum| sum != 0));
            }
        }
    }

    /// Bytes at the ends of their range, beyond bounds, and more records than a piece of work, on any number of
    /// threads.
    #[test]
    fn bytes_beyond_bounds_have_the_values_of_the_ends() {
        let n = 2 * super::super::groups::CHUNK + 77;
        let x = Array2::from_shape_fn((n, 6), |(i, j)| (i * 37 + i / 4096 + j * 11) as u8);
        let schema = schema(
            &[250.5, 0.0, 300.0, -9.0, 7.0, 255.0],
            &[260.0, 1.0, 400.0, 0.5, 7.0, 255.5],
            Geometry::Centred,
            None,
        );
        let [packed, dense] = both(&x, &[], &schema);
        assert_eq!(all_columns(&packed), all_columns(&dense));
        let slopes: Vec<i16> = (0..n).map(|i| [16_384, -16_384, 3][i % 3]).collect();
        let sums = |data: &BoundedData, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let mut sums = vec![0; data.n_columns()];
            pool.unwrap().install(|| data.gradient(&slopes, &mut sums));
            sums
        };
        for threads in [1, 3] {
            assert_eq!(sums(&packed, threads), sums(&dense, threads));
        }
        agree(&packed, &dense);
        let x = Array2::from_shape_fn((300, 4), |(i, _)| [-128i8, 127, 0][i % 3]);
        let schema = self::schema(
            &[-1e9, -127.5, -1.0, -200.0],
            &[-127.0, -126.5, 1.0, -128.0],
            Geometry::Uncentred,
            None,
        );
        let [packed, dense] = both(&x, &[], &schema);
        agree(&packed, &dense);
    }

    /// A byte holds as many columns as it can; fewer than three stay wide; nothing but public facts decides.
    #[test]
    fn columns_share_bytes_by_their_public_values() {
        let indicators = |p: usize| schema(&vec![0.0; p], &vec![1.0; p], Geometry::Uncentred, None);
        assert_eq!(widths::<u8>(&indicators(20), &[]), Some(vec![8, 8, 4]));
        assert_eq!(widths::<i8>(&indicators(18), &[]), Some(vec![8, 8, -2]));
        assert_eq!(widths::<u8>(&indicators(2), &[]), None);
        // Tables of very many columns would be larger than the columns.
        assert_eq!(widths::<u8>(&indicators(4096), &[]), Some(vec![8; 512]));
        assert_eq!(widths::<u8>(&indicators(4099), &[]), None);
        // One-hot blocks: 9 * 5 * 5 values, then 5, then 201; other floats stay wide.
        assert_eq!(widths::<f64>(&indicators(20), &[]), None);
        let blocks = [0..8, 8..12, 12..16, 16..20, 22..222];
        let expected = vec![16, 4, -2, 200, -1];
        assert_eq!(widths::<f64>(&indicators(223), &blocks), Some(expected));
        assert_eq!(widths::<f64>(&indicators(256), &[0..256]), None);
        assert_eq!(
            widths::<u8>(&indicators(256), &[1..256]),
            Some(vec![-1, 255])
        );
        // A constant column has room beside 256 values.
        let mut upper = vec![1.0; 256];
        upper[0] = 0.0;
        let constant = schema(&[0.0; 256], &upper, Geometry::Uncentred, None);
        assert_eq!(widths::<u8>(&constant, &[1..256]), Some(vec![256]));
        assert_eq!(
            widths::<u8>(&indicators(256), &[1..255]),
            Some(vec![-1, 254, -1])
        );
        let levels = schema(
            &[1.0; 7],
            &[5.0, 5.0, 5.0, 200.0, 3.0, 9.0, 9.0],
            Geometry::Centred,
            None,
        );
        assert_eq!(widths::<u8>(&levels, &[]), Some(vec![3, -1, 3]));
        assert_eq!(widths::<i16>(&levels, &[]), None);
        // Rows that may be shortened have other values; these cannot be.
        let short = |norm| schema(&[0.0; 8], &[1.0; 8], Geometry::Uncentred, Some(norm));
        assert_eq!(widths::<u8>(&short(8f64.sqrt() + 1e-4), &[]), Some(vec![8]));
        assert_eq!(widths::<u8>(&short(2.8), &[]), None);
        assert_eq!(widths::<u8>(&short(1.0), &[0..8]), Some(vec![8]));
        let one_wide = schema(&[0.0; 5], &[1.0; 5], Geometry::Uncentred, Some(1.4));
        assert_eq!(widths::<f64>(&one_wide, &[0..4]), None);
        assert_eq!(
            widths::<f64>(
                &schema(&[0.0; 5], &[1.0; 5], Geometry::Uncentred, Some(1.5)),
                &[0..4]
            ),
            Some(vec![4, -1])
        );
    }

    #[test]
    fn blocks_that_are_not_one_hot_are_refused() {
        let schema = schema(&[0.0; 4], &[1.0; 4], Geometry::Uncentred, None);
        let read = |rows: [[f64; 4]; 2]| {
            let x = Array2::from(rows.to_vec());
            BoundedData::from_array(x.view(), &[0..3], &[1.0, -1.0], schema.clone())
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(read([[0.0, 1.0, 0.0, 0.3], [0.0, 0.0, 0.0, 0.9]]), None);
        for wrong in [
            [1.0, 1.0, 0.0, 0.0],
            [0.0, 0.5, 0.0, 0.0],
            [0.0, 0.0, -1.0, 0.0],
        ] {
            assert!(
                read([[0.0; 4], wrong])
                    .unwrap()
                    .contains("at most one 1 in every one-hot block")
            );
        }
        for wrong in [[f64::NAN, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, f64::INFINITY]] {
            assert!(read([[0.0; 4], wrong]).unwrap().contains("NaN or infinity"));
        }
    }
}
