"""Lower bounds on the privacy loss of a release, from repeated runs on two neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import beta
from sklearn.base import clone

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import number, positive_integer, random_generator

__all__ = ["audit"]

Floats: TypeAlias = npt.NDArray[np.float64]

_EVENTS = 8  # tested on the second half; each one costs confidence
_THRESHOLDS = 256  # tried per score on the first half


def audit(
    release: Any,
    D: Any,
    D_prime: Any,
    n_runs: int,
    delta: float,
    confidence: float = 0.999,
    *,
    random_state: int = 0,
    statistic: Callable[[Any], npt.ArrayLike] | None = None,
) -> float:
    """Bound from below the epsilon of a release, by running it many times on two neighbouring data sets.

    A release that claims less than the bound is not private as claimed (up to ``1 - confidence``). A bound below the
    claim proves nothing: other neighbours, other outcomes or more runs may show more.

    Parameters
    ----------
    release : callable or estimator
        ``release(data_set, seed)`` returns a number, an array, a fitted linear model (its coefficients and intercept
        are taken) or any hashable object. An estimator with ``random_state`` is cloned, seeded and fitted in each run.
    D, D_prime : object
        The two neighbours, handed to `release`; pairs ``(X, y)`` for an estimator.
    n_runs : int
        Runs on each of the two, at least 4.
    delta : float
        The delta of the claim, in [0, 1).
    confidence : float, default 0.999
        Probability, over the runs, that the bound holds.
    random_state : int, default 0
        Seeds the seeds of the runs: the same state gives the same bound.
    statistic : callable, optional
        Maps an output to one score or an array of scores, high or low where the two data sets differ. None: the
        coordinates, a linear score between the two means, the distance from their middle, and the likelihood ratio
        of outputs that occur repeatedly.

    Returns
    -------
    float
        A lower bound on epsilon, 0 where nothing was found.

    Raises
    ------
    InvalidArgumentError
        If a parameter is out of its domain or an output is neither numeric nor hashable.

    Notes
    -----
    The seeds are drawn independently and uniformly from [0, 2**32), so the outputs on one data set are independent
    draws of its law; `release` must not carry state from one run to the next.

    The first half of the runs chooses K <= 8 pairs of an event E = {score >= threshold} and an order (P, Q) of the two
    laws. Given these, the counts of E in the second half are binomial. Each of the 2 K probabilities P(E), Q(E) gets a
    one-sided Clopper-Pearson bound at level (1 - confidence) / (2 K), so that with probability at least `confidence`
    every P(E) >= p and every Q(E) <= q. If the release is (epsilon, delta)-DP for these neighbours, then p <= P(E) <=
    exp(epsilon) Q(E) + delta <= exp(epsilon) q + delta: epsilon >= ln((p - delta) / q) for all K at once, hence for
    the largest. This holds for every outcome of the first half, and so on the whole.

    References
    ----------
    Jagielski, Ullman & Oprea (2020), "Auditing differentially private machine learning".

    Examples
    --------
    Randomised response with epsilon = ln 3, claimed to have epsilon = 0.5:

    >>> import math
    >>> import numpy as np
    >>> from dpsparse.testing import audit
    >>> def response(bit, seed):
    ...     return bit if np.random.default_rng(seed).uniform() < 0.75 else 1 - bit
    >>> 0.5 < audit(response, 0, 1, n_runs=4000, delta=0.0) < math.log(3)
    True
    """
    half = positive_integer("n_runs", n_runs) // 2
    if half < 2:
        raise InvalidArgumentError("n_runs must be at least 4")
    delta, confidence = number("delta", delta), number("confidence", confidence)
    if not 0 <= delta < 1:
        raise InvalidArgumentError("delta must be in [0, 1)")
    if not 0 < confidence < 1:
        raise InvalidArgumentError("confidence must be strictly between 0 and 1")

    if not callable(release) and not hasattr(release, "fit"):
        raise InvalidArgumentError(
            f"release must be a function of a data set and a seed, or an estimator; got {type(release).__name__}"
        )
    if statistic is not None and not callable(statistic):
        raise InvalidArgumentError("statistic must be None or a function of an output")
    if hasattr(release, "fit"):
        for name, data in (("D", D), ("D_prime", D_prime)):
            if not isinstance(data, tuple | list) or len(data) not in (1, 2):
                raise InvalidArgumentError(f"{name} must be a pair (X, y), which the estimator is fitted on")
    seeds = random_generator(random_state).integers(2**32, size=(2, n_runs))
    run = _runner(release)
    outputs = [[run(data, int(seed)) for seed in row] for data, row in zip((D, D_prime), seeds, strict=True)]
    scores = _given_scores(outputs, statistic) if statistic is not None else _default_scores(outputs, half)

    level = (1 - confidence) / (2 * _EVENTS)
    events = _choose(scores[:, :, :half], delta, level)
    held_out = scores[:, :, half:]
    bounds = []
    for event in events:
        counts = (held_out[event.score] >= event.threshold).sum(axis=1)
        hits, misses = counts[event.likely], counts[1 - event.likely]
        bounds.append(float(_bound(hits, misses, held_out.shape[2], delta, level)))
    return max(0.0, *bounds)


# --- runs ---


def _runner(release: Any) -> Callable[[Any, int], Any]:
    if not hasattr(release, "fit"):
        return lambda data, seed: released(release(data, seed))
    return lambda data, seed: released(clone(release).set_params(random_state=seed).fit(*data))


def released(output: Any) -> Any:
    """Coefficients, intercept and, where there are any, ranges of a linear model; other outputs as they are."""
    if not hasattr(output, "coef_"):
        return output
    ranges = getattr(output, "feature_ranges_", None)
    parts = [output.coef_, output.intercept_, *([] if ranges is None else [ranges])]
    return np.concatenate([np.ravel(part) for part in parts])


# --- scores: an array (score, data set, run), computed run by run from the run and the first half alone ---


def _given_scores(outputs: Sequence[Sequence[Any]], statistic: Callable[[Any], npt.ArrayLike]) -> Floats:
    values = _vectors([[np.ravel(statistic(output)) for output in group] for group in outputs])
    if values is None:
        raise InvalidArgumentError("statistic must return a number, or an array of as many numbers for each output")
    return _both_signs(np.moveaxis(values, 2, 0))


def _default_scores(outputs: Sequence[Sequence[Any]], half: int) -> Floats:
    scores = [_likelihood_ratio([[_key(output) for output in group] for group in outputs], half)]
    vectors = _vectors(outputs)
    if vectors is not None:
        scores += [np.moveaxis(vectors, 2, 0), _directions(vectors, half)]
    return _both_signs(np.concatenate(scores))


def _both_signs(scores: Floats) -> Floats:
    """Scores and their negatives; NaN counts as the lowest."""
    both = np.concatenate([scores, -scores])
    return np.where(np.isnan(both), -np.inf, both)


def _likelihood_ratio(keys: Sequence[Sequence[Hashable]], half: int) -> Floats:
    """ln of the ratio of the frequencies in the first half, 0 for outputs that it does not hold."""
    try:
        counts = [Counter(group[:half]) for group in keys]
    except TypeError as error:
        raise InvalidArgumentError("release must return numbers, arrays, linear models or hashable objects") from error
    ratio = {key: np.log((counts[0][key] + 0.5) / (counts[1][key] + 0.5)) for key in counts[0] | counts[1]}
    return np.array([[[ratio.get(key, 0.0) for key in group] for group in keys]])


def _directions(vectors: Floats, half: int) -> Floats:
    """Score along the difference of the means, in units of the variance, and squared distance from their middle."""
    with np.errstate(all="ignore"):  # outputs may be infinite
        first = vectors[:, :half]
        means = first.mean(axis=1)
        variance = first.var(axis=1).mean(axis=0)
        scale = np.where(variance > 0, variance, 1.0)
        along = (vectors / scale) @ (means[0] - means[1])
        distance = ((vectors - means.mean(axis=0)) ** 2 / scale).sum(axis=2)
    return np.stack([along, distance])


def _vectors(outputs: Sequence[Sequence[Any]]) -> Floats | None:
    """Outputs as an array (data set, run, coordinate), None where they are not numbers of one shape."""
    try:
        array = np.asarray(outputs)
    except ValueError:
        return None
    if array.dtype.kind not in "biuf" or array.size == 0:
        return None
    return array.reshape(*array.shape[:2], -1).astype(np.float64)


def _key(output: Any) -> Hashable:
    """The bits of an array, or the object itself."""
    if not isinstance(output, np.ndarray | list):
        return output  # type: ignore[no-any-return]
    try:
        array = np.asarray(output)
    except ValueError:  # lists of several lengths
        return repr(output)
    return tuple(array.ravel().tolist()) if array.dtype.hasobject else (array.shape, array.dtype.str, array.tobytes())


# --- events and their bounds ---


@dataclass(frozen=True)
class _Event:
    """{score >= threshold}, held to be more likely under data set `likely` (0 or 1) than under the other."""

    score: int
    threshold: float
    likely: int


def _choose(scores: Floats, delta: float, level: float) -> list[_Event]:
    """The events with the largest bounds by these runs, one for each score and order of the data sets at most."""
    n = scores.shape[2]
    ranks = 1 / (1 + np.exp(np.linspace(-np.log(2 * n), np.log(2 * n), _THRESHOLDS)))
    ranked = []
    for index, score in enumerate(scores):
        ordered = np.sort(score, axis=1)
        # Quantiles, closer together towards both ends.
        pooled = np.sort(score, axis=None)
        thresholds = np.unique(pooled[np.floor(ranks * 2 * n).astype(int)])
        counts = [n - np.searchsorted(row, thresholds, side="left") for row in ordered]
        for likely in (0, 1):
            bounds = _bound(counts[likely], counts[1 - likely], n, delta, level)
            best = int(np.argmax(bounds))
            ranked.append((float(bounds[best]), _Event(index, float(thresholds[best]), likely)))
    ranked.sort(key=lambda pair: -pair[0])
    return [event for _, event in ranked[:_EVENTS]]


def _bound(hits: Any, misses: Any, n: int, delta: float, level: float) -> Any:
    """ln((p - delta) / q), p below P(E) from `hits` of n and q above Q(E) from `misses` of n, each wrong by `level`."""
    p, q = clopper_pearson(hits, n, level)[0], clopper_pearson(misses, n, level)[1]
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(p - delta, 0.0) / q)


def clopper_pearson(count: Any, n: int, level: float) -> tuple[Any, Any]:
    """Lower and upper bound on the probability of an event seen `count` times of n, each one-sided at `level`."""
    lower = np.where(count > 0, beta.ppf(level, np.maximum(count, 1), n - count + 1), 0.0)
    upper = np.where(count < n, beta.isf(level, count + 1, np.maximum(n - count, 1)), 1.0)
    return lower, upper
