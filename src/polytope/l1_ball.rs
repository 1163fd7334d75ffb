use super::{Polytope, Structure};

/// {|theta|_1 <= radius}: vertices +-radius e_j (TTZ Algorithm 2, MECHANISMS M3).
#[derive(Debug, Clone)]
pub struct L1Ball {
    radius: f64,
    vertices: Vec<(u32, i64)>,
}

impl L1Ball {
    /// The ball over `n_columns` columns (the intercept is one of them).
    pub fn new(n_columns: usize, radius: f64) -> Self {
        let vertices = (0..n_columns as u32)
            .flat_map(|j| [(j, 1), (j, -1)])
            .collect();
        Self { radius, vertices }
    }
}

impl Polytope for L1Ball {
    fn name(&self) -> &'static str {
        "l1 ball"
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
