"""scikit-learn's own checks of estimators, on configurations that are not the default ones."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    FrankWolfe,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SelectRefit,
    SgdOutput,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
)


class OfRadius:
    """``check_regressors_train`` sets alpha where there is one and no ``alphas``; beside a radius that is refused."""

    alphas = ()


class RegressorOfRadius(OfRadius, SparseRegressor):
    """An exact fit in a ball."""


class PrivateRegressorOfRadius(OfRadius, PrivateSparseRegressor):
    """A mechanism that takes no penalty."""


class PrivateCountsOfRadius(OfRadius, PrivateSparsePoissonRegressor):
    """The same of counts."""


EXACT = [
    SparseClassifier(loss="hinge", radius=2.0, fit_intercept=False),
    SparseClassifier(loss="squared", norm="linf", alpha=0.01),
    SparseClassifier(loss="huber", norm="linf", radius=1.0),
    SparseClassifier(loss="absolute", alpha=0.01, ridge=0.1, solver="dual-frank-wolfe"),
    SparseClassifier(alpha=0.0, ridge=0.1, fit_intercept=False),
    # Points that differ by less than the default tolerance differ by more than weights and repetitions may.
    SparseClassifier(alpha=0.01, solver="proximal-gradient", warm_start=True, tol=1e-10),
    SparseClassifier(alpha=0.01, tol=1e-12),
    SparseClassifier(norm="l21", alpha=0.01, tol=1e-12, warm_start=True),
    SparseClassifier(norm="l21", radius=2.0, ridge=0.01, fit_intercept=False, tol=1e-12),
    SparseRegressor(loss="huber", norm="linf", alpha=0.01),
    RegressorOfRadius(loss="absolute", radius=5.0, ridge=0.01),
    SparseRegressor(alpha=0.01, solver="coordinate-descent", fit_intercept=False, warm_start=True),
    SparseRegressor(alpha=0.01, ridge=0.1, solver="dual-frank-wolfe", fit_intercept=False),
    RegressorOfRadius(norm="linf", radius=1.0, ridge=0.1, fit_intercept=False),
    SparseRegressor(loss="pinball", alpha=0.01),
    SparseRegressor(alpha=0.01, positive=True, l1_ratio=0.5),
    SparsePoissonRegressor(),
    SparsePoissonRegressor(norm="linf", alpha=0.01, ridge=0.01, tol=1e-13),
]


# Without max_weight private estimators take no weights, and all checks pass. With it these ask for what is not private,
# or not so: noise is that of the number of records, which repetitions change.
OF_WEIGHTS = {
    "check_all_zero_sample_weights_error": "whether all weights are 0 is private: an error would tell",
    "check_sample_weight_equivalence_on_dense_data": "a fit of more records has less noise, and other noise",
    "check_sample_weight_equivalence_on_sparse_data": "a fit of more records has less noise, and other noise",
}


def expected_failures(estimator):
    """Say which checks of weights ask for more than a private fit may give, or a fit without an intercept can."""
    if getattr(estimator, "max_weight", None) is not None:
        return OF_WEIGHTS
    if isinstance(estimator, SparseClassifier) and not estimator.fit_intercept:
        return {"check_class_weight_classifiers": "asks for one label nearly everywhere, which takes an intercept"}
    return {}


@parametrize_with_checks(EXACT, expected_failed_checks=expected_failures)
def test_exact_estimators(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# Bounds wide enough for what the checks feed; n_public is 1 or more, whatever n is, and delta given, under add-remove.
ADD_REMOVE = {"adjacency": "add-remove", "n_public": 30, "delta": 1e-6}

PRIVATE = [
    PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=3), norm="linf", radius=2.0),
    PrivateSparseClassifier(mechanism=NoisyGradientFrankWolfe(n_iter=3), delta=1e-6, loss="huber"),
    PrivateSparseClassifier(mechanism=PenalisedFrankWolfe(n_iter=3), alpha=0.1, scale=None),
    PrivateSparseClassifier(mechanism=ObjectivePerturbation(noise="gamma"), ridge=0.5, fit_intercept=False),
    PrivateSparseClassifier(mechanism=NoisyNewton(n_iter=2), delta=1e-6),
    PrivateSparseClassifier(mechanism=SgdOutput(), delta=1e-6, loss="hinge"),
    PrivateSparseClassifier(mechanism=OutputPerturbation(mode="early-stopping"), delta=1e-6),
    PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=3), loss="squared", **ADD_REMOVE),
    PrivateSparseClassifier(records_per_person=2, bounds=(-10.0, 10.0)),
    PrivateSparseClassifier(mechanism=NoisyProximalGradient(n_iter=3), delta=1e-6),
    PrivateRegressorOfRadius(mechanism=FrankWolfe(n_iter=3), norm="linf", loss="absolute", scale="private"),
    PrivateSparseRegressor(mechanism=NoisyProximalGradient(n_iter=3), delta=1e-6, alpha=0.1, loss="huber"),
    PrivateSparseRegressor(mechanism=OutputPerturbation(), ridge=0.5, loss="huber", y_bounds=(-5.0, 5.0)),
    PrivateRegressorOfRadius(mechanism=SelectRefit(n_selected=1), delta=1e-6, loss="huber"),
    PrivateRegressorOfRadius(mechanism=NoisyGradientFrankWolfe(n_iter=3), delta=1e-6, row_norm=1.0),
    PrivateSparseRegressor(records_per_person=2, fit_intercept=False, **ADD_REMOVE),
    PrivateSparseRegressor(loss="pinball"),
    PrivateSparsePoissonRegressor(),
    PrivateSparsePoissonRegressor(mechanism=OutputPerturbation(), ridge=0.5, y_bounds=(0.0, 5.0)),
    PrivateCountsOfRadius(mechanism=FrankWolfe(n_iter=3), fit_intercept=False, **ADD_REMOVE),
    PrivateSparseClassifier(max_weight=5.0),
    PrivateSparseRegressor(max_weight=5.0),
    PrivateSparsePoissonRegressor(max_weight=5.0),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpsparse.DefaultBoundsWarning")  # the checks know of no bounds
@parametrize_with_checks(PRIVATE, expected_failed_checks=expected_failures)
def test_private_estimators(estimator, check):
    check(estimator)
