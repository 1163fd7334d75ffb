//! Columns that few records have a value in: what these add to a sum of slopes is bounded whatever the slopes are, so
//! that it need not be known before somebody asks.

use super::bounded_data::{BoundedData, Features};
use crate::numeric::kernel::on_large_pages;

/// Features j with sum_i |x_ij - b_j| <= `most`, b_j the lattice value of 0 by the schema. With |d_i| <= s the sum of
/// d_i x_ij is then within s `most` of b_j sum_i d_i.
///
/// The same in every storage: a matter of the records' values alone. It tells of records, and so decides about work
/// alone.
pub(in crate::privacy) struct RareColumns {
    /// Number of each feature among those that are not rare, in their order, and of the intercept behind them.
    number: Vec<u32>,
    others: usize,
}

/// In the place of a number.
const RARE: u32 = u32::MAX;

impl RareColumns {
    pub(super) fn new(data: &BoundedData, most: i64) -> Self {
        let p = data.schema.n_features();
        let (mut number, mut values) = (on_large_pages(vec![RARE; data.n_columns()]), Vec::new());
        let mut others = 0;
        for (j, number) in number.iter_mut().enumerate() {
            // The intercept is never rare.
            if j >= p || distance(data, j, &mut values) > most {
                *number = others;
                others += 1;
            }
        }
        let others = others as usize;
        Self { number, others }
    }

    /// None for a rare one.
    #[inline(always)]
    pub(in crate::privacy) fn number_of(&self, column: usize) -> Option<usize> {
        let number = self.number[column];
        (number != RARE).then_some(number as usize)
    }

    /// How many columns are not rare.
    pub(in crate::privacy) fn others(&self) -> usize {
        self.others
    }

    /// These, in order.
    pub(super) fn columns(&self) -> impl Iterator<Item = u32> {
        let all = (0..).zip(&self.number);
        all.filter(|&(_, &number)| number != RARE).map(|(j, _)| j)
    }
}

/// sum_i |x_ij - b_j|: below 2^31 2^15.
fn distance(data: &BoundedData, j: usize, values: &mut Vec<i16>) -> i64 {
    let (n, zero) = (
        data.n_records(),
        i64::from(data.schema.lattice_value(0.0, j)),
    );
    match &data.features {
        Features::Sparse { columns, base, .. } => {
            let base = i64::from(base[j]);
            let change = |(_, x): (usize, i64)| (base + x - zero).abs() - (base - zero).abs();
            (base - zero).abs() * n as i64 + columns.line(j).map(change).sum::<i64>()
        }
        Features::Dense(_) | Features::Packed(_) => {
            values.resize(n, 0);
            data.fill_column(j, 0, values);
            let sizes = values.iter().map(|&x| (i64::from(x) - zero).abs());
            sizes.sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// By the definition, in every storage, where 0 is anywhere in the bounds or outside of them.
        #[test]
        fn rare_columns_are_those_near_their_zero(
            x in prop::collection::vec(prop_oneof![3 => Just(0.0), 1 => -7.0..7.0f64], 700),
            most in prop_oneof![Just(0), 0i64..100_000],
            centred: bool,
        ) {
            let p = 70;
            let bound = |ends: [f64; 4]| (0..p).map(|j| ends[j % 4]).collect();
            let bounds = Bounds { lower: bound([-1.0, 0.0, 2.0, -6.0]), upper: bound([1.0, 5.0, 6.0, -2.0]) };
            let geometry = if centred { Geometry::Centred } else { Geometry::Uncentred };
            let schema = Schema::new(p, bounds, geometry, Target::Classes, true, None).unwrap();
            let x = Array2::from_shape_vec((10, p), x).unwrap();
            let value = |x: f64, j: usize| i64::from(schema.lattice_value(x, j));
            let distance = |j: usize| (0..10).map(|i| (value(x[[i, j]], j) - value(0.0, j)).abs()).sum::<i64>();
            for data in all_kinds(&x, &schema) {
                let rare = RareColumns::new(&data, most);
                let others: Vec<u32> = (0..=p).filter(|&j| j == p || distance(j) > most).map(|j| j as u32).collect();
                prop_assert_eq!(rare.others(), others.len());
                for j in 0..=p {
                    prop_assert_eq!(rare.number_of(j), others.iter().position(|&other| other as usize == j));
                }
                prop_assert_eq!(rare.columns().collect::<Vec<_>>(), others);
            }
        }
    }
}
