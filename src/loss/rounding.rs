/// What rounding does to a derivative that is evaluated in floats, for targets in [-1, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounding {
    /// A bound on |z l''(z; y)|: how far l' moves per unit of a relative error of z.
    pub relative: f64,
    /// At an exact z the error of l' is below 2^-46 of it.
    pub magnitude: f64,
}
