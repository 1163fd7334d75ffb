//! What leaves: coefficients in the user's units and the certificate of what they cost.

use std::path::Path;

use crate::certificate::Certificate;
use crate::error::Result;
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
