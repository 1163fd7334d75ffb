//! Derivatives as clamped integers: d = clamp(round(l'(z) 2^k)) (MECHANISMS M1).

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::kernel::{MAX_DERIVATIVE, round_clamped};

/// Records per piece of work.
const CHUNK: usize = 1024;

/// The lattice of derivatives of one loss: 2^k with the largest k such that L 2^k <= 2^14, and the clamp
/// floor(L 2^k).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DerivativeLattice {
    scale: f64,
    bound: i16,
}

impl DerivativeLattice {
    /// For derivatives in [-lipschitz, lipschitz].
    ///
    /// # Errors
    /// `lipschitz` outside [2^-100, 2^100].
    pub fn new(lipschitz: f64) -> Result<Self> {
        if !(2f64.powi(-100)..=2f64.powi(100)).contains(&lipschitz) {
            return Err(Error::invalid(
                "lipschitz",
                "must lie between 2^-100 and 2^100",
            ));
        }
        let mut scale = 2f64.powi(120);
        while lipschitz * scale > f64::from(MAX_DERIVATIVE) {
            scale *= 0.5;
        }
        Ok(Self {
            scale,
            bound: (lipschitz * scale).floor() as i16,
        })
    }

    /// d_max.
    pub fn bound(&self) -> u64 {
        u64::from(self.bound.unsigned_abs())
    }

    /// Lattice points per unit of derivative.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// d_i from margins and targets, record by record: entry i depends on record i and on the public `unit`
    /// only (z_i = margins_i * unit), with the same operations for every record.
    pub(in crate::privacy) fn derivatives(
        &self,
        loss: &dyn Loss,
        margins: &[i64],
        unit: f64,
        targets: &[f64],
        out: &mut [i16],
    ) {
        let bound = f64::from(self.bound);
        out.par_chunks_mut(CHUNK)
            .zip(margins.par_chunks(CHUNK))
            .zip(targets.par_chunks(CHUNK))
            .for_each(|((out, margins), targets)| {
                let (mut z, mut derivatives) = ([0f64; CHUNK], [0f64; CHUNK]);
                for (z, &margin) in z.iter_mut().zip(margins) {
                    *z = margin as f64 * unit;
                }
                let n = out.len();
                loss.derivatives(&z[..n], targets, &mut derivatives[..n]);
                round_clamped(&derivatives[..n], self.scale, bound, out);
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Squared, Task};
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Wild(f64);
    impl Loss for Wild {
        fn name(&self) -> &'static str {
            "wild"
        }
        fn task(&self) -> Task {
            Task::Regression
        }
        fn value(&self, _: f64, _: f64) -> f64 {
            0.0
        }
        fn derivative(&self, _: f64, _: f64) -> f64 {
            self.0
        }
        fn curvature(&self, _: f64, _: f64) -> f64 {
            0.0
        }
        fn lipschitz(&self) -> Option<f64> {
            None
        }
        fn smoothness(&self) -> f64 {
            0.0
        }
        fn conjugate(&self, _: f64, _: f64) -> f64 {
            0.0
        }
    }

    #[test]
    fn whatever_a_loss_returns_is_clamped() {
        let lattice = DerivativeLattice::new(1.0).unwrap();
        assert_eq!((lattice.bound(), lattice.scale()), (16_384, 16_384.0));
        for (value, expected) in [
            (f64::NAN, 0),
            (1e300, 16_384),
            (f64::NEG_INFINITY, -16_384),
            (0.5, 8_192),
            (-1.0, -16_384),
        ] {
            let mut out = [7i16];
            lattice.derivatives(&Wild(value), &[3], 1.0, &[1.0], &mut out);
            assert_eq!(out, [expected]);
        }
    }

    proptest! {
        #[test]
        fn bound_uses_the_lattice_well(lipschitz in 1e-20..1e20f64) {
            let lattice = DerivativeLattice::new(lipschitz).unwrap();
            prop_assert!(lattice.bound() <= 16_384 && lattice.bound() >= 8_192);
            prop_assert!(lattice.bound() as f64 <= lipschitz * lattice.scale());
        }

        #[test]
        fn squared_residuals_are_clamped(margin in -1i64 << 40..1 << 40, y in -1.0..1.0f64) {
            let lattice = DerivativeLattice::new(2.0).unwrap();
            let mut out = [0i16];
            lattice.derivatives(&Squared, &[margin], 1e-6, &[y], &mut out);
            let expected = (margin as f64 * 1e-6 - y).clamp(-2.0, 2.0) * 8192.0;
            prop_assert!((f64::from(out[0]) - expected).abs() <= 0.5);
        }
    }
}
