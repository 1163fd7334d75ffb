use super::Progress;
use crate::error::Result;
use crate::privacy::fine_gradient::FineGradient;
use crate::privacy::records::{Records, Watch};
use crate::prox::Scratch;
use crate::question::{Descent, DescentOptions};

impl Descent {
    pub(super) fn last_iterate(
        &self,
        records: &dyn Records,
        watch: Watch<'_>,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        let DescentOptions {
            ridge,
            penalty,
            n_iter,
            step,
        } = &self.options;
        let columns = records.n_columns();
        let mut gradient = FineGradient::new(records, &self.model);
        let entries = columns * self.model.outputs();
        let (mut theta, mut slope) = (vec![0.0; entries], vec![0.0; entries]);
        let mut scratch = Scratch::default();
        for t in 0..*n_iter {
            progress.set((t, *n_iter));
            gradient.evaluate(&theta, &mut slope, watch)?;
            for (theta, slope) in theta.iter_mut().zip(&slope) {
                *theta -= step * (slope + ridge * *theta);
            }
            if let Some((norm, alpha)) = penalty {
                let p = norm.n_features();
                for theta in theta.chunks_mut(columns) {
                    let moved = theta[..p].to_vec();
                    norm.proved_prox(&moved, step * alpha, &mut theta[..p], &mut scratch)?;
                }
            }
        }
        Ok(theta)
    }
}
