//! Quantiles that several releases ask for.

/// Least quantile at an end that noise allows to be found: of ranges of features (on cod_rna, without noise, .05 gives
/// .950, .1 .948, .15 .939 and .25 .923), and of the distances of targets from their middle.
pub const LEAST_LEVEL: f64 = 0.1;

/// A quarter of the records: how many targets Huber's loss takes for wrong, which is chosen where some are; and the
/// rows that are no longer than the typical one, near which others are shortened: on cod_rna at epsilon 0.1, .1, .25,
/// .5 and .75 give .951, .948, .943 and .933, and at 1 all are within .002; on imdb and news20groups .5 is better than
/// .8 at every epsilon.
pub const QUARTER: f64 = 0.25;
