//! What rounding does to the slopes of a softmax model at coefficients that depend on records.

use super::model::RoomModel;

/// Euclidean norm of the error of one record's slopes in a fine gradient of K >= 2 scores, for a softmax model of
/// smoothness beta, rows of Euclidean norm at most `rows`, p columns a score and coefficients of Euclidean norm at most
/// `size`, all rows of them together. K is at most 2^10.
///
/// With P = softmax(z), z the exact scores, s = P - e_y and c the coefficients of one score:
///
/// 1. *Scores*, row by row as for one score: coefficients are rounded to multiples of 2^-56, which moves z_k by at most
///    rows sqrt(p) 2^-57; margins of their parts are exact; no more than seven of them are converted and added in
///    floats, which errs by at most 2^-50 of the largest partial sum, at most |z_k| <= rows |c_k| and the parts that
///    are not there yet, rows sqrt(p) |c_k| 2^-12. In Euclidean norm over the scores: |dz| <= rows sqrt(p) (sqrt(K)
///    2^-57 + size 2^-62) + 2^-50 rows size. The second derivative diag(P) - PP' is at most beta in every direction, so
///    slopes move by at most beta |dz|. (Of one score |z l''(z)| is bounded. Here z may be long where slopes turn fast,
///    as between two classes of like scores: the part 2^-50 rows size stays.)
/// 2. *Weights* at the float scores: w_k = exp(z_k - max z), m = max z exact. The difference errs by 2^-53 |z_k - m|,
///    at most 700 * 2^-53 where it is above -700, and the exponential by a relative 2^-47
///    ([`exponential`](crate::loss)): w_k errs by a relative 764 * 2^-53 * (1 + 2^-40) <= 2^-43. Below -700 both the
///    weight and its float are under 2^-1000.
/// 3. *Their sum*, of K positive terms the largest of which is 1, errs by a relative (K - 1) 2^-53 (1 + 2^-40) beside,
///    and the sum without the own class, of the same terms, as much. Its reciprocal, and products with it, err by
///    2^-53 each. No clamp looks at their length: with one there is no fine gradient.
/// 4. So the slope of another class, P_k, and of the own, -(1 - P_y) = -(sum of the others), err by a relative
///    2^-42 + (4 K + 20) 2^-53 (1 + 2^-30), which is at most 2^-41 + K 2^-50: in Euclidean norm by at most that times
///    |s| <= sqrt(2), and by 2^-990 where weights vanish.
/// 5. *Rounding* each slope to a multiple of 2^-41 L, L = 1 + 1e-15 the bound on one of them, errs by 2^-42 L, by 2^-53
///    L in the product, and by half an ulp in a share: less than 2^-41 L a slope together with all of 2^-990, sqrt(K)
///    times that in Euclidean norm. The clamp at L moves no slope away from its exact value, which is within it.
///
/// An error ds of a record's slopes moves its gradient, ds x', by |ds| |x| in Euclidean norm, and the mean by no more.
pub(super) fn slope_error(
    model: &RoomModel,
    smoothness: f64,
    rows: f64,
    p: usize,
    size: f64,
) -> f64 {
    let classes = model.outputs() as f64;
    let parts = (p as f64).sqrt() * (classes.sqrt() * 2f64.powi(-57) + size * 2f64.powi(-62));
    let scores = rows * (parts + 2f64.powi(-50) * size);
    let relative = 2f64.powi(-41) + classes * 2f64.powi(-50);
    let rounding = classes.sqrt() * model.bound().linf * 2f64.powi(-41);
    smoothness * scores + model.bound().l2 * relative + rounding
}
