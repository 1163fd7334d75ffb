use super::{Polytope, Structure};

/// {|theta|_inf <= radius}: vertices are all sign vectors times radius; a vertex is one sign per column
/// ([`crate::theory_of_privacy::frank_wolfe`]).
#[derive(Debug, Clone)]
pub struct LinfBall {
    radius: f64,
    n_columns: usize,
}

impl LinfBall {
    /// The ball over `n_columns` columns (the intercept is one of them).
    pub fn new(n_columns: usize, radius: f64) -> Self {
        Self { radius, n_columns }
    }
}

impl Polytope for LinfBall {
    fn name(&self) -> &'static str {
        "l-infinity ball"
    }

    fn unit(&self) -> f64 {
        self.radius
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Signs {
            n_columns: self.n_columns,
        }
    }

    fn log_vertices(&self) -> f64 {
        self.n_columns as f64 * std::f64::consts::LN_2
    }

    fn l1_radius(&self) -> i64 {
        self.n_columns as i64
    }

    fn reach(&self) -> f64 {
        self.radius * (self.n_columns as f64).sqrt()
    }
}
