//! What may be made of records, as data: each record by itself, wherever it is.

use serde::{Deserialize, Serialize};

use super::bounded_data::BoundedData;
use crate::question::{FeatureMap, Projection};
use crate::schema::Schema;

/// How records become others ([`crate::question::Derivation`] says what that means for statements).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Derived {
    /// Features, and targets, go through a public map onto another schema.
    Mapped {
        /// The map.
        map: FeatureMap,
        /// The schema of the images.
        schema: Schema,
    },
    /// Some of the features, ascending.
    Restricted(Vec<u32>),
    /// The features that vary.
    Varying,
    /// Public scores are the only features.
    Projected {
        /// The scores.
        projection: Projection,
        /// The schema of the images.
        schema: Schema,
    },
}

impl Derived {
    /// The records that are made of `data`.
    pub(in crate::privacy) fn of(&self, data: &BoundedData) -> BoundedData {
        match self {
            Derived::Mapped { map, schema } => map.apply(data, schema),
            Derived::Restricted(features) => data.restricted(features),
            Derived::Varying => data.varying(),
            Derived::Projected { projection, schema } => projection.apply(data, schema),
        }
    }

    /// The schema of the records that are made of those of `schema`.
    pub(in crate::privacy) fn schema(&self, of: &Schema) -> Schema {
        match self {
            Derived::Mapped { schema, .. } | Derived::Projected { schema, .. } => schema.clone(),
            Derived::Restricted(features) => of.restricted(features),
            Derived::Varying => of.with_features(&of.varying()),
        }
    }
}
