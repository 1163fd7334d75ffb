//! Constraint sets given by their vertices, in scaled units. The intercept, where there is one, is the last
//! column.
//!
//! A new polytope is one file that implements [`Polytope`]. Coordinates are integers in units of
//! [`Polytope::unit`], so that a margin is an integer combination of integer records.
//!
//! The polytopes of a set function have too many vertices for that; [`base`], [`symmetric`] and [`norm_ball`] are
//! functions of the set function instead. Three different polytopes: B(F), |P|(F), and the polar of |P|(F).

pub mod base;
mod group_ball;
mod half_normal;
mod linf_ball;
pub mod norm_ball;
mod radius;
mod ratio;
mod selectable;
mod signed_coordinates;
pub mod symmetric;
mod vertex_list;
mod width;

pub use group_ball::GroupBall;
pub use linf_ball::LinfBall;
pub(crate) use radius::singletons;
pub use radius::{NormOrder, Radius};
pub use selectable::Selectable;
pub use signed_coordinates::SignedCoordinates;
pub use vertex_list::VertexList;
pub use width::{Estimate, Look, Simulation};

/// How a vertex is chosen by its linear score: the structure that the selection mechanism works on.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Structure<'a> {
    /// One of a list of signed coordinates (column, sign).
    Coordinates(&'a [(u32, i64)]),
    /// One independent sign per column.
    Signs {
        /// Number of columns.
        n_columns: usize,
    },
    /// One of disjoint groups of columns, then one independent sign per column of it.
    Groups(&'a [Vec<u32>]),
    /// One of a list of sparse integer vectors.
    Vertices(&'a [Vec<(u32, i64)>]),
}

/// A polytope of coefficient vectors with a structure that exact selection can use.
pub trait Polytope: std::fmt::Debug + Send + Sync {
    /// Name for certificates.
    fn name(&self) -> &'static str;

    /// Length of one integer unit of a vertex coordinate.
    fn unit(&self) -> f64;

    /// The selection structure.
    fn structure(&self) -> Structure<'_>;

    /// ln of the number of vertices.
    fn log_vertices(&self) -> f64;

    /// The largest sum of absolute integer coordinates of a vertex.
    fn l1_radius(&self) -> i64;

    /// A public guess of the largest |<theta, x>| over the polytope for records with entries of size one:
    /// exact for the l1 ball and the simplex, of random-sign size elsewhere. It only enters the choice of the
    /// number of iterations.
    fn reach(&self) -> f64;

    /// A bound on |<theta, x>| over the polytope for records with entries in [-1, 1].
    fn margin_bound(&self) -> f64 {
        self.unit() * self.l1_radius() as f64
    }
}

#[cfg(test)]
mod tests;
