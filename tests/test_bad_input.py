"""Bad arguments and unusable records: every error is a DpsparseError that names what is wrong, before any cost."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dpsparse
from dpsparse import (
    CustomLoss,
    DisjointGroups,
    DpsparseError,
    DualFrankWolfe,
    FrankWolfe,
    Hinge,
    Huber,
    InvalidArgumentError,
    InvalidDataError,
    InvalidTypeError,
    Logistic,
    OutputPerturbation,
    PrivateScaler,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SgdOutput,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    UnsoundMechanismError,
    UserLossError,
    Vertices,
)
from dpsparse.blocks import from_arrays
from dpsparse.norms import GroupLasso
from reference.certificates import keeps_its_claim

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (20, 3))
Y = np.array([0, 1] * 10)


def classifier(**arguments):
    fixed = {"bounds": (-1, 1), "classes": (0, 1), "n_iter": 2, "random_state": 0}
    return PrivateSparseClassifier(**(fixed | arguments))


def regressor(**arguments):
    fixed = {"bounds": (-1, 1), "y_bounds": (-1, 1), "n_iter": 2, "random_state": 0}
    return PrivateSparseRegressor(**(fixed | arguments))


NUMBERS = [0, -1, -1.5, np.nan, np.inf, -np.inf, "1", True, [1.0], 1j, 10**400]
COUNTS = [0, -1, 1.5, 2.0, "2", True, 2**62, 10**30, np.nan, [2]]

ARGUMENTS = {
    "epsilon": [*NUMBERS, None],
    "delta": [*NUMBERS, 1, 1.0, 2.0, 1.5],
    "radius": [*NUMBERS, 1e101, 1e308, 1e-101, 5e-324],
    "alpha": [0.0, -1.0, "a", np.nan, np.inf],
    "ridge": [0.0, 1.0, -1.0],
    "row_norm": [1.0, 0.0, -1.0, "a"],  # not used over the l1 ball
    "n_public": [5, 0, "a"],  # not used under replace-one
    "n_iter": [*COUNTS, 2**40],
    "records_per_person": [*COUNTS, None, 2**40, 2**61],
    "adjacency": ["x", "", "replace_one", None, 5, ["a"], True],
    "mechanism": ["x", "", None, 5, ["auto"], np.array(["a", "b"]), FrankWolfe, object()],
    "loss": ["x", "", None, 5, Logistic, ["logistic"], object()],
    "norm": ["x", "", None, 5, ["l1"], DisjointGroups, object()],
    "classes": [
        (0,),
        (0, 0),
        5,
        (0, 1, 1),
        "ab",
        [[1, 2], [3]],
        [[0, 1]],
        (),
        (np.nan, 1),
        (pd.NA, 1),
        (None, "a"),
        {0, 1},
        frozenset((0, 1)),
        {0: "no", 1: "yes"},
        {0: "no", 1: "yes"}.keys(),
    ],
    "bounds": [
        5,
        (1, -1),
        (1, 2, 3),
        ("a", "b"),
        "ab",
        (np.nan, 1),
        (0, np.nan),
        (0, np.inf),
        (-np.inf, 0),
        (None, None),
        ([0, 0], [1, 1]),
        ([0] * 4, [1] * 4),
        ([0, 0, 0], [1, 1]),
        ([0, 0, 2], [1, 1, 1]),
        ([0, np.nan, 0], [1, 1, 1]),
        ([[0]], [[1]]),
        ([], []),
        (1j, 2),
        (0, 1e-310),
        {"a": 1},
        (0, 10**400),
    ],
    "fit_intercept": [None, "no", 2, np.array([1, 0]), 0.5],
    "random_state": ["a", -1, 1.5, 2**32, [2**40], object()],
}

CASES = [
    pytest.param(name, value, id=f"{name}-{k}") for name, values in ARGUMENTS.items() for k, value in enumerate(values)
]


def refused(estimator, X=X, y=Y, error=DpsparseError, match=None):
    """Neither TypeError nor anything else: a DpsparseError, and no certificate."""
    with pytest.raises(error, match=match) as caught:
        estimator.fit(X, y)
    assert isinstance(caught.value, DpsparseError)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 400
    assert not hasattr(estimator, "certificate_")


@pytest.mark.parametrize(("name", "value"), CASES)
def test_bad_arguments_of_a_classifier(name, value):
    refused(classifier(**{name: value}), error=InvalidArgumentError, match=name)


def test_labels_without_an_order_are_refused_with_what_to_write():
    for classes in ({0, 1}, frozenset((0, 1)), {0: 1, 1: 0}):
        refused(classifier(classes=classes), error=InvalidArgumentError, match=r"order nobody states: write a tuple")


@pytest.mark.parametrize("y_bounds", ["ab", "01", b"01", {0, 1}, {0: 1, 1: 2}, (0, 1, 2), 5])
def test_bounds_of_targets_that_are_no_pair(y_bounds):
    for estimator in (
        regressor(y_bounds=y_bounds),
        PrivateSparsePoissonRegressor(bounds=(-1, 1), y_bounds=y_bounds, random_state=0),
    ):
        refused(estimator, error=InvalidArgumentError, match=r"^y_bounds must be a pair \(lower, upper\) of numbers")


@pytest.mark.parametrize("count", [2**62, 10**30, 10**400])
def test_counts_beyond_all_machines_are_too_large_and_not_negative(count):
    match = "is too large: it must be below"
    refused(classifier(records_per_person=count), error=InvalidArgumentError, match=f"^records_per_person {match}")
    with pytest.raises(InvalidArgumentError, match=f"^n_samples {match}"):
        classifier().plan(count, 3)


@pytest.mark.parametrize("norm", ["linf", "simplex", DisjointGroups([0, 0, 1]), GroupLasso([[0, 1], [2]])])
@pytest.mark.parametrize("mechanism", ["sgd-output", SgdOutput(n_passes=2)])
def test_a_norm_is_refused_where_no_option_is_about_it(norm, mechanism):
    for estimator in (
        classifier(norm=norm, mechanism=mechanism, n_iter=None),
        regressor(norm=norm, mechanism=mechanism, n_iter=None, loss="huber"),
    ):
        with pytest.raises(InvalidArgumentError, match=r"^norm is not used by sgd-output"):
            estimator.plan(1000, 3)
        refused(estimator, error=InvalidArgumentError, match="^norm is not used by sgd-output")


@pytest.mark.parametrize("norm", ["linf", DisjointGroups([0, 0, 1]), GroupLasso([[0, 1], [2]])])
@pytest.mark.parametrize("others", [{"scale": None}, {"scale": "private"}, {"fit_intercept": False}, {"n_iter": 20}])
def test_auto_takes_a_penalty_of_any_norm_with_a_prox(norm, others):
    for make in (classifier, regressor):
        plan = make(**({"n_iter": None, "norm": norm, "alpha": 0.01} | others)).plan(1000, 3)
        # After private scales it is in units of the bounds, as without scale="private".
        steps = "noisy-newton" if others.get("scale") else "noisy-proximal-gradient"
        assert steps in plan.mechanism


def test_truth_values_of_numpy_are_truth_values():
    for yes in (np.True_, 1):
        plans = [regressor(n_iter=None, alpha=0.01, fit_intercept=value).plan(1000, 3) for value in (True, yes)]
        assert plans[0].mechanism == plans[1].mechanism


def test_frank_wolfe_by_name_takes_no_alpha():
    for make in (classifier, regressor):
        refused(make(mechanism="frank-wolfe", alpha=1.0), error=InvalidArgumentError, match="alpha")
        refused(make(mechanism="penalised-frank-wolfe"), error=InvalidArgumentError, match="alpha")
        refused(
            make(mechanism="penalised-frank-wolfe", alpha=1.0, norm="linf"), error=InvalidArgumentError, match="norm"
        )


@pytest.mark.parametrize(("name", "value"), [case for case in CASES if case.values[0] != "classes"])
def test_bad_arguments_of_a_regressor(name, value):
    refused(regressor(**{name: value}), error=InvalidArgumentError, match=name)


@pytest.mark.parametrize(
    ("name", "value"), [case for case in CASES if case.values[0] not in ("classes", "random_state")]
)
def test_plans_refuse_the_same(name, value):
    with pytest.raises(InvalidArgumentError, match=name):
        classifier(**{name: value}).plan(20, 3)


REGRESSOR = {
    "y_bounds": [5, (1, -1), (0, 0), (np.nan, 1), (0, np.inf), ("a", 1), (1, 2, 3), ([0], [1]), (-1e308, 1e308)],
    "residual_bound": [0, -1.0, np.nan, np.inf, "a", True, [1.0], 1e300, 1e-300],
    "loss": ["logistic", "hinge", Logistic(), Hinge()],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REGRESSOR.items() for value in values])
def test_bad_arguments_of_regressors_only(name, value):
    # A clamp outside the lattice of derivatives is named as the Lipschitz constant that it is.
    refused(regressor(**{name: value}), error=InvalidArgumentError, match=f"{name}|lipschitz")


@pytest.mark.parametrize("loss", ["huber", "absolute", Huber(0.5), lambda z, y: z])
def test_a_residual_bound_is_for_the_squared_loss_only(loss):
    refused(regressor(loss=loss, residual_bound=1.0), error=InvalidArgumentError, match="residual_bound")


LOSSES = [
    (Huber(-1.0), "threshold"),
    (Huber(0), "threshold"),
    (Huber(np.nan), "threshold"),
    (Huber("a"), "threshold"),
    (Huber(None), "threshold"),
    (Huber(10**400), "threshold"),
    (Huber(1e-300), "lipschitz"),
    (Huber(1e300), "lipschitz"),
    (Hinge(0.0), "width"),
    (Hinge(np.inf), "width"),
    (Hinge([1.0]), "width"),
    (CustomLoss(np.add, 0.0), "lipschitz"),
    (CustomLoss(np.add, np.nan), "lipschitz"),
    (CustomLoss(np.add, "a"), "lipschitz"),
    (CustomLoss(np.add, 1e300), "lipschitz"),
]


@pytest.mark.parametrize(("loss", "name"), LOSSES)
def test_bad_parameters_of_losses(loss, name):
    refused(classifier(loss=loss), error=InvalidArgumentError, match=name)


@pytest.mark.parametrize("loss", [CustomLoss(5), CustomLoss(None), lambda z, y: z[:-1], lambda: None])
def test_bad_losses(loss):
    refused(classifier(loss=loss), error=UserLossError, match="loss")


GROUPS = [
    ([[0, 1], [], [2]], "not be empty: group 1"),
    ([[0, 1]], "feature 2 is in none"),
    ([[0, 1], [5]], "below 3: group 1 has 5"),
    ([[0, 1, 2, 3]], "below 3: group 0 has 3"),
    ([0, 0], "feature 2 is in none"),
    ([0, 0, 1, 1], "below 3"),
    ([[-1, 0], [1, 2]], "groups must"),
    ([np.array([2**63], dtype=np.uint64), [0, 1, 2]], "below 3"),
    ([[0.5, 1], [2]], "groups must"),
    ([0.0, 0.0, 1.0], "groups must"),
    ([[True, False], [2]], "groups must"),
    ([[0, 1], 2], "groups must"),
    ([[[0]], [1, 2]], "groups must"),
    ([["a"]], "groups must"),
    ("abc", "groups must"),
    ([], "groups must"),
    (5, "groups must"),
    (None, "groups must"),
    ([[2**70], [0, 1, 2]], "groups must"),
]


@pytest.mark.parametrize(("groups", "match"), GROUPS)
def test_bad_groups(groups, match):
    refused(classifier(norm=DisjointGroups(groups)), error=InvalidArgumentError, match=match)


@pytest.mark.parametrize(
    "groups",
    [[[0, 1], [1, 2]], [[0, 0], [1, 2]], [[0, 1], [1, 2, 3]], np.array([[0, 1], [1, 2]]), [(0, 1), np.array([1])]],
)
def test_groups_that_overlap(groups):
    with pytest.raises(InvalidArgumentError, match=r"disjoint.*GroupCover"):
        DisjointGroups(groups)


VERTICES = [
    [],
    [[]],
    [1, 2, 3],
    [[1, 2]],
    [[1, 2, 3], [1]],
    [[np.nan, 1, 2]],
    [[np.inf, 1, 2]],
    [[0, 0, 0]],
    [["a", 1, 2]],
]
VERTICES += ["a", None, [[[1, 2, 3]]], [[1j, 0, 0]], [[1e-310, 0, 0]], [[10**400, 0, 0]]]


@pytest.mark.parametrize("vertices", VERTICES)
def test_bad_vertices(vertices):
    refused(classifier(norm=Vertices(vertices)), error=InvalidArgumentError, match="vertices")


def test_a_radius_is_not_used_with_vertices():
    refused(classifier(norm=Vertices([[1, 2, 3]]), radius=1.0), error=InvalidArgumentError, match="radius")


@pytest.mark.parametrize("row_norm", [0.0, -1.0, np.nan, np.inf, "a"])
@pytest.mark.parametrize("norm", ["linf", DisjointGroups([0, 0, 1])])
def test_bad_row_norms(row_norm, norm):
    refused(classifier(norm=norm, row_norm=row_norm), error=InvalidArgumentError, match="row_norm")


@pytest.mark.parametrize("row_norm", [0.0, -1.0, np.nan, np.inf])
def test_bad_row_norms_are_refused_where_auto_has_no_use_for_any(row_norm):
    refused(classifier(bounds=(-5, 5), n_iter=None, row_norm=row_norm), error=InvalidArgumentError, match="row_norm")


def test_a_row_norm_with_sparse_records_needs_bounds_around_zero():
    estimator = classifier(norm="linf", row_norm=0.5, bounds=(1.0, 2.0))
    refused(estimator, sp.csr_matrix(X), error=InvalidArgumentError, match="row_norm")
    assert keeps_its_claim(estimator.fit(X, Y).certificate_)


@pytest.mark.parametrize("norm", ["simplex", "l1", Vertices([[1, 2, 3]])])
def test_a_row_norm_where_it_is_not_used(norm):
    refused(classifier(norm=norm, row_norm=1.0), error=InvalidArgumentError, match="row_norm")


ADD_REMOVE = [
    ({"n_public": 20}, "delta"),
    ({"delta": 1e-6}, "n_public"),
    ({"delta": 1e-6, "n_public": 0}, "n_public"),
    ({"delta": 1e-6, "n_public": 2.5}, "n_public"),
    ({"delta": 1e-6, "n_public": 1}, "n_samples=1"),
    ({"delta": 0.0, "n_public": 20}, "delta"),
]


@pytest.mark.parametrize(("arguments", "match"), ADD_REMOVE)
def test_add_remove_needs_public_counts_and_delta(arguments, match):
    refused(classifier(adjacency="add-remove", **arguments), error=InvalidArgumentError, match=match)


MECHANISMS = [
    (FrankWolfe(n_iter=3), {"n_iter": 2}, "n_iter"),
    (FrankWolfe(radius=3.0), {"radius": 2.0}, "radius"),
    (FrankWolfe(n_iter=0), {"n_iter": None}, "n_iter"),
    (FrankWolfe(n_iter="a"), {"n_iter": None}, "n_iter"),
    (FrankWolfe(radius="a"), {}, "radius"),
    (FrankWolfe(radius=-1.0), {}, "radius"),
    (FrankWolfe(calibration="x"), {}, "calibration"),
    (FrankWolfe(calibration=None), {}, "calibration"),
]


@pytest.mark.parametrize(("mechanism", "arguments", "match"), MECHANISMS)
def test_bad_mechanisms(mechanism, arguments, match):
    refused(classifier(mechanism=mechanism, **arguments), error=InvalidArgumentError, match=match)


def test_values_of_the_mechanism_that_agree_are_no_conflict():
    estimator = classifier(mechanism=FrankWolfe(n_iter=2, radius=3.0), radius=3.0)
    assert estimator.fit(X, Y).n_iter_ == 2
    assert classifier(mechanism=FrankWolfe(n_iter=4), n_iter=None).fit(X, Y).n_iter_ == 4


def test_the_papers_calibration_needs_consent():
    refused(classifier(mechanism=FrankWolfe(calibration="paper")), error=UnsoundMechanismError, match="tight")


def replaced(array, at, value, dtype=None):
    array = np.array(array, dtype=dtype)
    array[at] = value
    return array


def broken(part, at, value):
    matrix = sp.csr_matrix(X)
    setattr(matrix, part, replaced(getattr(matrix, part), at, value))
    return matrix


def cut(part, length):
    matrix = sp.csr_matrix(X)
    setattr(matrix, part, getattr(matrix, part)[:length])
    return matrix


SPARSE = {
    "index too large": broken("indices", 4, 3),
    "index far too large": broken("indices", 4, 2**30),
    "negative index": broken("indices", 4, -1),
    "pointer too large": broken("indptr", 3, 1000),
    "negative pointer": broken("indptr", 3, -1),
    "decreasing pointers": broken("indptr", 3, 1),
    "pointers start late": broken("indptr", 0, 2),
    "last pointer too large": broken("indptr", -1, 61),
    "too few pointers": cut("indptr", 5),
    "too few values": cut("data", 7),
    "too few indices": cut("indices", 7),
    "NaN": broken("data", 4, np.nan),
    "infinity": broken("data", 4, -np.inf),
}


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.uint64])
def test_sparse_records_have_indices_of_any_type(kind):
    """scipy takes what is assigned to them."""
    matrix, other = sp.csr_matrix(X), sp.csr_matrix(X)
    other.indices, other.indptr = other.indices.astype(kind), other.indptr.astype(kind)
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), random_state=0)
    coefficients = [model.fit(x, Y).coef_ for x in (matrix, other)]
    np.testing.assert_array_equal(*coefficients)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("columns", [False, True])
def test_bad_sparse_records(name, columns):
    matrix = SPARSE[name]
    y = Y
    if columns:  # the same parts, read as compressed columns of the transposed shape
        matrix = sp.csc_matrix(X.T)
        for part in ("indptr", "indices", "data"):
            setattr(matrix, part, getattr(SPARSE[name], part))
        y = np.array([0, 1, 1])
    refused(classifier(), matrix, y, error=InvalidDataError, match="X")


RECORDS = {
    "NaN": (replaced(X, (3, 1), np.nan), Y, "NaN"),
    "infinity": (replaced(X, (3, 1), -np.inf), Y, "infinity"),
    "float32 NaN": (replaced(X, (3, 1), np.nan).astype(np.float32), Y, "NaN"),
    "NaN in a constant feature": (replaced(X, (3, 0), np.nan), Y, "NaN"),
    "one dimension": (X[:, 0], Y, "two-dimensional"),
    "three dimensions": (X[None], Y, "dim 3"),
    "no records": (X[:0], Y[:0], "0 sample"),
    "no features": (X[:, :0], Y, "0 feature"),
    "one record": (X[:1], Y[:1], "n_samples=1"),
    "one record fewer in y": (X, Y[:-1], "inconsistent numbers"),
    "nothing": (None, Y, "two-dimensional"),
    "no y": (X, None, "requires y"),
    "words": (X.astype(str), np.array(["a"] * 20), "y|X"),
    "a word": (replaced(X, (3, 1), "word", object), Y, "numbers"),
    "complex": (X + 1j, Y, "Complex"),
    "a dictionary": ({"a": 1}, Y, "real number"),
    "ragged": ([[1, 2, 3], [1]] * 10, Y, "two-dimensional"),
    "y of two columns": (X, np.column_stack([Y, Y]), "1d"),
    "sparse y": (X, sp.csr_matrix(Y[:, None]), "Sparse"),
    "y NaN": (X, replaced(Y, 3, np.nan, float), "NaN"),
    "y infinity": (X, replaced(Y, 3, np.inf, float), "infinity"),
    "y complex": (X, Y + 1j, "Complex"),
}


@pytest.mark.parametrize("make", [classifier, regressor])
@pytest.mark.parametrize("name", RECORDS)
def test_unusable_records(make, name):
    bad_X, bad_y, match = RECORDS[name]
    bounds = ([0.0, -1, -1], [0.0, 1, 1]) if name == "NaN in a constant feature" else (-1.0, 1.0)
    refused(make(bounds=bounds), bad_X, bad_y, match=match)


TARGETS = {
    "one class": (np.zeros(20), "one class"),
    "numbers": (rng.uniform(size=20), "Unknown label type"),
    "mixed": (np.array([0, "a"] * 10, dtype=object), "Unknown label type"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_bad_labels_without_public_classes(name):
    y, match = TARGETS[name]
    refused(classifier(classes=None), X, y, error=InvalidDataError, match=match)


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        ((0, 1), np.arange(20) % 3),
        ((0, 2), Y),
        (("0", "1"), Y),
        ((0, 1), Y.astype(str)),
        (("a", "b"), np.array(["a", "c"] * 10)),
        (("a", "b"), np.array(["a", 1] * 10, dtype=object)),
        ((0, 1), rng.uniform(size=20)),
    ],
)
def test_labels_outside_the_public_classes(classes, y):
    refused(classifier(classes=classes), X, y, error=InvalidDataError, match="classes")


def test_a_single_class_is_fine_where_both_are_public():
    estimator = classifier().fit(X, np.zeros(20, dtype=int))
    assert estimator.classes_.tolist() == [0, 1]
    assert classifier(classes=("b", "a")).fit(X, np.where(Y == 1, "a", "b")).classes_.tolist() == ["a", "b"]


def test_regression_targets_that_are_not_numbers():
    refused(regressor(), X, np.array(["a", "b"] * 10), error=InvalidDataError, match="target")


SIZES = [0, -1, 1.5, "a", None, True, 10**30, 2**62]


@pytest.mark.parametrize("size", SIZES)
def test_bad_sizes_of_plans(size):
    with pytest.raises(InvalidArgumentError, match="n_samples"):
        classifier().plan(size, 3)
    with pytest.raises(InvalidArgumentError, match="n_features"):
        classifier().plan(20, size)


def test_too_large_for_integers():
    with pytest.raises(InvalidArgumentError, match="2\\^32"):
        classifier().plan(20, 2**32)
    with pytest.raises(InvalidArgumentError, match="records_per_person"):
        classifier(records_per_person=2**34).plan(20, 3)
    assert classifier(records_per_person=2**30).plan(20, 3).certified
    with pytest.raises(InvalidArgumentError, match="n_iter"):
        classifier(n_iter=2**30).plan(20, 3)


EXTREMES = [
    *[
        ({"epsilon": 1e300, "mechanism": mechanism}, "epsilon")
        for mechanism in ("auto", "objective-perturbation", "select-refit", DualFrankWolfe(alpha=0.1))
    ],
    *[({"epsilon": 1e300, "mechanism": OutputPerturbation(noise=noise)}, "epsilon") for noise in ("gamma", "laplace")],
    *[({"epsilon": 1e-9, "mechanism": OutputPerturbation(noise=noise)}, "epsilon") for noise in ("gamma", "laplace")],
    *[
        ({"row_norm": row_norm, "mechanism": mechanism, "epsilon": 50.0}, "row_norm")
        for row_norm in (1e-300, 1e-100, 1e-6, 1e10, 1e155, 1e300)
        for mechanism in ("auto", "output-perturbation", "objective-perturbation", "noisy-newton", "sgd-output")
        if (row_norm, mechanism) == (1e-6, "auto") or row_norm != 1e-6
    ],
    *[
        ({"delta": 5e-324, "mechanism": mechanism}, "delta is too small")
        for mechanism in ("output-perturbation", "objective-perturbation", "select-refit", "sgd-output")
    ],
    ({"norm": Vertices(np.ones((2, 4)))}, "vertices"),
]


@pytest.mark.parametrize(("arguments", "match"), EXTREMES)
def test_extreme_arguments_are_named_and_not_what_follows_from_them(arguments, match):
    refused(classifier(**({"n_iter": None} | arguments)), error=InvalidArgumentError, match=f"^{match}")


def test_a_delta_near_one_that_leaves_no_room_for_a_scale_is_named():
    with pytest.raises(InvalidArgumentError, match=r"^delta is too large"):
        classifier(delta=0.999999, bounds=(0, 1000), n_iter=None).plan(20, 5)


def test_vertices_of_other_features_are_refused_before_they_are_copied():
    vertices = np.broadcast_to(1.0, (2, 10**13))  # no machine could list them
    refused(classifier(norm=Vertices(vertices)), error=InvalidArgumentError, match="^vertices .*n_features=3")


def test_no_error_comes_from_a_private_class():
    assert issubclass(InvalidTypeError, InvalidDataError)
    assert issubclass(InvalidTypeError, TypeError)
    for bad_X, bad_y in (({"a": 1}, Y), (np.array([[{}, 1, 2]] * 20, dtype=object), Y), (X, [{}] * 20)):
        with pytest.raises(InvalidDataError) as caught:
            regressor().fit(bad_X, bad_y)
        assert type(caught.value) in (InvalidDataError, InvalidTypeError)
        assert type(caught.value).__module__ == "dpsparse"


def test_extreme_arguments_that_are_fine_give_finite_models():
    for arguments in (
        {"epsilon": 1e-300},
        {"epsilon": 1e9},
        {"delta": 5e-324},
        {"delta": 1 - 2**-53},
        {"radius": 1e100},
        {"radius": 1e-100},
        {"bounds": (-1e308, 1e308)},
        {"bounds": (1.0, 1.0 + 2**-52)},
        {"bounds": (0.0, 0.0)},
        {"bounds": ([-1, 0, -1e-300], [1, 0, 1e-300])},
    ):
        estimator = classifier(**arguments).fit(X, Y)
        assert np.isfinite(estimator.coef_).all()
        assert np.isfinite(estimator.intercept_).all()
        assert keeps_its_claim(estimator.certificate_)


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", "not json", '{"format": "x"}'])
def test_bad_certificates(text):
    with pytest.raises(DpsparseError):
        dpsparse.Certificate.from_json(text)


def test_tampered_certificates_are_refused_or_do_not_verify():
    certificate = classifier(random_state=None).fit(X, Y).certificate_
    assert certificate.verify()
    good = json.loads(certificate.to_json())
    for key in good:
        with pytest.raises(DpsparseError):
            dpsparse.Certificate.from_json(json.dumps({k: v for k, v in good.items() if k != key}))
    with pytest.raises(DpsparseError):
        dpsparse.Certificate.from_json(json.dumps(good | {"extra": 1}))
    for change in ({"claimed_epsilon": -1.0}, {"claimed_delta": 0.0}, {"claimed_epsilon": 0.1}, {"certified": False}):
        try:
            verified = dpsparse.Certificate.from_json(json.dumps(good | change)).verify()
        except DpsparseError:
            continue
        assert not verified


@pytest.mark.parametrize("value", [1.0, -1.0, np.nan, 2.0])
def test_certificates_refuse_a_bad_delta(value):
    with pytest.raises(DpsparseError, match="delta"):
        classifier().fit(X, Y).certificate_.epsilon(value)


@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_certificates_refuse_a_bad_epsilon(value):
    with pytest.raises(DpsparseError, match="epsilon"):
        classifier().fit(X, Y).certificate_.delta(value)


PREDICTED = {
    "one record that is no table": lambda X: X[0],
    "not a number": lambda X: np.where(X[0, 0] == X, np.nan, X),
    "infinite": lambda X: np.where(X[0, 0] == X, np.inf, X),
    "other columns": lambda X: X[:, :1],
    "no records": lambda X: X[:0],
    "None": lambda X: None,
    "a series": lambda X: pd.Series(X[:, 0]),
    "a mapping": lambda X: {"a": X[:, 0]},
    "an iterator": iter,
    "a function": lambda X: lambda: X,
    "a matrix": lambda X: X.view(np.matrix),
    "text": lambda X: [["a", "b"]],
    "blocks": lambda X: from_arrays([X]),
    "a frame of no columns": lambda X: pd.DataFrame(index=range(3)),
}


@pytest.mark.parametrize("name", PREDICTED)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("Model", ["classifier", "regressor", "counts", "scaler"])
def test_records_of_predictions_are_refused_by_typed_errors_without_values(Model, exact, name):
    rng = np.random.default_rng(0)
    X = 0.1 + 0.8 * rng.uniform(size=(300, 2))
    y = (X[:, 0] > 0.5).astype(int)
    private, plain = {
        "classifier": (PrivateSparseClassifier(bounds=(0, 1), classes=(0, 1), random_state=0), SparseClassifier()),
        "regressor": (PrivateSparseRegressor(bounds=(0, 1), y_bounds=(0, 1), random_state=0), SparseRegressor()),
        "counts": (
            PrivateSparsePoissonRegressor(bounds=(0, 1), y_bounds=(0, 1), random_state=0),
            SparsePoissonRegressor(),
        ),
        "scaler": (PrivateScaler(bounds=(0, 1), random_state=0), PrivateScaler(bounds=(0, 2), random_state=0)),
    }[Model]
    model = plain if exact else private
    fitted = model.fit(X) if Model == "scaler" else model.fit(X, y)
    use = fitted.transform if Model == "scaler" else fitted.predict
    calls = [lambda: use(PREDICTED[name](X))]
    if name not in ("other columns", "blocks"):
        calls.append(lambda: clone(model).fit(PREDICTED[name](X), y))
    for call in calls:
        with pytest.raises(DpsparseError) as caught:
            call()
        assert isinstance(caught.value, ValueError | TypeError)
        assert not re.search(r"0\.\d\d\d", str(caught.value)), caught.value
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_scores_of_counts_take_counts():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    model = SparsePoissonRegressor(alpha=0.1).fit(X, np.arange(100) % 4)
    assert np.isnan(model.score(X, np.zeros(100)))
    with pytest.raises(InvalidDataError, match="not negative"):
        model.score(X, np.full(100, -1.0))


def test_plans_of_more_features_than_there_can_be_are_refused_at_once():
    for n_features in (2**32, 10**12):
        with pytest.raises(InvalidArgumentError, match="feature"):
            PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)).plan(10, n_features)


@pytest.mark.parametrize("estimator", [classifier(classes=None), SparseClassifier()], ids=["private", "exact"])
def test_one_record_is_told_apart_from_one_class(estimator):
    refused(estimator, X[:1], Y[:1], error=InvalidDataError, match=r"one record \(n_samples=1\).*at least two records")
    refused(
        estimator, X, np.zeros(20), error=InvalidDataError, match=r"^y holds one class only; a classifier needs two"
    )
