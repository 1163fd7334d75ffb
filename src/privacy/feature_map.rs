//! Records through a public affine map of every feature, onto another schema.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::columns::Columns;
use super::lines::Lines;
use super::row_norm::RowNorm;
use crate::numeric::grid::Grid;
use crate::numeric::kernel::{MAX_FEATURE, for_wide_vectors};
use crate::numeric::pieces::for_each_piece;
use crate::numeric::strips::LINE;
use crate::question::FeatureMap;
use crate::question::feature_map::EntryMap;
use crate::schema::Schema;

/// Records per piece of work.
const CHUNK: usize = 4096;

impl FeatureMap {
    /// |image of x_i|_2 of every record. Squares are rounded to a grid so coarse that their sums are exact: a record's
    /// norm depends on no order and no storage.
    pub(in crate::privacy) fn norms(&self, data: &BoundedData) -> Vec<f64> {
        let n = data.n_records();
        let unit = f64::from(MAX_FEATURE);
        let grid = Grid::up_to(self.largest_square() * unit.powi(2));
        let maps = self.of_each();
        let square = |x: f64, j: usize| grid.round(maps[j].value(x).powi(2));
        let mut squares = vec![0.0; n];
        match &data.features {
            Features::Dense(columns) => {
                let pieces = squares.par_chunks_mut(CHUNK).enumerate();
                for_each_piece(n * maps.len(), pieces, |(chunk, squares)| {
                    let strips = columns.strips().from_record(chunk * CHUNK);
                    for (squares, strip) in squares.chunks_mut(LINE).zip(strips.iter()) {
                        let mut sums = [0.0; LINE];
                        for_wide_vectors(
                            #[inline(always)]
                            || {
                                for (map, line) in maps.iter().zip(strip) {
                                    for (sum, &x) in sums.iter_mut().zip(line) {
                                        *sum += grid.round(map.value(x.into()).powi(2));
                                    }
                                }
                            },
                        );
                        squares.copy_from_slice(&sums[..squares.len()]);
                    }
                });
            }
            Features::Packed(packed) => squares = packed.sums(|j, x| square(x.into(), j)),
            Features::Sparse { rows, base, .. } => {
                let unstored: Vec<f64> = (0..)
                    .zip(base)
                    .map(|(j, &base)| square(base.into(), j))
                    .collect();
                let all: f64 = unstored.iter().sum();
                squares
                    .par_iter_mut()
                    .enumerate()
                    .with_min_len(64)
                    .for_each(|(i, sum)| {
                        *sum = all;
                        for (j, x) in rows.line(i) {
                            *sum += square((i64::from(base[j]) + x) as f64, j) - unstored[j];
                        }
                    });
            }
        }
        squares.iter().map(|square| square.sqrt() / unit).collect()
    }

    /// The images of the records, under `schema`, whose row norm they are shortened to. Sparse records stay sparse,
    /// with the image of zero unstored, but where rows are shortened and zeros do not stay zero: shortening moves each
    /// entry of a row.
    pub(in crate::privacy) fn apply(&self, data: &BoundedData, schema: &Schema) -> BoundedData {
        let norm = RowNorm::of(schema);
        let maps = self.of_each();
        let features = match &data.features {
            Features::Sparse {
                rows,
                columns,
                base,
            } => {
                let image = |(map, &base): (&EntryMap, &i16)| map.lattice_value(base.into());
                let moved: Vec<i16> = maps.iter().zip(base).map(image).collect();
                match norm {
                    Some(norm) if moved.iter().any(|&base| base != 0) => {
                        dense_image_of(&maps, data.dense_columns(), Some(norm))
                    }
                    Some(norm) => shortened_image(&maps, rows, base, moved, norm),
                    None => sparse_image(&maps, (rows, columns), base, moved),
                }
            }
            Features::Dense(columns) => dense_image(&maps, columns, norm),
            Features::Packed(packed) if norm.is_none() => {
                Features::Packed(packed.map(|j, x| maps[j].lattice_value(x.into())))
            }
            // Shortening gives columns other values.
            Features::Packed(_) => dense_image_of(&maps, data.dense_columns(), norm),
        };
        BoundedData {
            schema: schema.clone(),
            targets: (data.targets.iter())
                .map(|&y| self.target_value(y))
                .collect(),
            features,
            weights: data.weights.clone(),
        }
    }
}

fn dense_image(maps: &[EntryMap], columns: &Columns, norm: Option<RowNorm>) -> Features {
    let mut image = columns.mapped(|j, line, image| maps[j].map_line(line, image));
    if let Some(norm) = norm {
        norm.shorten_dense(&mut image);
    }
    Features::Dense(image)
}

