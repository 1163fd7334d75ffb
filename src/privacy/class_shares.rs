//! How many records every class has, in units of a record's share.

use super::bounded_data::BoundedData;
use super::column_sums::added;
use super::record_weights::part;
use crate::numeric::pieces::fold_pieces;
use crate::question::CLASS_UNIT;
use crate::schema::Target;

/// Records per piece of work.
const CHUNK: usize = 1 << 14;

impl BoundedData {
    /// The shares of the records of every class added up, of two classes those of -1 first: below 2^31 2^14.
    pub(super) fn shares_of_classes(&self) -> Vec<i64> {
        let shares = self.weights.as_ref().map(|weights| weights.shares());
        let class = |y: f64| match self.schema.target() {
            Target::Classes => usize::from(y > 0.0),
            // Targets are the numbers of classes.
            _ => y as usize,
        };
        let add = |mut sums: Vec<i64>, (k, targets): (usize, &[f64])| {
            for (i, &y) in targets.iter().enumerate() {
                sums[class(y)] +=
                    shares.map_or(CLASS_UNIT, |shares| part(CLASS_UNIT, shares[k * CHUNK + i]));
            }
            sums
        };
        let zeros = || vec![0; self.schema.target().classes()];
        let pieces = self.targets.chunks(CHUNK).collect();
        fold_pieces(pieces, self.targets.len(), zeros, add, |sums| sums, added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Schema};
    use ndarray::Array2;

    fn read(target: Target, y: &[f64], weights: Option<&[f64]>) -> BoundedData {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(1, bounds, Geometry::Centred, target, true, None).unwrap();
        let schema = match weights {
            Some(_) => schema.with_max_weight(2.0).unwrap(),
            None => schema,
        };
        let x = Array2::<f64>::zeros((y.len(), 1));
        let data = BoundedData::from_dense(x.view(), y, schema).unwrap();
        data.weighed(weights).unwrap()
    }

    #[test]
    fn records_of_classes_add_up() {
        let two = read(Target::Classes, &[1.0, -1.0, 1.0], None);
        assert_eq!(two.shares_of_classes(), [CLASS_UNIT, 2 * CLASS_UNIT]);
        let weights = [0.5, 9.0, 0.0, 1.0];
        let four = Target::Multiclass { classes: 4 };
        let several = read(four, &[3.0, 0.0, 0.0, 3.0], Some(&weights));
        let share = |quarters: i64| quarters * CLASS_UNIT / 4;
        let expected = [share(4), 0, 0, share(3)];
        assert_eq!(several.shares_of_classes(), expected);
    }

    /// Pieces of threads, and the last one.
    #[test]
    fn no_record_is_left_out() {
        let n = 40 * CHUNK + 5;
        let y: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
        let numbers = read(Target::Multiclass { classes: 3 }, &y, None).shares_of_classes();
        let expected = [0, 1, 2].map(|k| (n + 2 - k) as i64 / 3 * CLASS_UNIT);
        assert_eq!(numbers, expected);
    }
}
