use rayon::prelude::*;

use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::integer_law;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::loss::Loss;
use crate::numeric::directed::{add_up, mul_up, sqrt_up};
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::derivative_lattice::DerivativeLattice;
use crate::privacy::ledger::Budget;
use crate::privacy::row_norm::RowNorm;
use crate::privacy::sensitivity::Contribution;
use crate::schema::Schema;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// How gradients of one schema are released: sensitivity, noise and event, all before any data (MECHANISMS M4).
#[derive(Debug, Clone)]
pub struct GradientPlan {
    lattice: DerivativeLattice,
    columns: usize,
    /// Entries are released in units of 2^shift lattice units.
    shift: u32,
    sensitivity: f64,
    sigma: f64,
    event: Event,
}

impl GradientPlan {
    /// Noise of standard deviation `multiplier` times the sensitivity on every entry of the integer gradient.
    ///
    /// The L2 sensitivity is that of [`Contribution::euclidean`], in lattice units, with the norm to which
    /// contributions are scaled down in place of that of the rows where the schema has one; the noise is the exactly
    /// rounded continuous Gaussian, so the exact Gaussian curve holds (M12).
    ///
    /// # Errors
    /// A sensitivity beyond 2^62, or noise that the exact sampler does not take.
    pub fn new(
        schema: &Schema,
        contribution: Contribution,
        lattice: DerivativeLattice,
        multiplier: f64,
    ) -> Result<Self> {
        debug_assert_eq!(contribution.derivative, lattice.bound());
        let row_norm = schema.lattice_gradient_norm().or(schema.lattice_row_norm());
        let features = schema.n_varying() as u64;
        let exact = contribution.euclidean(features, row_norm, schema.lattice_intercept())?;
        // In units of 2^shift the noise fits the sampler. Flooring to them moves the difference of two entries by less
        // than 1: sqrt(p) more.
        let wanted = multiplier * exact as f64;
        let shift = (wanted.log2() - 38.0).ceil().max(0.0) as u32;
        let floored = sqrt_up(schema.n_columns() as f64) * f64::from(u8::from(shift > 0));
        let sensitivity = add_up((exact as f64).next_up() / 2f64.powi(shift as i32), floored);
        // Rounded up: sigma/sensitivity >= multiplier.
        let sigma = mul_up(multiplier, sensitivity);
        RoundedGaussian::new(sigma)?;
        Ok(Self {
            lattice,
            columns: schema.n_columns(),
            shift,
            sensitivity,
            sigma,
            event: Event::gaussian(sensitivity, sigma)?,
        })
    }

    /// The event of one release, in its units.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Replace-one (or add-remove) L2 sensitivity of the gradient, in the units of the release.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// Standard deviation of the noise, in the units of the release.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// One unit of the release, in units of the gradient of the summed loss in scaled features.
    pub fn unit(&self) -> f64 {
        2f64.powi(self.shift as i32) / (self.lattice.scale() * f64::from(MAX_FEATURE))
    }
}

/// Releases noisy gradients of the summed loss at public coefficients.
///
/// At theta, public, margins are integer combinations of integer records: record i alone decides z_i and d_i, on any
/// thread and in any storage. What leaves is sum_i d_i x_i plus noise.
pub struct NoisyGradient<'a> {
    data: &'a BoundedData,
    loss: &'a dyn Loss,
    plan: &'a GradientPlan,
    noise: RoundedGaussian,
    budget: Budget,
    source: &'a mut Source,
    spent: u64,
    direction: Vec<(u32, i64)>,
    margins: Vec<i64>,
    derivatives: Vec<i16>,
    /// How often each record counts; None: once each.
    weights: Option<Vec<f64>>,
    gradient: Vec<i64>,
}

impl<'a> NoisyGradient<'a> {
    /// Ready for `count` releases. The records may have fewer columns than planned for: the bounds hold for some of the
    /// features too.
    ///
    /// # Errors
    /// More columns than planned for, and as [`GradientPlan::new`].
    pub fn new(
        data: &'a BoundedData,
        loss: &'a dyn Loss,
        plan: &'a GradientPlan,
        count: u64,
        source: &'a mut Source,
    ) -> Result<Self> {
        let n = data.n_records();
        if data.n_columns() > plan.columns {
            let problem = "hold more features than the gradients were planned for";
            return Err(Error::invalid("data", problem));
        }
        Ok(Self {
            data,
            loss,
            plan,
            noise: RoundedGaussian::new(plan.sigma)?,
            budget: Budget::new(&[(plan.event, count)]),
            source,
            spent: 0,
            direction: Vec::with_capacity(data.n_columns()),
            margins: vec![0; n],
            derivatives: vec![0; n],
            weights: RowNorm::gradient_weights(data),
            gradient: vec![0; data.n_columns()],
        })
    }

