//! The keeper of the records: ingestion, and the only home of what is **not private**.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::bounded_data::BoundedData;
use super::in_memory::InMemory;
use super::private_sizes::room;
use super::records::{Move, Pass, Records, States};
use super::sparse_records::{Compressed, Orientation};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::question::RoomModel;
use crate::question::Statement;
use crate::question::{AnyQuestion, Question, Stored};
use crate::question::{LinearModel, Point, Softmax};
use crate::schema::Schema;

/// Raw records in the hands of the one who may see them. It is made from X and y alone, so nothing that has no records
/// can make one: mechanisms get a [`Session`](super::Session), which leads to none.
///
/// ```
/// use dpsparse::privacy::Curator;
/// let x = ndarray::array![[0.0, 10.0], [5.0, 2.0]];
/// let curator = Curator::from_dense(x.view(), &[1.0, -1.0]);
/// ```
///
/// Reading a record from it does not compile:
/// ```compile_fail,E0616
/// # use dpsparse::privacy::Curator;
/// fn peek(curator: &Curator<'_>) -> f64 { curator.targets[0] }
/// ```
pub struct Curator<'x> {
    raw: Box<dyn Raw + 'x>,
    targets: &'x [f64],
    weights: Option<&'x [f64]>,
}

/// X as it came.
trait Raw: Sync {
    /// Bounded integers under a schema: each row by itself.
    fn read(&self, y: &[f64], schema: &Schema) -> Result<BoundedData>;

    /// How much there is.
    fn stored(&self) -> Stored;
}

struct Dense<'x, T>(ArrayView2<'x, T>);

impl<T: Copy + Into<f64> + Sync> Raw for Dense<'_, T> {
    fn read(&self, y: &[f64], schema: &Schema) -> Result<BoundedData> {
        BoundedData::from_dense(self.0, y, schema.clone())
    }

    fn stored(&self) -> Stored {
        Stored {
            records: self.0.nrows(),
            entries: None,
        }
    }
}

struct Sparse<'x, T, I> {
    x: Compressed<'x, T, I>,
    orientation: Orientation,
    shape: (usize, usize),
}

impl<T, I> Raw for Sparse<'_, T, I>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    fn read(&self, y: &[f64], schema: &Schema) -> Result<BoundedData> {
        let Self {
            x,
            orientation,
            shape,
        } = self;
        let x = Compressed { ..*x };
        BoundedData::from_sparse(x, *orientation, *shape, y, schema.clone())
    }

    fn stored(&self) -> Stored {
        Stored {
            records: self.shape.0,
            entries: Some(self.x.values.len()),
        }
    }
}

impl<'x> Curator<'x> {
    /// A dense array of any strides, and one target a record: -1 and +1 for classes.
    pub fn from_dense<T>(x: ArrayView2<'x, T>, y: &'x [f64]) -> Self
    where
        T: Copy + Into<f64> + Sync + 'x,
    {
        Self {
            raw: Box::new(Dense(x)),
            targets: y,
            weights: None,
        }
    }

    /// The same from a sparse matrix: indices are checked and duplicates summed before clipping, zeros stay unstored.
    pub fn from_sparse<T, I>(
        x: Compressed<'x, T, I>,
        orientation: Orientation,
        shape: (usize, usize),
        y: &'x [f64],
    ) -> Self
    where
        T: Copy + Into<f64> + Sync + 'x,
        I: Copy + TryInto<usize> + Sync + 'x,
    {
        Self {
            raw: Box::new(Sparse {
                x,
                orientation,
                shape,
            }),
            targets: y,
            weights: None,
        }
    }

    /// The same records with a weight each, for statements whose schema has a largest one
    /// ([`Schema::with_max_weight`]); what is wrong with them is said when they are read.
    ///
    /// ```
    /// use dpsparse::privacy::Curator;
    /// let x = ndarray::array![[0.0, 10.0], [5.0, 2.0]];
    /// let curator = Curator::from_dense(x.view(), &[1.0, -1.0]).weighted(&[0.5, 2.0]);
    /// ```
    pub fn weighted(self, weights: &'x [f64]) -> Self {
        Self {
            weights: Some(weights),
            ..self
        }
    }

    /// The records at some ascending positions (all of them without), read under a schema.
    ///
    /// # Errors
    /// Unusable records; positions that are not ascending.
    pub(in crate::privacy) fn read(
        &self,
        positions: Option<&[u32]>,
        schema: &Schema,
    ) -> Result<BoundedData> {
        let all = (self.raw.read(self.targets, schema)?).weighed(self.weights)?;
        match positions {
            None => Ok(all),
            Some(positions) => {
                let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
                let inside = (positions.last()).is_none_or(|&i| (i as usize) < all.n_records());
                if !(ascending && inside) {
                    return Err(Error::invalid(
                        "positions",
                        "must be ascending and of records",
                    ));
                }
                Ok(all.rows(positions))
            }
        }
    }

