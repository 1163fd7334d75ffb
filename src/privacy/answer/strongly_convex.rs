use crate::error::Result;
use crate::privacy::fine_gradient::FineGradient;
use crate::privacy::minimiser::{Start, minimise};
use crate::privacy::records::{Records, Watch};
use crate::question::StronglyConvex;

impl StronglyConvex {
    /// A point within e of the minimiser with the linear term `tilt`, from `start` on.
    pub(super) fn minimise(
        &self,
        records: &dyn Records,
        tilt: &[f64],
        tilt_bound: f64,
        start: &mut Start,
        watch: Watch<'_>,
    ) -> Result<()> {
        let load = records.n_records() as f64 / self.n_samples();
        let objective = self.objective(tilt_bound, Some(load));
        let mut gradient = FineGradient::new(records, &self.model);
        minimise(&objective, &mut gradient, tilt, start, watch)
    }
}