    /// Writes the noisy gradient of sum_i l(<theta, x_i>; y_i) in scaled units: spends the event, then draws. `theta`
    /// is public, in scaled units, the intercept last.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] beyond the planned count, [`Error::InvalidArgument`] for a theta that is not finite or
    /// of another length, [`Error::Randomness`].
    pub fn release(&mut self, theta: &[f64], out: &mut [f64]) -> Result<()> {
        let unit = self.set_direction(theta)?;
        self.budget.spend(&self.plan.event)?;
        self.spent += 1;
        self.source.renew_after_fork()?;
        self.margins.fill(0);
        self.data
            .add_to_margins(&mut self.margins, &self.direction, 1);
        self.plan.lattice.derivatives(
            self.loss,
            &self.margins,
            unit,
            &self.data.targets,
            &mut self.derivatives,
        );
        if let Some(weights) = &self.weights {
            (self.derivatives.par_iter_mut())
                .zip(weights)
                .with_min_len(CHUNK)
                .for_each(|(derivative, weight)| {
                    // Towards zero: never more than the weight allows.
                    *derivative = (f64::from(*derivative) * weight) as i16;
                });
        }
        self.data.gradient(&self.derivatives, &mut self.gradient);
        (self.gradient.iter_mut()).for_each(|entry| *entry >>= self.plan.shift);
        let noisy = integer_law::add(&self.noise, self.source, &self.gradient)?;
        let unit = self.plan.unit();
        for (out, &entry) in out.iter_mut().zip(&noisy) {
            *out = entry as f64 * unit;
        }
        Ok(())
    }

    /// Puts theta on a public lattice of at least 2^-16 of its largest entry, as fine as exact margins allow, and
    /// returns the unit of a margin.
    ///
    /// No overflow: an entry is at most 2^30 and the sum of their sizes at most 2^46, so |margin| <= 2^60; sparse
    /// columns add at most three such terms.
    fn set_direction(&mut self, theta: &[f64]) -> Result<f64> {
        let p = self.data.n_columns();
        if theta.len() != p || !theta.iter().all(|t| t.is_finite()) {
            return Err(Error::invalid(
                "theta",
                "must have one finite entry per column, the intercept included",
            ));
        }
        let largest = theta.iter().fold(0.0f64, |m, t| m.max(t.abs()));
        let bits = 30.min(45 - (usize::BITS - p.leading_zeros()) as i32);
        // |theta_j| <= 2^exponent, so entries are at most 2^bits.
        let exponent = largest.max(1e-290).log2().floor() as i32 + 1;
        let scale = 2f64.powi(bits - exponent);
        self.direction.clear();
        let entries = theta.iter().map(|t| (t * scale).round() as i64);
        (self.direction).extend((0..).zip(entries).filter(|&(_, entry)| entry != 0));
        Ok(1.0 / (scale * f64::from(MAX_FEATURE)))
    }

    /// The events spent, and whether the randomness was secure.
    pub fn finish(self) -> (Vec<(Event, u64)>, bool) {
        (vec![(self.plan.event, self.spent)], self.source.is_secure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::schema::{Bounds, Geometry, Target};

    /// Where the noise is so large that entries are floored to a coarser lattice, the sensitivity pays sqrt(p) units
    /// for it.
    #[test]
    fn flooring_costs_the_root_of_the_columns() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema =
            Schema::new(99, bounds, Geometry::Uncentred, Target::Classes, true, None).unwrap();
        let lattice = DerivativeLattice::new(1.0).unwrap();
        let contribution = Contribution {
            derivative: lattice.bound(),
            adjacency: Adjacency::ReplaceOne,
            records_per_person: 1,
        };
        let exact = contribution.euclidean(99, None, MAX_FEATURE).unwrap() as f64;
        for multiplier in [0.01, 1.0, 1e3, 1e6, 1e9] {
            let plan = GradientPlan::new(&schema, contribution, lattice, multiplier).unwrap();
            let unit = 2f64.powi(plan.shift as i32);
            let floored = if plan.shift > 0 { 10.0 } else { 0.0 };
            assert!(plan.sensitivity() >= exact / unit + floored);
            assert!(plan.sigma() >= multiplier * plan.sensitivity());
            let scale = plan.sigma() * plan.unit();
            let ideal = multiplier * exact / (lattice.scale() * f64::from(MAX_FEATURE));
            assert!((1.0..1.1).contains(&(scale / ideal)), "{multiplier}");
        }
        assert!(
            GradientPlan::new(&schema, contribution, lattice, 1e9)
                .unwrap()
                .shift
                > 0
        );
    }
}
