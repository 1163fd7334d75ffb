"""Private Frank-Wolfe from its definition (Talwar, Thakurta & Zhang 2015, Algorithm 2): all of its output law.

Of tiny problems, and written from `theory_of_privacy::records`, `::selection` and `::frank_wolfe`, not from the Rust
code: vertices are enumerated one by one (no cosh weights, no products of signs), quantisation is done in fractions,
integers are Python's or numpy's int64. Nothing here imports dpsparse.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from mpmath import mp, mpf

UNIT = 2**14 - 1  # lattice points per unit of a scaled feature
CLAMP = 2**14  # largest integer derivative
VERTEX_LATTICE = 2**20  # lattice points per largest entry of an explicit vertex


@dataclass(frozen=True)
class Problem:
    """Public facts of one fit. `domain` is l1, simplex, linf, groups or vertices."""

    domain: str
    lower: tuple
    upper: tuple
    radius: float = 1.0
    intercept: bool = True
    loss: str = "logistic"
    parameter: float | None = None
    residual_bound: float | None = None
    y_bounds: tuple | None = None  # None: classes -1 and +1
    adjacency: str = "replace-one"
    records_per_person: int = 1
    groups: tuple | None = None
    vertices: tuple | None = None
    row_norm: float | None = None

    @property
    def n_features(self):
        return len(self.lower)

    @property
    def n_columns(self):
        return self.n_features + self.intercept

    @property
    def centred(self):
        """Mechanisms that use the maximum norm centre features, as long as an intercept takes up the shift."""
        return self.intercept and self.domain != "linf" and self.row_norm is None


# --- records become integers ---


def exact_lattice_value(problem, j, x):
    """The scaled feature times UNIT, as a fraction, before rounding."""
    lo, hi, x = (Fraction(v) for v in (problem.lower[j], problem.upper[j], x))
    if lo == hi:
        return Fraction(0)
    x = min(max(x, lo), hi)
    if problem.centred:
        return (2 * x - lo - hi) / (hi - lo) * UNIT
    return x / max(abs(lo), abs(hi)) * UNIT


def lattice_features(problem, X):
    """Integer records, one row each, the intercept last. Rounding is to the nearest, ties to even."""
    rows = []
    for x in X:
        row = [round(exact_lattice_value(problem, j, value)) for j, value in enumerate(x)]
        if problem.row_norm is not None:
            limit = math.floor(problem.row_norm * UNIT)
            length = math.sqrt(sum(v * v for v in row))
            if length > limit:
                row = [math.trunc(v * (limit / length * (1 - 1e-12))) for v in row]
        rows.append(row + [UNIT] * problem.intercept)
    return np.array(rows, dtype=np.int64).reshape(len(rows), problem.n_columns)


def scaled_targets(problem, y):
    y = np.asarray(y, dtype=np.float64)
    if problem.y_bounds is None:
        return y
    low, high = problem.y_bounds
    half, middle = ((high - low) / 2, (high + low) / 2) if problem.intercept else (max(abs(low), abs(high)), 0.0)
    return np.clip((np.clip(y, low, high) - middle) / half, -1, 1)


# --- losses ---


def derivative(problem, z, y):
    """dl/dz at float arrays z and y."""
    match problem.loss:
        case "logistic":
            return -y / (1 + np.exp(y * z))
        case "hinge":  # slope -y times the fraction of the parabola's width already passed
            width = problem.parameter or 0.5
            return -y * np.clip((1 - y * z) / width, 0, 1)
        case "squared":
            return z - y
        case "huber":
            threshold = problem.parameter or 1.0
            return np.clip(z - y, -threshold, threshold)
        case "absolute":
            return np.clip(z - y, -0.1, 0.1)
    raise ValueError(problem.loss)


def lipschitz(problem):
    match problem.loss:
        case "logistic" | "hinge":
            return 1.0
        case "squared":
            return problem.residual_bound or 2.0
        case "huber":
            return problem.parameter or 1.0
        case "absolute":
            return 0.1
    raise ValueError(problem.loss)


def derivative_lattice(problem):
    """(scale, d_max): the largest power of two with L scale <= CLAMP, and floor(L scale)."""
    bound = Fraction(lipschitz(problem))
    k = 0
    while bound * Fraction(2) ** (k + 1) <= CLAMP:
        k += 1
    while bound * Fraction(2) ** k > CLAMP:
        k -= 1
    scale = Fraction(2) ** k
    return float(scale), math.floor(bound * scale)


def integer_derivatives(problem, z, y):
    scale, d_max = derivative_lattice(problem)
    return np.rint(np.clip(derivative(problem, z, y) * scale, -d_max, d_max)).astype(np.int64)


def integer_gradient(problem, X, y, theta, unit):
    """sum_i d_i x_i at integer coefficients `theta`, margins z_i = <theta, x_i> unit."""
    x = lattice_features(problem, X)
    z = np.array([float(int(v)) * unit for v in x.astype(object) @ np.array([int(t) for t in theta], dtype=object)])
    d = integer_derivatives(problem, z, scaled_targets(problem, y))
    return d @ x


# --- polytopes ---


def vertices(problem):
    """(integer vertices, one row each; length of one integer unit)."""
    columns = np.eye(problem.n_columns, dtype=np.int64)
    last = columns[-1:] if problem.intercept else columns[:0]
    match problem.domain:
        case "l1":
            return np.vstack([columns, -columns]), problem.radius
        case "simplex":
            return np.vstack([columns[: problem.n_features], last, -last]), problem.radius
        case "linf":
            signs = list(product((1, -1), repeat=problem.n_columns))
            return np.array(signs, dtype=np.int64), problem.radius
        case "groups":
            groups = [*problem.groups, *([(problem.n_features,)] if problem.intercept else [])]
            rows = []
            for group in groups:
                for signs in product((1, -1), repeat=len(group)):
                    row = np.zeros(problem.n_columns, dtype=np.int64)
                    row[list(group)] = signs
                    rows.append(row)
            return np.array(rows), problem.radius
        case "vertices":
            unit = max(abs(v) for row in problem.vertices for v in row) / VERTEX_LATTICE
            rounded = [[round(Fraction(v) / Fraction(unit)) for v in row] for row in problem.vertices]
            largest = VERTEX_LATTICE
            rows = [row + [0] * problem.intercept for row in rounded]
            rows = np.array(rows, dtype=np.int64)
            return np.vstack([rows, largest * last, -largest * last]), unit
    raise ValueError(problem.domain)


def score_shift(problem):
    """Scores of explicit vertices are floored to multiples of 2^shift, so that they fit 64 bits."""
    if problem.domain != "vertices":
        return 0
    largest = int(np.abs(vertices(problem)[0]).sum(axis=1).max())
    return max(largest.bit_length() - 3, 0)


# --- sensitivity ---


def ceil_sqrt(x):
    root = math.isqrt(x)
    return root + (root * root < x)


def contributions(problem):
    """How many single contributions d x neighbours differ by."""
    return (2 if problem.adjacency == "replace-one" else 1) * problem.records_per_person


def sensitivity(problem):
    """D in integer score units; for linf the Euclidean bound on the change of the gradient."""
    _, d_max = derivative_lattice(problem)
    row_norm = None if problem.row_norm is None else math.floor(problem.row_norm * UNIT)
    match problem.domain:
        case "l1" | "simplex":
            reach = UNIT
        case "groups":
            size = max(len(group) for group in problem.groups)
            reach = size * UNIT
            if row_norm is not None:
                reach = min(reach, max(ceil_sqrt(size * row_norm**2), UNIT))
        case "linf":
            features = problem.n_features * UNIT**2 if row_norm is None else row_norm**2
            reach = ceil_sqrt(features + problem.intercept * UNIT**2)
        case "vertices":
            reach = UNIT * int(np.abs(vertices(problem)[0]).sum(axis=1).max())
    total = contributions(problem) * d_max * reach
    return -(-total // 2 ** score_shift(problem))  # rounded up


# --- laws ---


def log_softmax(values):
    shifted = values - values.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def selection_law(scores, epsilon0, sensitivity):
    """Log-probabilities of one selection: P(k) proportional to exp(-eta q_k), eta = epsilon0 / (2 D)."""
    return log_softmax(-(epsilon0 / (2 * sensitivity)) * (scores - scores.min(axis=-1, keepdims=True)))


def sequence_law(problem, X, y, n_iter, epsilon0, planted=1.0):
    """Log-probabilities of every sequence of vertices, and the integer iterate u at the end of each.

    `planted` multiplies eta: the mistakes that tests plant on purpose.
    """
    choices, unit = vertices(problem)
    x, targets = lattice_features(problem, X), scaled_targets(problem, y)
    divisor = 2 ** score_shift(problem)
    log_p = np.zeros(1)
    iterates = np.zeros((1, problem.n_columns), dtype=np.int64)
    for t in range(n_iter):
        # theta_t = 2 u_t unit / (t (t + 1)), zero at the start
        step = 2 * unit / (max(t, 1) * (max(t, 1) + 1) * UNIT)
        margins = iterates @ x.T
        d = integer_derivatives(problem, margins * step, targets)
        scores = (d @ x @ choices.T) // divisor
        step_law = selection_law(scores, epsilon0 * planted, sensitivity(problem))
        log_p = (log_p[:, None] + step_law).ravel()
        iterates = (iterates[:, None, :] + (t + 1) * choices[None]).reshape(-1, problem.n_columns)
    return log_p, iterates


def user_models(problem, iterates, n_iter):
    """Coefficients and intercept (last) in the user's units."""
    theta = 2 * vertices(problem)[1] * iterates / (n_iter * (n_iter + 1))
    models = np.zeros((len(theta), problem.n_features + 1))
    if problem.intercept:
        models[:, -1] = theta[:, -1]
    for j, (lo, hi) in enumerate(zip(problem.lower, problem.upper, strict=True)):
        if lo == hi:
            continue
        half, middle = ((hi - lo) / 2, (hi + lo) / 2) if problem.centred else (max(abs(lo), abs(hi)), 0.0)
        models[:, j] = theta[:, j] / half
        models[:, -1] -= theta[:, j] * middle / half
    if problem.y_bounds is not None:
        low, high = problem.y_bounds
        half, middle = ((high - low) / 2, (high + low) / 2) if problem.intercept else (max(abs(low), abs(high)), 0.0)
        models *= half
        models[:, -1] += middle
    return models


