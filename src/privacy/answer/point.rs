use super::{Answer, Progress, Room};
use crate::error::Result;
use crate::exact::noise::integer_law::IntegerLaw;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::privacy::minimiser::Start;
use crate::privacy::records::{Records, Watch};
use crate::question::{Algorithm, DrawnTilt, Point, Question, Tilt};

impl Question<Point> {
    /// The point before its noise, and D2, in scaled units; None with a random linear term, which has no D2.
    ///
    /// **Not private.**
    pub(in crate::privacy) fn without_noise(
        &self,
        records: &dyn Records,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        let Some(sensitivity) = self.answer.sensitivity else {
            return Ok(None);
        };
        let point = self
            .answer
            .point(records, source, &mut || Ok(()), &Progress::default())?;
        Ok(Some((point, sensitivity)))
    }
}

impl Point {
    fn point(
        &self,
        records: &dyn Records,
        source: &mut Source,
        watch: Watch<'_>,
        progress: &Progress,
    ) -> Result<Vec<f64>> {
        match &self.algorithm {
            Algorithm::Minimise(minimiser, tilt) => {
                let entries = records.n_columns() * minimiser.model.outputs();
                let (b, bound) = match tilt {
                    Some(tilt) => (
                        tilt.draw(entries, minimiser.n_samples(), source)?,
                        tilt.bound,
                    ),
                    None => (vec![0.0; entries], 0.0),
                };
                #[cfg(test)]
                if tilt.is_some() {
                    crate::exact::tap::see(|| crate::exact::tap::Seen::Tilt(b.clone()));
                }
                // How many passes it takes depends on the records: it reports none.
                let mut start = Start::default();
                minimiser.minimise(records, &b, bound, &mut start, watch)?;
                Ok(start.theta)
            }
            Algorithm::Descend(descent) => descent.last_iterate(records, watch, progress),
            Algorithm::Permute(permuted) => permuted.last_iterate(records, source, watch, progress),
        }
    }
}

impl Tilt {
    /// b/n.
    fn draw(&self, columns: usize, n: f64, source: &mut Source) -> Result<Vec<f64>> {
        Ok(match self.law {
            DrawnTilt::Gaussian { lattice, sigma } => {
                let noise = RoundedGaussian::new(sigma)?;
                let entry = |_| noise.draw(source) as f64 * lattice / n;
                (0..columns).map(entry).collect()
            }
            DrawnTilt::Gamma { size } => {
                let mut tilt = SphericalGamma::new(columns, size)?.draw(source)?;
                tilt.iter_mut().for_each(|entry| *entry /= n);
                tilt
            }
        })
    }
}

impl Answer for Point {
    type At<'a> = ();
    /// The point in scaled units, the intercept last; of several scores one after the other.
    type Released = Vec<f64>;
    type State = ();

    /// A penalty is one on all the features.
    fn takes_fewer_features(&self) -> bool {
        self.algorithm.penalty().is_none()
    }

    fn draw(&self, (): (), room: Room<'_, '_, ()>) -> Result<Vec<f64>> {
        let point = self.point(room.records, room.source, room.watch, room.progress)?;
        self.noise.release(&point, room.source)
    }
}