    /// All records, read under a statement where there is memory for them, and for what `questions` need beside them.
    ///
    /// # Errors
    /// Unusable records; [`Error::TooLarge`]; another number of records than a public one.
    pub(in crate::privacy) fn all(
        &self,
        statement: &Arc<Statement>,
        questions: &[&AnyQuestion],
    ) -> Result<InMemory> {
        let records = InMemory::new(Arc::new(self.whole(statement)?), statement)?;
        let mut most = 0;
        for question in questions {
            let stored = self.raw.stored();
            let scores = question.bytes_of_scores(questions, stored);
            most = most.max(question.bytes(statement, stored)? + scores);
        }
        room(most)?;
        Ok(records)
    }

    /// However many there are.
    fn whole(&self, statement: &Statement) -> Result<BoundedData> {
        room(statement.bytes(self.raw.stored()))?;
        (self.raw.read(self.targets, statement.schema())?).weighed(self.weights)
    }

    /// Raises what reading records in this storage under a statement would raise, however many there are.
    ///
    /// # Errors
    /// As a release.
    pub fn check_storage(&self, statement: &Arc<Statement>) -> Result<()> {
        self.whole(statement).map(drop)
    }

    /// The integer gradient sum_i d_i x_i at the public integer coefficients `theta`, with margins z_i = <theta, x_i>
    /// unit.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// A `theta` of another length than there are columns, or so large that margins could overflow.
    pub fn non_private_integer_gradient(
        &self,
        statement: &Arc<Statement>,
        model: &RoomModel,
        theta: &[i64],
        unit: f64,
    ) -> Result<Vec<i64>> {
        let records = InMemory::of_any_size(self.whole(statement)?, statement);
        if theta.len() != records.n_columns() {
            return Err(Error::invalid(
                "theta",
                "must have one entry per column, the intercept included",
            ));
        }
        let sizes = theta.iter().map(|entry| u128::from(entry.unsigned_abs()));
        if sizes.sum::<u128>() >= 1 << 45 {
            return Err(Error::invalid("theta", "is too large for integer margins"));
        }
        let direction: Vec<(u32, i64)> = (0..).zip(theta.iter().copied()).collect();
        let moves = [Move {
            output: 0,
            direction: &direction,
            weight: 1,
        }];
        let pass = Pass::Gradient {
            model,
            moves: &moves,
            fresh: true,
            unit,
        };
        Ok(records
            .fold(&pass, &mut States::default(), &mut || Ok(()))?
            .0)
    }

    /// The point that noise would be added to, and the bound on its L2 sensitivity, both in scaled units; None where a
    /// random linear term stands in for noise.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// As a release.
    pub fn non_private_point(
        &self,
        question: &Question<Point>,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        let records = self.all(question.statement(), &[])?;
        question.without_noise(&records, source)
    }

    /// The integer scores by which released models are compared, minimised: 2^16 for a loss of 1.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the law and of the sensitivity.
    ///
    /// # Errors
    /// Models of another shape than the records, or not finite.
    pub fn non_private_scores(
        &self,
        statement: &Arc<Statement>,
        models: &[LinearModel],
    ) -> Result<Vec<i64>> {
        if self.targets.is_empty() {
            return Ok(vec![0; models.len()]);
        }
        let records = InMemory::of_any_size(self.whole(statement)?, statement);
        let pass = Pass::HeldOut { models };
        Ok(records
            .fold(&pass, &mut States::default(), &mut || Ok(()))?
            .0)
    }

    /// The integer scores q that softmax sampling draws from: P(a) is proportional to exp(-q_a 2^-bits).
    ///
    /// **Not private**: for a curator's own checks, and for tests of the KKT residual and of the law.
    ///
    /// # Errors
    /// As a release.
    pub fn non_private_softmax_scores(&self, softmax: &Softmax) -> Result<Vec<i64>> {
        let records = self.all(softmax.statement(), &[])?;
        softmax.scores(&records.data, &mut || Ok(()))
    }
}

/// X that counts how often it is read.
#[cfg(test)]
struct Counted<'x> {
    raw: Box<dyn Raw + 'x>,
    reads: &'x std::sync::atomic::AtomicUsize,
}

#[cfg(test)]
impl Raw for Counted<'_> {
    fn read(&self, y: &[f64], schema: &Schema) -> Result<BoundedData> {
        self.reads
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.raw.read(y, schema)
    }

    fn stored(&self) -> Stored {
        self.raw.stored()
    }
}

#[cfg(test)]
impl<'x> Curator<'x> {
    /// The same records, whose readings are counted.
    pub(in crate::privacy) fn counted(self, reads: &'x std::sync::atomic::AtomicUsize) -> Self {
        let raw = Box::new(Counted {
            raw: self.raw,
            reads,
        });
        Self { raw, ..self }
    }
}