def model_law(problem, X, y, n_iter, epsilon0):
    """Probability of every final model, as {rounded model: probability}."""
    log_p, iterates = sequence_law(problem, X, y, n_iter, epsilon0)
    law = {}
    for key, p in zip(model_keys(user_models(problem, iterates, n_iter)), np.exp(log_p), strict=True):
        law[key] = law.get(key, 0.0) + float(p)
    return law


def model_keys(models):
    """Hashable models, equal where they agree to nine digits."""
    return [tuple(float(f"{v + 0.0:.9g}") if abs(v) > 1e-12 else 0.0 for v in row) for row in models]


# --- divergences ---


def hockey_stick(log_p, log_q, epsilon):
    """sum max(P - e^epsilon Q, 0): no cancellation, so that it is right to a relative 1e-12 even near 1e-9."""
    gain = -np.expm1(np.minimum(epsilon + log_q - log_p, 0))
    return math.fsum(np.exp(log_p) * gain)


def exact_hockey_stick(log_p, log_q, epsilon):
    """The same sum with 50 digits."""
    with mp.workdps(50):
        terms = (mp.exp(mpf(a)) - mp.exp(mpf(epsilon) + mpf(b)) for a, b in zip(log_p, log_q, strict=True))
        return mp.fsum(term for term in terms if term > 0)


def renyi(log_p, log_q, order):
    """Renyi divergence of P from Q."""
    terms = order * log_p + (1 - order) * log_q
    largest = terms.max()
    return float((largest + np.log(math.fsum(np.exp(terms - largest)))) / (order - 1))


def selection_range(log_p, log_q, choices):
    """Largest range of the privacy loss of the last selection, over all histories before it."""
    losses = (log_p - log_q).reshape(-1, choices)  # a history adds a constant to its row
    return float(np.ptp(losses, axis=1).max())
