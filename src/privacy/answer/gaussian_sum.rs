use crate::error::Result;
use crate::exact::noise::integer_law;
use crate::exact::noise::source::Source;
use crate::question::GaussianSum;

impl GaussianSum {
    /// The sums in the units of the release.
    pub(in crate::privacy) fn floored(&self, mut sums: Vec<i64>) -> Vec<i64> {
        (sums.iter_mut()).for_each(|entry| *entry >>= self.shift);
        sums
    }

    /// Floored sums with their noise, of `factor` times the standard deviation.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness).
    pub(in crate::privacy) fn add(
        &self,
        floored: &[i64],
        factor: f64,
        source: &mut Source,
    ) -> Result<Vec<i64>> {
        integer_law::add(&self.noise(factor)?, source, floored)
    }
}
