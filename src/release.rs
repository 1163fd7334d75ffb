//! What leaves: coefficients in the user's units and the certificate of what they cost.

use std::path::Path;

use ndarray::{Array2, ArrayBase, Data, Ix2};

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::plan::{FeatureRanges, Plan, Trace};
use crate::privacy::{Bounds, Curator, Ledger, Report, release_resumably};

/// A private model in the user's units, with its certificate.
#[derive(Debug, Clone)]
pub struct Release {
    /// One coefficient per feature, in the user's units; of a softmax model those of class 0, then of class 1, ...
    pub coefficients: Vec<f64>,
    /// Intercept in the user's units, one a class of a softmax model.
    pub intercepts: Vec<f64>,
    /// Released ranges in the user's units, one per feature; None where none were released.
    pub feature_ranges: Option<FeatureRanges<Bounds>>,
    /// What steps released on their way, its images in the user's units.
    pub trace: Option<Box<Trace>>,
    /// Iterations made (public: fixed by the plan).
    pub n_iter: usize,
    /// What the release cost.
    pub certificate: Certificate,
}

impl Release {
    /// The scores <x, theta> + b, of shape (n_samples, n_outputs). Features are clipped first where the fit clipped
    /// them to released ranges.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for another number of columns than the fit had.
    pub fn scores<T, S>(&self, x: &ArrayBase<S, Ix2>) -> Result<Array2<f64>>
    where
        T: Copy + Into<f64>,
        S: Data<Elem = T>,
    {
        let outputs = self.intercepts.len();
        let p = self.coefficients.len() / outputs;
        if x.ncols() != p {
            let problem = format!(
                "X has {} columns, but the model was fitted on {p}",
                x.ncols()
            );
            return Err(Error::InvalidData(problem));
        }
        let ranges = self.feature_ranges.as_ref().filter(|ranges| ranges.clips);
        let mut scores = Array2::zeros((x.nrows(), outputs));
        for (row, mut scores) in x.rows().into_iter().zip(scores.rows_mut()) {
            scores.assign(&ndarray::aview1(&self.intercepts));
            for (j, &value) in row.iter().enumerate() {
                let mut value: f64 = value.into();
                if let Some(ranges) = ranges {
                    let (low, high) = ranges.of.of(j);
                    value = value.clamp(low, high);
                }
                for (k, score) in scores.iter_mut().enumerate() {
                    *score += value * self.coefficients[k * p + j];
                }
            }
        }
        Ok(scores)
    }

    /// Indices of the features with a coefficient that is not 0, increasing.
    pub fn support(&self) -> Vec<usize> {
        let p = self.coefficients.len() / self.intercepts.len();
        let used = |&j: &usize| self.coefficients[j..].iter().step_by(p).any(|&c| c != 0.0);
        (0..p).filter(used).collect()
    }
}

/// Runs a plan on the records of a curator. `progress(done, total)` may stop the run.
///
/// # Errors
/// As [`crate::privacy::release`].
pub fn run(
    plan: &Plan,
    curator: &Curator<'_>,
    ledger: &mut dyn Ledger,
    source: Source,
    progress: Report<'_>,
) -> Result<Release> {
    run_resumably(plan, curator, ledger, source, progress, None)
}

/// The same, with a file that a run which was stopped goes on from.
///
/// # Errors
/// As [`release_resumably`].
pub fn run_resumably(
    plan: &Plan,
    curator: &Curator<'_>,
    ledger: &mut dyn Ledger,
    source: Source,
    progress: Report<'_>,
    checkpoint: Option<&Path>,
) -> Result<Release> {
    let released = release_resumably(plan.sealed(), curator, ledger, source, progress, checkpoint)?;
    let schema = plan.problem.schema();
    let (mut coefficients, mut intercepts) = (Vec::new(), Vec::new());
    for scaled in released.value.scaled.chunks(schema.n_columns()) {
        let (own, intercept) = schema.to_user_units(scaled);
        coefficients.extend(own);
        intercepts.push(intercept);
    }
    let ranges = released.value.feature_ranges;
    let in_user_units = |image: Vec<f64>| {
        let (mut own, intercept) = schema.to_user_units(&image);
        own.push(intercept);
        own
    };
    let trace = (released.value.trace).map(|trace| trace.moved(in_user_units));
    Ok(Release {
        trace,
        coefficients,
        intercepts,
        feature_ranges: ranges.map(|ranges| ranges.map(|of| schema.ranges_to_user_units(&of))),
        n_iter: plan.summary.n_iter,
        certificate: released.certificate,
    })
}