/// The same of columns that are of no other use: they become their image, so that there never are both.
fn dense_image_of(maps: &[EntryMap], mut columns: Columns, norm: Option<RowNorm>) -> Features {
    let p = columns.n_columns();
    columns.change_strips(|_, lines| {
        for strip in lines.chunks_exact_mut(p.max(1)) {
            for (map, line) in maps.iter().zip(strip) {
                let entries = *line;
                map.map_line(&entries, line);
            }
        }
    });
    if let Some(norm) = norm {
        norm.shorten_dense(&mut columns);
    }
    Features::Dense(columns)
}

/// `moved` is the image of `base`. What is stored where stays as it is, by rows and by columns.
fn sparse_image(
    maps: &[EntryMap],
    (rows, columns): (&Lines, &Lines),
    base: &[i16],
    moved: Vec<i16>,
) -> Features {
    let image = image_of(maps, base, &moved);
    let mut columns = columns.with_values(columns.values.clone());
    let lines: Vec<&mut [i16]> = columns.values_mut().collect();
    (lines.into_par_iter().enumerate())
        .for_each(|(j, column)| column.iter_mut().for_each(|x| *x = image(j, *x)));
    Features::Sparse {
        rows: image_of_rows(rows, image),
        columns,
        base: moved,
    }
}

/// The same with rows that are shortened, where `moved` is 0.
fn shortened_image(
    maps: &[EntryMap],
    rows: &Lines,
    base: &[i16],
    moved: Vec<i16>,
    norm: RowNorm,
) -> Features {
    let mut rows = image_of_rows(rows, image_of(maps, base, &moved));
    norm.shorten_rows(&mut rows);
    Features::Sparse {
        columns: rows.transposed(base.len()),
        rows,
        base: moved,
    }
}

fn image_of_rows(rows: &Lines, image: impl Fn(usize, i16) -> i16 + Sync) -> Lines {
    let mut values = vec![0; rows.values.len()];
    (values.par_iter_mut())
        .zip(rows.indices.par_iter().zip(&rows.values))
        .for_each(|(out, (&j, &x))| *out = image(j as usize, x));
    rows.with_values(values)
}

