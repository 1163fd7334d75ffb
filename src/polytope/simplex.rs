use super::{Polytope, Structure};

/// {theta >= 0, sum theta = radius}: vertices radius e_j. With an intercept the set is the convex hull of
/// this simplex and of +-radius on the intercept, which is a candidate of the same selection (MECHANISMS M0,
/// M3).
#[derive(Debug, Clone)]
pub struct Simplex {
    radius: f64,
    vertices: Vec<(u32, i64)>,
}

impl Simplex {
    /// The simplex over `n_features` features, with or without an intercept column after them.
    pub fn new(n_features: usize, intercept: bool, radius: f64) -> Self {
        let mut vertices: Vec<_> = (0..n_features as u32).map(|j| (j, 1)).collect();
        if intercept {
            vertices.extend([(n_features as u32, 1), (n_features as u32, -1)]);
        }
        Self { radius, vertices }
    }
}

impl Polytope for Simplex {
    fn name(&self) -> &'static str {
        "simplex"
    }

    fn unit(&self) -> f64 {
        self.radius
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Coordinates(&self.vertices)
    }

    fn log_vertices(&self) -> f64 {
        (self.vertices.len() as f64).ln()
    }

    fn l1_radius(&self) -> i64 {
        1
    }

    fn reach(&self) -> f64 {
        self.radius
    }
}
