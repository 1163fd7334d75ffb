//! Public facts of a release: made once, stored with the records, compared at every answer.

use std::sync::Arc;

use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::numeric::directed::{mul_up, sqrt_up};
use crate::schema::{Bounds, Geometry, Schema};

/// Everything that is public about the records that a release reads: how they become bounded integers, how many there
/// are, and who counts as a neighbour of whom.
///
/// A question is asked of one statement, and answered from records that were read under it, or not at all.
///
/// ```
/// use dpsparse::accounting::event::Adjacency;
/// use dpsparse::privacy::{Bounds, Geometry, Schema, Statement, Target};
/// let bounds = Bounds { lower: vec![0.0], upper: vec![10.0] };
/// let schema = Schema::new(2, bounds, Geometry::Centred, Target::Classes, true, None)?;
/// let statement = Statement::new(schema, 1000, Adjacency::ReplaceOne, 2)?;
/// // Neighbours differ in two records, each of which is one contribution less and one more.
/// assert_eq!(statement.changed_contributions(), 4);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct Statement {
    schema: Schema,
    n_samples: usize,
    adjacency: Adjacency,
    records_per_person: u64,
    origin: Option<Origin>,
}

/// The statement that another one was derived from, and how.
#[derive(Debug, PartialEq)]
struct Origin {
    parent: Arc<Statement>,
    by: Derivation,
}

/// How records of one statement become those of another: each record by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Derivation {
    /// Features, and targets, went through a public map.
    Mapped,
    /// Features were multiplied by public factors: zero stayed zero.
    Scaled,
    /// Some of the features, which are public, at most as many as the statement has.
    Restricted,
    /// The features that vary: the others are public, and 0.
    Varying,
    /// A public score is the only feature.
    Projected,
    /// Records at positions that were drawn without looking at them, read under other public facts.
    Part,
}

/// Most records of any statement: sums over them stay within 64 bits.
pub(crate) const MOST_RECORDS: usize = (1 << 31) - 1;

impl Statement {
    /// Public facts of a release from records read under `schema`. `n_samples` is the number of records, which is
    /// public under replace-one; under add-remove it stands in for it and normalises means.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `X` for no records or 2^31 of them, or `records_per_person` for none.
    pub fn new(
        schema: Schema,
        n_samples: usize,
        adjacency: Adjacency,
        records_per_person: usize,
    ) -> Result<Arc<Self>> {
        if records_per_person == 0 {
            return Err(Error::invalid("records_per_person", "must be at least 1"));
        }
        if n_samples == 0 || n_samples > MOST_RECORDS {
            return Err(Error::invalid(
                "X",
                format!(
                    "has n_samples={n_samples}: at least 1 and fewer than 2^31 records are needed"
                ),
            ));
        }
        Ok(Arc::new(Self {
            schema,
            n_samples,
            adjacency,
            records_per_person: records_per_person as u64,
            origin: None,
        }))
    }

    /// Bounds, scaling, target, intercept.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// n (under add-remove: the public normaliser).
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Neighbouring relation.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// m, how many records one person may own.
    pub fn records_per_person(&self) -> u64 {
        self.records_per_person
    }

    /// Number of columns of the bounded records: the features and the intercept.
    pub fn n_columns(&self) -> usize {
        self.schema.n_columns()
    }

    /// By how many contributions of single records sums over neighbouring data sets differ: 2 m where m records are
    /// replaced (each takes one away and adds one), m where they are added or removed. The only place where neighbours
    /// are counted.
    pub fn changed_contributions(&self) -> u64 {
        let one = match self.adjacency {
            Adjacency::ReplaceOne => 2u64,
            Adjacency::AddRemove => 1,
        };
        one.saturating_mul(self.records_per_person)
    }

    /// By how much a sum of vectors changes, in Euclidean norm, per unit of the longest of them, where no two of them
    /// have a negative inner product: |a - b|^2 <= |a|^2 + |b|^2 makes sqrt(2) of a replaced pair, and m of them add
    /// up. Rounded up.
    pub(crate) fn changed_non_negative(&self) -> f64 {
        let one = match self.adjacency {
            Adjacency::ReplaceOne => sqrt_up(2.0),
            Adjacency::AddRemove => 1.0,
        };
        mul_up(one, self.records_per_person as f64)
    }

