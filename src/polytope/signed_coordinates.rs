use super::{Polytope, Structure};

/// The convex hull of signed coordinate vectors +-radius e_j: the l1 ball and the simplex
/// ([`crate::theory_of_privacy::frank_wolfe`]).
#[derive(Debug, Clone)]
pub struct SignedCoordinates {
    name: &'static str,
    radius: f64,
    vertices: Vec<(u32, i64)>,
}

impl SignedCoordinates {
    /// {|theta|_1 <= radius} over `n_columns` columns, of which the intercept is one: vertices +-radius e_j
    /// (TTZ Algorithm 2).
    pub fn l1_ball(n_columns: usize, radius: f64) -> Self {
        let vertices = (0..n_columns as u32).flat_map(|j| [(j, 1), (j, -1)]);
        Self {
            name: "l1 ball",
            radius,
            vertices: vertices.collect(),
        }
    }

    /// {theta >= 0, sum theta = radius} over `n_features` features: vertices radius e_j. With an intercept,
    /// the column after them, the set is the convex hull of this simplex and of +-radius on the intercept,
    /// which is a candidate of the same selection ([`crate::theory_of_privacy::conventions`]).
    pub fn simplex(n_features: usize, intercept: bool, radius: f64) -> Self {
        let mut vertices: Vec<_> = (0..n_features as u32).map(|j| (j, 1)).collect();
        if intercept {
            vertices.extend([(n_features as u32, 1), (n_features as u32, -1)]);
        }
        Self {
            name: "simplex",
            radius,
            vertices,
        }
    }
}

impl Polytope for SignedCoordinates {
    fn name(&self) -> &'static str {
        self.name
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
