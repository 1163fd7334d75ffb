use super::Progress;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::numeric::linear::dot;
use crate::privacy::records::{Records, Watch};
use crate::question::{Permuted, PermutedOptions};

impl Permuted {
    /// The last iterate under the permutations of `source`.
    pub(super) fn last_iterate(
        &self,
        records: &dyn Records,
        source: &mut Source,
        watch: Watch<'_>,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        let PermutedOptions {
            ridge,
            passes,
            batch,
            ..
        } = self.options;
        let (loss, lipschitz) = (self.model.reviewed()?, self.model.bound().linf);
        let data = records.whole()?;
        let (n, columns) = (data.n_records(), data.n_columns());
        let mut order: Vec<usize> = (0..n).collect();
        let mut theta = vec![0.0; columns];
        let (mut row, mut slope) = (vec![0.0; columns], vec![0.0; columns]);
        let mut t = 0.0;
        for pass in 0..passes {
            progress.set((pass, passes));
            watch()?;
            // Fisher & Yates, on unbiased integers.
            for last in (1..n).rev() {
                order.swap(last, source.below(last as u128 + 1) as usize);
            }
            for batch_of in order.chunks(batch) {
                t += 1.0;
                if t % 256.0 == 0.0 {
                    watch()?;
                }
                let step = self.step_at(t);
                slope.fill(0.0);
                for &i in batch_of {
                    data.fill_row(i, &mut row);
                    let derivative = loss.derivative(dot(&row, &theta), data.targets[i]);
                    let derivative = derivative.clamp(-lipschitz, lipschitz) * data.share(i);
                    for (slope, x) in slope.iter_mut().zip(&row) {
                        *slope += derivative * x;
                    }
                }
                for (theta, slope) in theta.iter_mut().zip(&slope) {
                    *theta -= step * (slope / batch as f64 + ridge * *theta);
                }
            }
        }
        Ok(theta)
    }
}