    /// R2: the Euclidean bound of a scaled row, the intercept included, rounded up; features that do not vary are 0.
    pub fn row_bound(&self) -> f64 {
        let entries = (self.schema.n_varying().max(1) as f64).sqrt();
        let features = self
            .schema
            .row_norm()
            .map_or(entries, |norm| norm.min(entries));
        // Roots and hypot err by an ulp.
        features.hypot(self.schema.intercept_value()) * (1.0 + 1e-15)
    }

    /// The Euclidean bound of what a record adds to a gradient, per unit of its slope: R2, or less where long rows
    /// count less ([`Schema::with_gradient_norm`]).
    pub fn gradient_bound(&self) -> f64 {
        match self.schema.gradient_norm() {
            Some(norm) => {
                let shortened = norm.hypot(self.schema.intercept_value()) * (1.0 + 1e-15);
                shortened.min(self.row_bound())
            }
            None => self.row_bound(),
        }
    }

    /// The statement about these records after a public map of their features ([`Session::mapped`]), which makes them
    /// records of `schema`.
    ///
    /// [`Session::mapped`]: crate::privacy::Session::mapped
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the map would change the number of features, the kind of targets or whether
    /// there is an intercept, or for a schema in which a feature does not vary: images may all the same.
    pub fn mapped(self: &Arc<Self>, schema: Schema) -> Result<Arc<Self>> {
        let same = schema.n_features() == self.schema.n_features()
            && schema.same_kind_of_target(&self.schema)
            && schema.has_intercept() == self.schema.has_intercept();
        // Bounds on rows count the features that vary, and nothing makes the image of another one 0.
        if !same || schema.n_varying() != schema.n_features() {
            return Err(Error::invalid(
                "schema",
                "of mapped records must have the same features, targets and intercept, and let all features vary",
            ));
        }
        Ok(self.derived(Derivation::Mapped, schema, self.n_samples))
    }

    /// The same after a map that is linear, so that sparse records stay sparse.
    ///
    /// # Errors
    /// As [`Statement::mapped`].
    pub fn scaled(self: &Arc<Self>, schema: Schema) -> Result<Arc<Self>> {
        let mapped = self.mapped(schema)?;
        Ok(self.derived(Derivation::Scaled, mapped.schema.clone(), self.n_samples))
    }

    /// The statement about any `n_features` of the features ([`Session::restricted`]): all that it says of them is
    /// that they lie in [-1, 1] in scaled units, so it holds whichever they are and for fewer of them.
    ///
    /// [`Session::restricted`]: crate::privacy::Session::restricted
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `n_selected` for none of the features or more than there are.
    pub fn restricted(self: &Arc<Self>, n_features: usize) -> Result<Arc<Self>> {
        if n_features == 0 || n_features > self.schema.n_features() {
            return Err(Error::invalid(
                "n_selected",
                format!(
                    "must be between 1 and the number of features, {}",
                    self.schema.n_features()
                ),
            ));
        }
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (self.schema.geometry(), self.schema.target());
        let intercept = self.schema.has_intercept();
        let mut schema = Schema::new(n_features, bounds, geometry, target, intercept, None)?;
        if intercept {
            schema = schema.with_intercept_value(self.schema.intercept_value())?;
        }
        Ok(self.derived(Derivation::Restricted, schema, self.n_samples))
    }

    /// The statement about the features that vary ([`Session::varying`]), with the same bounds on the norms of rows.
    ///
    /// [`Session::varying`]: crate::privacy::Session::varying
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `bounds` where none does.
    pub fn varying(self: &Arc<Self>) -> Result<Arc<Self>> {
        let features = self.schema.varying();
        if features.is_empty() {
            return Err(Error::invalid(
                "bounds",
                "must let at least one feature vary: every lower bound equals its upper bound",
            ));
        }
        let schema = self.schema.with_features(&features);
        Ok(self.derived(Derivation::Varying, schema, self.n_samples))
    }

