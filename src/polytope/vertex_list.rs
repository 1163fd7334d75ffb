use super::{Polytope, Structure};
use crate::error::{Error, Result};

/// The convex hull of explicit vertices, rounded to a lattice of 2^-20 of their largest entry. With an
/// intercept the hull also takes +-(the largest entry) on the intercept column
/// ([`crate::theory_of_privacy::conventions`], [`crate::theory_of_privacy::frank_wolfe`]).
#[derive(Debug, Clone)]
pub struct VertexList {
    unit: f64,
    vertices: Vec<Vec<(u32, i64)>>,
    l1_radius: i64,
}

/// Lattice points per largest entry.
const LATTICE: f64 = (1u32 << 20) as f64;

impl VertexList {
    /// The hull of the rows of `vertices`, each with one entry per feature.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no vertex, a wrong length, entries that are not finite, or all of them
    /// zero.
    pub fn new(vertices: &[Vec<f64>], n_features: usize, intercept: bool) -> Result<Self> {
        let invalid = |problem: &str| Err(Error::invalid("vertices", problem));
        if vertices.is_empty() {
            return invalid("must have at least one row");
        }
        if vertices.iter().any(|vertex| vertex.len() != n_features) {
            return invalid("must have one column per feature");
        }
        let entries = || vertices.iter().flatten();
        if entries().any(|entry| !entry.is_finite()) {
            return invalid("must be finite");
        }
        let largest = entries().fold(0.0f64, |largest, entry| largest.max(entry.abs()));
        let unit = largest / LATTICE;
        if unit < f64::MIN_POSITIVE {
            return invalid("must not all be zero");
        }
        let mut rounded: Vec<Vec<(u32, i64)>> = vertices
            .iter()
            .map(|vertex| {
                let lattice = vertex.iter().map(|entry| (entry / unit).round() as i64);
                lattice
                    .enumerate()
                    .filter(|&(_, entry)| entry != 0)
                    .map(|(j, entry)| (j as u32, entry))
                    .collect()
            })
            .collect();
        let l1 =
            |vertex: &Vec<(u32, i64)>| vertex.iter().map(|(_, entry)| entry.abs()).sum::<i64>();
        let l1_radius = rounded.iter().map(l1).max().unwrap_or(0);
        if intercept {
            rounded.push(vec![(n_features as u32, LATTICE as i64)]);
            rounded.push(vec![(n_features as u32, -(LATTICE as i64))]);
        }
        Ok(Self {
            unit,
            vertices: rounded,
            l1_radius,
        })
    }
}

impl Polytope for VertexList {
    fn name(&self) -> &'static str {
        "convex hull of explicit vertices"
    }

    fn unit(&self) -> f64 {
        self.unit
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Vertices(&self.vertices)
    }

    fn log_vertices(&self) -> f64 {
        (self.vertices.len() as f64).ln()
    }

    fn l1_radius(&self) -> i64 {
        self.l1_radius
    }

    fn reach(&self) -> f64 {
        self.margin_bound()
    }
}
