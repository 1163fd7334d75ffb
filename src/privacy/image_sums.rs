//! Sums of the sizes of images of features, rows shortened to a public norm, exactly: no image is kept.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::column_sums::{added, sums_of_chunks};
use super::lines::Lines;
use super::row_norm::RowNorm;
use crate::numeric::kernel::add_sizes;
use crate::numeric::strips::{LINE, Line, Strips};
use crate::question::FeatureMap;
use crate::question::feature_map::EntryMap;

/// sum_i |x_ij| in lattice units for every feature of the images, whose rows are shortened.
pub(super) fn of_images(data: &BoundedData, map: &FeatureMap, norm: RowNorm) -> Vec<i64> {
    let maps = map.of_each();
    if let Features::Sparse { rows, base, .. } = &data.features {
        let mut unstored = maps.iter().zip(base);
        if unstored.all(|(map, &base)| map.lattice_value(base.into()) == 0) {
            return of_rows((rows, base), &maps, norm);
        }
    }
    // What a map takes to zero has no size.
    let features: Vec<usize> = (0..maps.len()).filter(|&j| !maps[j].is_zero()).collect();
    sums_of_chunks(data, |records, sums| {
        let mut images = images_of(data, &maps, &features, records);
        norm.shorten_strips(&mut images, features.len());
        let mut own = vec![0; features.len()];
        add_sizes(Strips::new(&images, features.len()), &mut own);
        for (&j, own) in features.iter().zip(own) {
            sums[j] += own;
        }
    })
}

/// Of compressed rows whose unstored entries have the image 0.
fn of_rows((rows, base): (&Lines, &[i16]), maps: &[EntryMap], norm: RowNorm) -> Vec<i64> {
    let n = rows.len();
    let pieces = n.div_ceil(4 * rayon::current_num_threads()).max(1);
    let zeros = || vec![0i64; base.len()];
    let of_piece = |start: usize| {
        let (mut sums, mut images) = (zeros(), Vec::new());
        for i in start..n.min(start + pieces) {
            images.clear();
            images.extend(rows.line(i).map(|(j, x)| {
                let value = i64::from(base[j]) + x;
                maps[j].lattice_value(value as f64)
            }));
            norm.shorten_row(&mut images);
            for ((j, _), &image) in rows.line(i).zip(&images) {
                sums[j] += i64::from(image).abs();
            }
        }
        sums
    };
    (0..n.div_ceil(pieces))
        .into_par_iter()
        .map(|piece| of_piece(piece * pieces))
        .reduce(zeros, added)
}

/// The images of some features of some records, in strips.
fn images_of(
    data: &BoundedData,
    maps: &[EntryMap],
    features: &[usize],
    records: Range<usize>,
) -> Vec<Line> {
    let mut images = vec![[0; LINE]; records.len().div_ceil(LINE) * features.len()];
    if let Features::Dense(columns) = &data.features {
        let strips = columns.strips_of(records.clone());
        let of_strips = images.chunks_exact_mut(features.len().max(1));
        for (images, strip) in of_strips.zip(strips.iter()) {
            for (image, &j) in images.iter_mut().zip(features) {
                maps[j].map_line(&strip[j], image);
            }
        }
    } else {
        let mut column = vec![[0; LINE]; records.len().div_ceil(LINE)];
        for (k, &j) in features.iter().enumerate() {
            let entries = &mut column.as_flattened_mut()[..records.len()];
            data.fill_column(j, records.start, entries);
            let images = images[k..].iter_mut().step_by(features.len());
            for (image, line) in images.zip(&column) {
                maps[j].map_line(line, image);
            }
        }
    }
    // Beyond the last record there are none.
    let (whole, rest) = (records.len() / LINE, records.len() % LINE);
    for line in &mut images[whole * features.len()..] {
        line[rest..].fill(0);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::privacy::column_sums::absolute;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// Those of images that are made and kept, in every storage, whether or not zeros stay zero.
        #[test]
        fn sums_are_those_of_the_images(
            x in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0f64], 40 * 3),
            factor in prop::collection::vec(prop_oneof![Just(0.0), -3.0..3.0f64], 3),
            shift in prop::collection::vec(prop_oneof![Just(0.0), -1.0..1.0f64], 3),
            still: bool,
            divisor in 0.3..4.0f64,
            norm in 0.01..1.7f64,
        ) {
            let lower = vec![-1.0, if still { -2.0 } else { 0.5 }, -2.0];
            let bounds = Bounds { lower, upper: vec![1.0, 2.0, 2.0] };
            let from = Schema::new(3, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
            let to = Schema::new(3, bounds, Geometry::Uncentred, Target::Classes, true, Some(norm)).unwrap();
            let x = Array2::from_shape_vec((40, 3), x).unwrap();
            let shift = if still { vec![0.0; 3] } else { shift };
            let map = FeatureMap::new(factor, shift, 1.0).divided_by(divisor);
            for data in all_kinds(&x, &from) {
                let expected = absolute(&map.apply(&data, &to));
                prop_assert_eq!(of_images(&data, &map, RowNorm::new(norm)), expected);
            }
        }
    }
}