    /// The statement about `n_samples` of the records (under add-remove: about so many), read under `schema`
    /// ([`Session::part`]).
    ///
    /// [`Session::part`]: crate::privacy::Session::part
    ///
    /// # Errors
    /// As [`Statement::new`]; more records than there are; other features than all of them, or targets of another
    /// kind, which records that were taken could fail to have.
    pub fn part(self: &Arc<Self>, schema: Schema, n_samples: usize) -> Result<Arc<Self>> {
        if n_samples == 0 || n_samples > self.n_samples {
            return Err(Error::invalid(
                "X",
                format!("has too few records for a part of {n_samples} of them"),
            ));
        }
        // It is read anew: with all the features, whatever was made of the records.
        if schema.n_features() != self.root().schema.n_features()
            || !schema.same_kind_of_target(&self.schema)
        {
            return Err(Error::invalid(
                "schema",
                "of a part must have the same features and targets of the same kind",
            ));
        }
        Ok(self.derived(Derivation::Part, schema, n_samples))
    }

    /// The statement about these records with a public score as their only feature ([`Session::projected`]), and
    /// `intercept` in the column of the intercept ([`Schema::with_intercept_value`]); those whose score is larger than
    /// `norm`, in units of the projection's reach, count less ([`Schema::with_gradient_norm`]).
    ///
    /// [`Session::projected`]: crate::privacy::Session::projected
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for records without an intercept, to which a score is not a constant nearer, a value
    /// outside (0, 1], or a norm that is not positive and finite.
    pub fn projected(self: &Arc<Self>, intercept: f64, norm: f64) -> Result<Arc<Self>> {
        self.projected_scores(1, intercept, norm)
    }

    /// The same with so many public scores as features; records count by the Euclidean norm of all of theirs.
    ///
    /// # Errors
    /// As [`Statement::projected`]; [`Error::InvalidArgument`] without any score.
    pub fn projected_scores(
        self: &Arc<Self>,
        scores: usize,
        intercept: f64,
        norm: f64,
    ) -> Result<Arc<Self>> {
        if !self.schema.has_intercept() {
            return Err(Error::invalid(
                "fit_intercept",
                "must be true for a line through scores",
            ));
        }
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = self.schema.target();
        let schema = Schema::new(scores, bounds, Geometry::Uncentred, target, true, None)?;
        let schema = schema
            .with_intercept_value(intercept)?
            .with_gradient_norm(norm)?;
        Ok(self.derived(Derivation::Projected, schema, self.n_samples))
    }

    fn derived(self: &Arc<Self>, by: Derivation, schema: Schema, n_samples: usize) -> Arc<Self> {
        Arc::new(Self {
            schema: schema.weighted_as(&self.schema),
            n_samples,
            adjacency: self.adjacency,
            records_per_person: self.records_per_person,
            origin: Some(Origin {
                parent: Arc::clone(self),
                by,
            }),
        })
    }

    /// Whether two statements say the same.
    pub(crate) fn same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || self == other
    }

    /// Whether this statement was derived from `parent` in this way.
    pub(crate) fn derives(self: &Arc<Self>, parent: &Arc<Self>, by: Derivation) -> bool {
        let derives = |origin: &Origin| origin.by == by && origin.parent.same(parent);
        self.origin.as_ref().is_some_and(derives)
    }

    /// The statement that it was derived from, and how; None: it was not.
    pub(crate) fn origin(&self) -> Option<(&Arc<Self>, Derivation)> {
        let origin = self.origin.as_ref()?;
        Some((&origin.parent, origin.by))
    }

    /// Whether it is `other`, or was derived from it.
    pub(crate) fn comes_from(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let parent = || {
            self.origin()
                .is_some_and(|(parent, _)| parent.comes_from(other))
        };
        self.same(other) || parent()
    }

    /// Whether it is `other`, or speaks of what is made of its records without another look at the raw ones.
    pub(crate) fn is_made_of(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let parent = || {
            self.origin()
                .is_some_and(|(parent, by)| by != Derivation::Part && parent.is_made_of(other))
        };
        self.same(other) || parent()
    }

    /// Whether it speaks of a part of the records that its root speaks of.
    pub(crate) fn is_part(&self) -> bool {
        let mut origin = &self.origin;
        while let Some(Origin { parent, by }) = origin {
            if *by == Derivation::Part {
                return true;
            }
            origin = &parent.origin;
        }
        false
    }

    /// The statement that this one was derived from in the end: itself where it was not.
    pub(crate) fn root(self: &Arc<Self>) -> &Arc<Self> {
        let mut root = self;
        while let Some(origin) = &root.origin {
            root = &origin.parent;
        }
        root
    }
}
