//! Norms in closed form, written for the tests alone.

use crate::error::Result;
use crate::norm::Norm;
use crate::prox::Scratch;

/// Sum over consecutive blocks of sum_k lambda_k |theta|_(k), sorted l1: l-infinity for lambda = (1, 0, ...).
#[derive(Debug)]
pub struct Blocks {
    pub n_features: usize,
    /// Not increasing, lambda_1 > 0; as long as a block.
    pub lambda: Vec<f64>,
}

impl Blocks {
    fn order(v: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..v.len()).collect();
        order.sort_by(|&i, &j| v[j].abs().total_cmp(&v[i].abs()));
        order
    }
}

impl Norm for Blocks {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn ball_is_bounded(&self) -> bool {
        true
    }

    fn value(&self, theta: &[f64]) -> Result<f64> {
        let mut s = vec![0.0; theta.len()];
        self.vertex(theta, &mut s)?;
        Ok(theta.iter().zip(&s).map(|(t, s)| t * s).sum())
    }

    fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()> {
        let size = self.lambda.len();
        for (theta, s) in theta.chunks(size).zip(s.chunks_mut(size)) {
            s.fill(0.0);
            for (rank, j) in Self::order(theta).into_iter().enumerate() {
                if theta[j] != 0.0 {
                    s[j] = self.lambda[rank].copysign(theta[j]);
                }
            }
        }
        Ok(())
    }

    fn dual(&self, s: &[f64]) -> Result<f64> {
        let mut largest = 0.0f64;
        for s in s.chunks(self.lambda.len()) {
            let (mut above, mut below) = (0.0, 0.0);
            for (rank, j) in Self::order(s).into_iter().enumerate() {
                above += s[j].abs();
                below += self.lambda[rank];
                largest = largest.max(above / below);
            }
        }
        Ok(largest)
    }

    /// Pool adjacent violators (Bogdan et al. 2015).
    fn prox(&self, v: &[f64], step: f64, out: &mut [f64], _: &mut Scratch) -> Result<f64> {
        let size = self.lambda.len();
        for (v, out) in v.chunks(size).zip(out.chunks_mut(size)) {
            out.fill(0.0);
            let order = Self::order(v);
            let mut pools: Vec<(usize, usize, f64)> = Vec::new();
            for (rank, &j) in order.iter().enumerate() {
                if v[j] == 0.0 {
                    break;
                }
                let mut pool = (rank, rank + 1, v[j].abs() - step * self.lambda[rank]);
                while let Some(&(start, end, sum)) = pools.last() {
                    if sum / (end - start) as f64 > pool.2 / (pool.1 - pool.0) as f64 {
                        break;
                    }
                    pools.pop();
                    pool = (start, pool.1, sum + pool.2);
                }
                pools.push(pool);
            }
            for (start, end, sum) in pools {
                let level = (sum / (end - start) as f64).max(0.0);
                for &j in &order[start..end] {
                    out[j] = if level > 0.0 {
                        level.copysign(v[j])
                    } else {
                        0.0
                    };
                }
            }
        }
        Ok(0.0)
    }
}

/// |theta_0 - theta_1| on three features: a seminorm whose kernel is spanned by the indicators of {0, 1} and {2}.
#[derive(Debug)]
pub struct Difference;

impl Norm for Difference {
    fn n_features(&self) -> usize {
        3
    }

    fn ball_is_bounded(&self) -> bool {
        false
    }

    fn value(&self, theta: &[f64]) -> Result<f64> {
        Ok((theta[0] - theta[1]).abs())
    }

    fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()> {
        let sign = if theta[0] < theta[1] { -1.0 } else { 1.0 };
        s.copy_from_slice(&[sign, -sign, 0.0]);
        Ok(())
    }

    fn dual(&self, s: &[f64]) -> Result<f64> {
        let balanced = (s[0] + s[1]).abs() <= 1e-12 * s[0].abs() && s[2].abs() <= 1e-12;
        Ok(if balanced { s[0].abs() } else { f64::INFINITY })
    }

    fn prox(&self, v: &[f64], step: f64, out: &mut [f64], _: &mut Scratch) -> Result<f64> {
        let (mean, half) = (0.5 * (v[0] + v[1]), 0.5 * (v[0] - v[1]));
        let kept = crate::prox::soft_threshold(half, step);
        out.copy_from_slice(&[mean + kept, mean - kept, v[2]]);
        Ok(0.0)
    }
}
