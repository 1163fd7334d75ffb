"""One private mechanism put through everything that an estimator promises with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from dpsparse._core import Certificate, DpsparseError, InvalidArgumentError
from dpsparse._validation import is_whole, positive_integer
from dpsparse.estimators import PrivateSparseClassifier, PrivateSparsePoissonRegressor, PrivateSparseRegressor
from dpsparse.estimators._bounds import bound_arrays
from dpsparse.privacy import Accountant
from dpsparse.testing._audit import audit, released

__all__ = ["check_mechanism"]

Data = tuple[npt.NDArray[np.float64], npt.NDArray[Any]]

_SAMPLES = 40
_CONFIDENCE = 1 - 1e-6
_UNSEEDED = 32  # fits of which two should differ
_MOST_UNSEEDED = 512  # of which two must
_ALPHA = 0.05  # for mechanisms that need a penalty and were given none
_BAD: dict[str, list[Any]] = {
    "epsilon": [0.0, -1.0, np.nan, np.inf, "1"],
    "delta": [0.0, 1.0, -1e-6, np.nan],
    "bounds": [(1.0, -1.0), (np.nan, 1.0), (0.0, np.inf)],
}


def check_mechanism(
    mechanism: Any,
    *,
    estimators: Any = (PrivateSparseClassifier, PrivateSparseRegressor),
    n_features: int = 2,
    n_runs: int = 1000,
    random_state: int = 0,
    **parameters: Any,
) -> None:
    """Check that a mechanism keeps what a private estimator promises with it.

    - The plan, made before any data, and the certificate of the fit hold the same events, claim and iterations; the
      certificate verifies, survives JSON, and its epsilon is what the accountant says of its events.
    - Seeded fits reproduce bit for bit and are marked as not secure; unseeded ones are secure and differ.
    - Bad budgets and bounds raise a :class:`dpsparse.DpsparseError` before any budget is spent.
    - Dense (C and Fortran order), CSR and CSC records give the same model for one seed.
    - Extreme records (at and far outside the bounds, all zero, constant features) give finite models.
    - :func:`audit` on the worst neighbours stays below the epsilon of the certificate.

    Parameters
    ----------
    mechanism : str or mechanism object
        As the estimators take it.
    estimators : estimator class or sequence of them, default both private ones
        Which estimators to run it in.
    n_features : int, default 2
        Number of features.
    n_runs : int, default 1000
        Runs of the audit on each data set. The audit is a safety net for gross mistakes. At epsilon = 1 it sees noise
        too small by a factor of about 6 (3 with ``loss="hinge"``); with 10 000 runs, 4 (and 2).
    random_state : int, default 0
        Seeds everything except the unseeded fits.
    **parameters
        Further parameters of the estimators. ``alpha`` is set where the mechanism needs one; ``classes``, and bounds
        that are not stated, to (-1, 1).

    Raises
    ------
    AssertionError
        With the promise that is broken. A false alarm has probability below 1e-6 for each audit, and for the unseeded
        fits that of 512 equal models.
    DpsparseError
        If the parameters do not fit the mechanism.

    Notes
    -----
    Fits use the threads of this process; that the model does not depend on their number is checked by comparing
    processes with different ``RAYON_NUM_THREADS``.

    Examples
    --------
    >>> from dpsparse import FrankWolfe
    >>> from dpsparse.testing import check_mechanism
    >>> check_mechanism(FrankWolfe(n_iter=2), estimators=PrivateSparseClassifier, n_runs=20)
    """
    positive_integer("n_features", n_features)
    positive_integer("n_runs", n_runs)
    if not is_whole(random_state) or random_state < 0:
        raise InvalidArgumentError("random_state must be an integer that is not negative")
    kinds = [estimators] if isinstance(estimators, type) or not np.iterable(estimators) else list(estimators)
    if not kinds or not all(isinstance(kind, type) and hasattr(kind, "plan") for kind in kinds):
        raise InvalidArgumentError("estimators must be a class of private estimators, or a sequence of one or more")
    for kind in kinds:
        subject = _Subject(kind, mechanism, n_features, random_state, parameters)
        _check_certificate(subject)
        _check_randomness(subject)
        _check_bad_arguments(subject)
        _check_storage(subject)
        _check_extremes(subject)
        _check_neighbours(subject, n_runs)


class _Subject:
    """An estimator with its mechanism, and data that fit it."""

    def __init__(self, kind: Any, mechanism: Any, n_features: int, random_state: int, parameters: dict[str, Any]):
        self.random_state = random_state
        self.estimator = kind(**(parameters | {"mechanism": mechanism, "random_state": random_state}))
        targets = (0.0, 1.0) if isinstance(self.estimator, PrivateSparsePoissonRegressor) else (-1.0, 1.0)
        defaults = {"bounds": (-1.0, 1.0), "y_bounds": targets}
        unstated = {name: pair for name, pair in defaults.items() if getattr(self.estimator, name, "") is None}
        self.estimator.set_params(**unstated)
        if is_classifier(self.estimator) and self.estimator.classes is None:
            self.estimator.set_params(classes=(-1, 1))
        if "alpha" not in parameters:
            try:
                self.estimator.plan(_SAMPLES, n_features)
            except InvalidArgumentError:
                self.estimator.set_params(alpha=_ALPHA).plan(_SAMPLES, n_features)
        lower, upper = bound_arrays(self.estimator.bounds)
        self.lower, self.upper = np.broadcast_to(lower, n_features), np.broadcast_to(upper, n_features)
        self.targets = self.estimator.classes if is_classifier(self.estimator) else self.estimator.y_bounds

    def model(self, **changes: Any) -> Any:
        return clone(self.estimator).set_params(**changes)

    def random_records(self) -> Data:
        """Within and a little outside of the bounds, a third of the entries zero."""
        rng = np.random.default_rng(self.random_state)
        shape = _SAMPLES, len(self.lower)
        inside = rng.uniform(-0.1, 1.1, shape)
        X = np.where(rng.uniform(size=shape) < 1 / 3, 0.0, self.lower + (self.upper - self.lower) * inside)
        return X, self.alternating_targets(_SAMPLES)

    def alternating_targets(self, n: int) -> npt.NDArray[Any]:
        return np.asarray(self.targets)[np.arange(n) % 2]


def _require(holds: Any, subject: _Subject, promise: str) -> None:
    if not holds:
        raise AssertionError(f"{type(subject.estimator).__name__} with {subject.estimator.mechanism!r}: {promise}")


def _bits(model: Any) -> bytes:
    return bytes(released(model).tobytes())


def _check_certificate(subject: _Subject) -> None:
    X, y = subject.random_records()
    model = subject.model(random_state=None)  # seeded runs never verify
    plan = model.plan(*X.shape)
    certificate = model.fit(X, y).certificate_

    _require(certificate.events == plan.events, subject, "the fit spends other events than the plan says")
    _require(certificate.claim == (plan.epsilon, plan.delta), subject, "the certificate claims other than the plan")
    _require(plan.epsilon == model.epsilon, subject, "the plan has another epsilon than was asked for")
    _require(model.delta in (None, plan.delta), subject, "the plan has another delta than was asked for")
    _require(certificate.mechanism == plan.mechanism, subject, "the certificate names another mechanism than the plan")
    _require(model.n_iter_ == plan.n_iter, subject, "the fit made other iterations than the plan says")
    _require(certificate.certified == plan.certified, subject, "certificate and plan differ on being certified")
    if not plan.certified:
        _require(np.isinf(certificate.epsilon(plan.delta)), subject, "an uncertified fit states a finite epsilon")
        _require(not certificate.verify(), subject, "an uncertified certificate verifies")
        return

    epsilon, delta = certificate.claim
    accountant = Accountant()
    for event, count in certificate.events:
        accountant.add(event, count)
    _require(certificate.verify(), subject, "the certificate does not verify")
    _require(certificate.epsilon(delta) <= epsilon, subject, "the events cost more epsilon than is claimed")
    _require(certificate.delta(epsilon) <= delta, subject, "the events cost more delta than is claimed")
    _require(
        certificate.epsilon(delta) == accountant.epsilon(delta), subject, "the certificate is not what its events cost"
    )
    text = certificate.to_json()
    again = Certificate.from_json(text)
    _require(again == certificate and again.verify(), subject, "the certificate does not survive JSON")
    _require(again.epsilon(delta) == certificate.epsilon(delta), subject, "JSON changes the epsilon")
    tampered = json.dumps(json.loads(text) | {"claimed_epsilon": certificate.epsilon(delta) / 2})
    _require(not Certificate.from_json(tampered).verify(), subject, "a certificate with a smaller claim verifies")


def _check_randomness(subject: _Subject) -> None:
    X, y = subject.random_records()
    seeded = [subject.model().fit(X, y) for _ in range(2)]
    _require(_bits(seeded[0]) == _bits(seeded[1]), subject, "one seed gives two models")
    _require(not seeded[0].certificate_.secure, subject, "a seeded fit is marked as secure")
    _require(not seeded[0].certificate_.verify(), subject, "the certificate of a seeded fit verifies")
    # Few records: the noise decides, so that models differ.
    fits = (subject.model(random_state=None).fit(X[:2], y[:2]) for _ in range(_MOST_UNSEEDED))
    free = list(islice(fits, _UNSEEDED))
    _require(all(model.certificate_.secure for model in free), subject, "an unseeded fit is not marked as secure")
    differ = any(_bits(model) != _bits(free[0]) for model in chain(free, fits))
    _require(differ, subject, "unseeded fits are all the same")


def _check_bad_arguments(subject: _Subject) -> None:
    X, y = subject.random_records()
    for name, values in _BAD.items():
        for value in values:
            model = subject.model(**{name: value})
            for action in (lambda model=model: model.plan(*X.shape), lambda model=model: model.fit(X, y)):
                _require(_refuses(action), subject, f"{name}={value!r} is taken")
            _require(not hasattr(model, "certificate_"), subject, f"{name}={value!r} is refused after the fit")


def _refuses(action: Callable[[], object]) -> bool:
    try:
        action()
    except DpsparseError:
        return True
    return False


def _check_storage(subject: _Subject) -> None:
    X, y = subject.random_records()
    expected = _bits(subject.model().fit(X, y))
    for name, convert in {"Fortran": np.asfortranarray, "CSR": sp.csr_array, "CSC": sp.csc_array}.items():
        _require(_bits(subject.model().fit(convert(X), y)) == expected, subject, f"{name} records give another model")


def _check_extremes(subject: _Subject) -> None:
    lower, upper = subject.lower, subject.upper
    y = subject.alternating_targets(_SAMPLES)
    rows = {
        "lower bound": lower,
        "upper bound": upper,
        "zero": np.zeros_like(lower),
        "far below": np.full_like(lower, -1e300),
        "far above": np.full_like(lower, 1e300),
    }
    constant = np.array(upper)
    constant[0] = lower[0]
    for name, row in rows.items():
        X = np.tile(row, (_SAMPLES, 1))
        _require_finite(subject, subject.model().fit(X, y), X, f"records at: {name}")
    X = np.where(np.arange(_SAMPLES)[:, None] % 2, lower, upper)
    _require_finite(subject, subject.model().fit(X, y), X, "records at both bounds")
    model = subject.model(bounds=(lower, constant)).fit(X, y)
    _require_finite(subject, model, X, "a constant feature")
    _require(np.ravel(model.coef_)[0] == 0, subject, "a constant feature has a coefficient")


def _require_finite(subject: _Subject, model: Any, X: npt.NDArray[np.float64], case: str) -> None:
    _require(np.isfinite(released(model)).all(), subject, f"coefficients are not finite with {case}")
    answers = model.decision_function if is_classifier(model) else model.predict
    with np.errstate(over="ignore"):  # records far outside the bounds
        _require(not np.isnan(answers(X)).any(), subject, f"predictions are not numbers with {case}")


def _check_neighbours(subject: _Subject, n_runs: int) -> None:
    for name, D, D_prime in _worst_neighbours(subject):
        certificate = subject.model().fit(*D).certificate_
        if not certificate.certified:
            return
        epsilon, delta = certificate.claim
        claimed = min(epsilon, certificate.epsilon(delta))
        shown = audit(subject.estimator, D, D_prime, n_runs, delta, _CONFIDENCE, random_state=subject.random_state)
        _require(shown <= claimed, subject, f"{name}: epsilon is at least {shown:.3g}, {claimed:.3g} is claimed")


def _worst_neighbours(subject: _Subject) -> Iterator[tuple[str, Data, Data]]:
    """All-zero data against one extreme person, and a person at a corner of the box who turns round.

    The extreme records lie far outside the bounds: clipping is a part of the mechanism. Few others are there, so that
    the person decides and few runs show it.
    """
    m = subject.estimator.records_per_person
    low, high = subject.targets[0], subject.targets[-1]
    far = subject.upper + 1e3 * (subject.upper - subject.lower)
    for name, row, before, after in (
        ("all zeros, one extreme", np.zeros_like(far), high, high),
        ("one turns round", far, high, low),
    ):
        X, y = np.tile(row, (2 * m, 1)), np.full(2 * m, before)
        other_X, other_y = X.copy(), y.copy()
        other_X[m:], other_y[m:] = far, after
        if subject.estimator.adjacency == "add-remove":
            yield name, (other_X, other_y), (X[:m], y[:m])
        else:
            yield name, (X, y), (other_X, other_y)