/// The image of a stored value of a column, relative to that of what is not stored there.
fn image_of(maps: &[EntryMap], base: &[i16], moved: &[i16]) -> impl Fn(usize, i16) -> i16 + Sync {
    move |j, x| {
        // Both lie in [-16383, 16383]: the difference fits.
        let value = f64::from(base[j]) + f64::from(x);
        maps[j].lattice_value(value) - moved[j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn schema(p: usize, intercept: f64, norm: Option<f64>) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(p, bounds, Geometry::Uncentred, Target::Classes, true, norm);
        schema.unwrap().with_intercept_value(intercept).unwrap()
    }

    proptest! {
        /// Coefficients that are undone score a record as the ones for its image do, up to the lattice; rows come out
        /// no longer than the new schema says, and norms are those of the images.
        #[test]
        fn undoing_matches_applying(
            x in prop::collection::vec(-1.0..1.0f64, 12),
            factor in prop::collection::vec(0.1..3.0f64, 4),
            shift in prop::collection::vec(-0.5..0.5f64, 4),
            theta in prop::collection::vec(-2.0..2.0f64, 5),
            norm in 4.0..9.0f64,
        ) {
            let (from, to) = (schema(4, 0.3, None), schema(4, 1.0, None));
            let x = Array2::from_shape_vec((3, 4), x).unwrap();
            let data = BoundedData::from_dense(x.view(), &[1.0; 3], to.clone()).unwrap();
            let map = FeatureMap::new(factor, shift, f64::INFINITY).divided_by(norm);
            let image = map.apply(&data, &from);
            let mut undone = theta.clone();
            map.undo(&mut undone, &from, &to);
            let (mut row, mut mapped) = (vec![0.0; 5], vec![0.0; 5]);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let norms = map.norms(&data);
            for (i, norm) in norms.iter().enumerate() {
                data.fill_row(i, &mut row);
                image.fill_row(i, &mut mapped);
                prop_assert!((dot(&row, &undone) - dot(&mapped, &theta)).abs() < 1e-3);
                prop_assert!((dot(&mapped[..4], &mapped[..4]).sqrt() - norm).abs() < 1e-3);
                prop_assert!(*norm <= map.largest_norm(&to) * (1.0 + 1e-12));
            }
            let short = map.apply(&data, &schema(4, 0.3, Some(0.05)));
            for i in 0..3 {
                short.fill_row(i, &mut mapped);
                prop_assert!(dot(&mapped[..4], &mapped[..4]).sqrt() <= 0.05);
            }
        }

        /// Images and norms are the same in every storage and within [-1, 1], sparse records stay sparse, and what is
        /// left of shortened rows is within the norm: also of those that are shortened sparsely, where zeros stay zero.
        #[test]
        fn every_storage_has_the_same_image(
            x in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0f64], 30),
            factor in prop::collection::vec(-3.0..3.0f64, 3),
            shift in prop::collection::vec(-1.0..1.0f64, 3),
            still: bool,
            divisor in 0.3..2.0f64,
            norm in prop::option::of(0.05..2.0f64),
        ) {
            let from = Bounds { lower: vec![-1.0, if still { -2.0 } else { 0.5 }, -2.0], upper: vec![1.0, 2.0, 2.0] };
            let from = Schema::new(3, from, Geometry::Centred, Target::Classes, true, None).unwrap();
            let to = schema(3, 0.3, norm);
            let x = Array2::from_shape_vec((10, 3), x).unwrap();
            let shift = if still { vec![0.0; 3] } else { shift };
            let map = FeatureMap::new(factor, shift, 1.0).divided_by(divisor);
            let kinds = all_kinds(&x, &from);
            let images = kinds.each_ref().map(|data| map.apply(data, &to));
            let (mut row, mut other) = (vec![0.0; 4], vec![0.0; 4]);
            let norms = map.norms(&kinds[0]);
            for (data, image) in kinds.iter().zip(&images).skip(1) {
                let sparse = matches!(image.features, Features::Sparse { .. });
                prop_assert!(sparse || (norm.is_some() && !still));
                prop_assert_eq!(&norms, &map.norms(data));
                for (i, norm) in norms.iter().enumerate() {
                    images[0].fill_row(i, &mut row);
                    image.fill_row(i, &mut other);
                    prop_assert_eq!(&row, &other);
                    prop_assert!(row[..3].iter().all(|x| x.abs() <= 1.0 + 1e-12));
                    let length = row[..3].iter().map(|x| x * x).sum::<f64>().sqrt();
                    match to.row_norm() {
                        Some(most) => prop_assert!(length <= most),
                        // Entries beyond 1 are clipped where the divisor is smaller.
                        None => prop_assert!(length < norm + 1e-3 && (divisor < 1.0 || length > norm - 1e-3)),
                    }
                }
                // Some features alone, and dense columns.
                let (some, dense) = (image.restricted(&[2, 0]), image.dense_columns());
                for i in 0..10 {
                    image.fill_row(i, &mut row);
                    some.fill_row(i, &mut other[..3]);
                    prop_assert_eq!([row[2], row[0], row[3]], &other[..3]);
                    let stored = (0..3).map(|j| f64::from(dense.at(i, j)) * (1.0 / f64::from(MAX_FEATURE)));
                    prop_assert!(stored.eq(row[..3].iter().copied()));
                }
            }
        }

        /// Where the map clips, undone coefficients score a record that is clipped to the map's ranges, in the user's
        /// units, as the ones for its image do, up to the lattice; public bounds may be narrow, far from zero or equal.
        #[test]
        fn ranges_are_what_images_clip(
            x in prop::collection::vec(0.0..1.0f64, 12),
            bounds in prop::collection::vec((-50.0..50.0f64, prop_oneof![Just(0.0), 1e-6..1.0f64, 1.0..80.0f64]), 4),
            factor in prop::collection::vec(prop_oneof![-30.0..-0.1f64, 0.1..30.0f64], 4),
            middle in prop::collection::vec(0.0..=1.0f64, 4),
            theta in prop::collection::vec(-2.0..2.0f64, 5),
            centred: bool,
        ) {
            let bounds = Bounds {
                lower: bounds.iter().map(|&(low, _)| low).collect(),
                upper: bounds.iter().map(|&(low, width)| low + width).collect(),
            };
            let geometry = if centred { Geometry::Centred } else { Geometry::Uncentred };
            let to = Schema::new(4, bounds.clone(), geometry, Target::Classes, true, None).unwrap();
            let from = schema(4, 0.3, None);
            let inside = |(i, j): (usize, usize)| {
                let (low, high) = bounds.of(j);
                (low + (high - low) * x[4 * i + j]).min(high)
            };
            let x = Array2::from_shape_fn((3, 4), inside);
            let data = BoundedData::from_dense(x.view(), &[1.0; 3], to.clone()).unwrap();
            // Steeper maps magnify the lattice's rounding.
            let tolerance = 1e-3 * factor.iter().fold(1.0f64, |m, f| m.max(f.abs()));
            let shift = (0..4).map(|j| match to.scaled_bounds(j) {
                (0.0, 0.0) => 3.0 * middle[j], // any, clipped or not
                (low, high) => -factor[j] * (low + (high - low) * middle[j]),
            });
            let map = FeatureMap::new(factor.clone(), shift.collect(), 1.0);
            let image = map.apply(&data, &from);
            let mut undone = theta.clone();
            map.undo(&mut undone, &from, &to);
            let (coefficients, intercept) = to.to_user_units(&undone);
            let ranges = to.ranges_to_user_units(&map.ranges(&to).unwrap());
            for j in 0..4 {
                let ((low, high), (lower, upper)) = (ranges.of(j), bounds.of(j));
                prop_assert!(lower <= low && low <= high && high <= upper);
            }
            let mut mapped = vec![0.0; 5];
            for i in 0..3 {
                let clipped = (0..4).map(|j| x[(i, j)].clamp(ranges.lower[j], ranges.upper[j]));
                let score = clipped.zip(&coefficients).map(|(x, c)| x * c).sum::<f64>() + intercept;
                image.fill_row(i, &mut mapped);
                let expected = mapped.iter().zip(&theta).map(|(a, b)| a * b).sum::<f64>();
                prop_assert!((score - expected).abs() < tolerance, "{} {}", score, expected);
            }
            prop_assert!(FeatureMap::linear(vec![1.0; 4]).ranges(&to).is_none());
            // Without a limit too images end where numbers are stored.
            let ends: Vec<(f64, f64)> = (0..4).map(|j| to.scaled_bounds(j)).collect();
            let half = FeatureMap::linear(vec![1.0; 4]).divided_by(0.5).ranges(&to);
            let beyond = ends.iter().any(|(low, high)| *low < -0.5 || *high > 0.5);
            let clipped = ends.iter().map(|(low, high)| match low == high {
                true => (*low, *high),
                false => (low.clamp(-0.5, 0.5), high.clamp(-0.5, 0.5)),
            });
            prop_assert_eq!(half, beyond.then(|| clipped.collect()));
        }

        /// What a record adds to a gradient, weighted, is no longer than the schema says, intercept included, in every
        /// storage.
        #[test]
        fn weights_bound_contributions(
            x in prop::collection::vec(prop_oneof![Just(0.0), -1.0..1.0f64], 20),
            norm in 0.05..2.0f64,
            intercept in 0.01..1.0f64,
        ) {
            let schema = schema(4, intercept, None).with_gradient_norm(norm).unwrap();
            let x = Array2::from_shape_vec((5, 4), x).unwrap();
            let dense = BoundedData::from_dense(x.view(), &[1.0; 5], schema.clone()).unwrap();
            let weights = RowNorm::gradient_weights(&dense).unwrap();
            // In integers: squares of lengths, and weights in units of 2^-15.
            let square = |value: i16| i128::from(value).pow(2);
            let intercept = square(schema.lattice_intercept());
            let limit = i128::from(schema.lattice_gradient_norm().unwrap()).pow(2) + intercept;
            for (row, weight) in x.rows().into_iter().zip(weights) {
                let values = row.iter().enumerate().map(|(j, &x)| square(schema.lattice_value(x, j)));
                let own = values.sum::<i128>() + intercept;
                let units = (weight.number() * f64::from(1 << 15)) as i128;
                prop_assert!(units.pow(2) * own <= limit << 30 && units <= 1 << 15);
                prop_assert!(units == 1 << 15 || (units + 2).pow(2) * own >= limit << 30);
            }
        }
    }

    /// Dense records, in pieces, have the norms of sparse ones, each by itself: beyond a first piece too.
    #[test]
    fn every_record_has_its_own_norm() {
        let entry = |(i, j): (usize, usize)| ((i * 37 + j * 11) % (3 + i % 50)) as f64 / 60.0;
        let x = Array2::from_shape_fn((2 * CHUNK + 100, 4), entry);
        let map = FeatureMap::new(vec![0.5, 1.0, -0.2, 0.9], vec![0.1; 4], f64::INFINITY);
        let [dense, sparse, _] = all_kinds(&x, &schema(4, 1.0, None));
        let norms = map.norms(&dense);
        assert_eq!(norms, map.norms(&sparse));
        assert_ne!(norms[..CHUNK], norms[CHUNK..2 * CHUNK]);
    }
}
