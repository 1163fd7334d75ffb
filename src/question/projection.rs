//! Public scores of a record as its only features.

use crate::error::{Error, Result, positive};

/// x -> clamp(<theta_k, x>/reach, -1, 1) for every score k, in scaled units, the intercept included in theta_k; and y
/// -> clamp(zoom y, -1, 1). What lies beyond a public size of features may have coefficients of its own.
///
/// All of them are public: fixed beforehand, or released. Then the image of a record depends on the record alone, in
/// every storage: neighbouring records stay neighbouring.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "ProjectionData")]
pub struct Projection {
    theta: Vec<f64>,
    reach: f64,
    zoom: f64,
    beyond: Option<Beyond>,
}

/// Coefficients of what features are beyond [-near, near], in place of theta.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Beyond {
    pub near: f64,
    pub theta: Vec<f64>,
}

/// A projection as data, field for field: read data are what was written, or no projection.
#[derive(serde::Deserialize)]
struct ProjectionData {
    theta: Vec<f64>,
    reach: f64,
    zoom: f64,
    beyond: Option<Beyond>,
}

impl TryFrom<ProjectionData> for Projection {
    type Error = Error;

    fn try_from(data: ProjectionData) -> Result<Self> {
        let projection = Self::new(data.theta, data.reach)?.with_zoom(data.zoom)?;
        match data.beyond {
            Some(beyond) => projection.with_beyond(beyond.near, beyond.theta),
            None => Ok(projection),
        }
    }
}

impl Projection {
    /// # Errors
    /// [`Error::InvalidArgument`] for coefficients that are not finite, or a reach that is not positive and finite.
    pub fn new(theta: Vec<f64>, reach: f64) -> Result<Self> {
        if !(reach.is_finite() && reach > 0.0 && theta.iter().all(|theta| theta.is_finite())) {
            let problem = "needs finite coefficients, and a positive and finite reach";
            return Err(Error::invalid("projection", problem));
        }
        Ok(Self {
            theta,
            reach,
            zoom: 1.0,
            beyond: None,
        })
    }

    /// The same with other coefficients for what features are beyond [-near, near], in scaled units: zeros where they
    /// are clipped there. Those of the intercept have no meaning.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a size that is not positive and finite, and for coefficients that are not finite,
    /// nor as far as they differ, or another number of them.
    pub fn with_beyond(self, near: f64, theta: Vec<f64>) -> Result<Self> {
        let near = positive("near", near)?;
        let finite =
            (theta.iter().zip(&self.theta)).all(|(beyond, theta)| (beyond - theta).is_finite());
        if theta.len() != self.theta.len() || !finite {
            let problem = "needs as many finite coefficients beyond as before";
            return Err(Error::invalid("projection", problem));
        }
        Ok(Self {
            beyond: Some(Beyond { near, theta }),
            ..self
        })
    }

    /// The same, with targets so many times as large: of regressions alone.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a number that is not positive and finite.
    pub fn with_zoom(self, zoom: f64) -> Result<Self> {
        Ok(Self {
            zoom: positive("zoom", zoom)?,
            ..self
        })
    }

    /// For each score one coefficient a column of the records, the intercept last.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The score, any of them, whose image is 1.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// What lies beyond a size, where that has coefficients of its own.
    pub(crate) fn beyond(&self) -> Option<&Beyond> {
        self.beyond.as_ref()
    }

    /// What targets are multiplied by.
    pub fn zoom(&self) -> f64 {
        self.zoom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_that_are_read_are_checked() {
        let projection = Projection::new(vec![0.5, -1.0], 2.0).unwrap();
        let projection = projection.with_zoom(4.0).unwrap();
        let projection = projection.with_beyond(0.25, vec![0.0, 1.0]).unwrap();
        let text = serde_json::to_string(&projection).unwrap();
        assert_eq!(
            serde_json::from_str::<Projection>(&text).unwrap(),
            projection
        );
        for (from, to) in [
            ("\"reach\":2.0", "\"reach\":0.0"),
            ("\"reach\":2.0", "\"reach\":-2.0"),
            ("\"zoom\":4.0", "\"zoom\":-4.0"),
            ("\"near\":0.25", "\"near\":-0.25"),
            ("[0.0,1.0]", "[0.0]"),
        ] {
            assert!(text.contains(from), "{text}");
            let read = serde_json::from_str::<Projection>(&text.replace(from, to));
            assert!(read.is_err(), "{to}");
        }
    }
}
