"""Every public object pickles, copies and shows what it is, or says in an error of this package why not."""

import copy
import inspect
import pickle
import re

import dask.array
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import dpsparse
from dpsparse import (
    CustomLoss,
    DisjointGroups,
    InvalidArgumentError,
    PrivateOnlineSimplex,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SecretStateError,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    Vertices,
    blocks,
    combinatorial,
    datasets,
    displays,
    distributed,
    losses,
    mechanisms,
    models,
    norms,
    polytopes,
    privacy,
    set_functions,
    tables,
    testing,
    theory,
    words,
)

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 4))
LABELS, TARGETS, COUNTS, COVERED = X[:, 0] > 0, X[:, 0], rng.poisson(1.0, 300), X > 0
BOUNDS = {"bounds": (-1, 1)}
SCHEMA = tables.Schema(
    {
        "age": tables.Number(18, 90),
        "smoker": tables.Boolean(),
        "town": tables.Category(["a", "b"]),
        "pain": tables.Ordinal(["none", "some", "much"]),
        "day": tables.Date("2020-01-01", "2021-01-01"),
    }
)


def classifier(**parameters):
    return PrivateSparseClassifier(classes=(False, True), **BOUNDS, **parameters)


def search(**parameters):
    return PrivateSearchCV(classifier(**parameters), {"n_iter": [3, 5]}, epsilon=2.0, delta=1e-6)


def events_of_a_tilt():
    return [event for event, _ in classifier(mechanism="objective-perturbation").plan(300, 4).events]


MADE = {
    "PrivateSparseClassifier": lambda: classifier().fit(X, LABELS),
    "PrivateSparseRegressor": lambda: PrivateSparseRegressor(y_bounds=(-1, 1), **BOUNDS).fit(X, TARGETS),
    "PrivateSparsePoissonRegressor": lambda: PrivateSparsePoissonRegressor(y_bounds=(0, 5), **BOUNDS).fit(X, COUNTS),
    "PrivateSimplexClassifier": lambda: PrivateSimplexClassifier(classes=(False, True), **BOUNDS).fit(X, LABELS),
    "PrivateSimplexRegressor": lambda: PrivateSimplexRegressor(y_bounds=(-1, 1), **BOUNDS).fit(X, TARGETS),
    "PrivateScaler": lambda: PrivateScaler(**BOUNDS).fit(X),
    "PrivateSearchCV": lambda: search().fit(X, LABELS),
    "PrivateOnlineSimplex": lambda: PrivateOnlineSimplex(1.0, 1e-6, horizon=9, n_features=3, bound=1.0),
    "SparseClassifier": lambda: SparseClassifier(alpha=0.1).fit(X, LABELS),
    "SparseRegressor": lambda: SparseRegressor(alpha=0.1).fit(X, TARGETS),
    "SparsePoissonRegressor": lambda: SparsePoissonRegressor(alpha=0.1).fit(X, COUNTS),
    "PrivateCoverage": lambda: combinatorial.PrivateCoverage(2).fit(COVERED),
    "PrivateFacilityLocation": lambda: combinatorial.PrivateFacilityLocation(2).fit(np.abs(X)),
    "PrivateSubmodularMinimizer": lambda: combinatorial.PrivateSubmodularMinimizer(n_iter=2).fit([CUT] * 9),
    "PrivateMinimumNormPoint": lambda: combinatorial.PrivateMinimumNormPoint(n_iter=2).fit([CUT] * 9),
    "Plan": lambda: classifier().plan(300, 4),
    "Plan of a simplex": lambda: PrivateSimplexRegressor(y_bounds=(-1, 1), **BOUNDS).plan(300, 4),
    "Plan of a schema": lambda: PrivateSparseRegressor(schema=SCHEMA, y_bounds=(-1, 1)).plan(300),
    "Plan of a norm": lambda: classifier(norm=norms.GroupLasso([[0, 1], [2, 3]]), alpha=0.1).plan(300, 4),
    "Plan of a search": lambda: search().plan(300, 4).refits[1],
    "ScalerPlan": lambda: PrivateScaler(**BOUNDS).plan(300, 4),
    "SearchPlan": lambda: search().plan(300, 4),
    "GreedyPlan": lambda: combinatorial.PrivateCoverage(2).plan(300, 5),
    "SubmodularPlan": lambda: combinatorial.PrivateSubmodularMinimizer().plan(300, 5),
    "PlanCurve": lambda: classifier().plan_curve(300, 4, epsilons=(1.0, 2.0)),
    "Certificate": lambda: classifier().fit(X, LABELS).certificate_,
    "Summary": lambda: classifier().fit(X, LABELS).summary(),
    "CoefficientDisplay": lambda: displays.CoefficientDisplay(classifier().fit(X, LABELS).summary()),
    "CoefficientDisplay, drawn": lambda: displays.CoefficientDisplay.from_estimator(
        SparseRegressor(alpha=0.1).fit(X, TARGETS), ax=Figure().subplots()
    ),
    "EpsilonDisplay": lambda: displays.EpsilonDisplay([1.0, 2.0], [0.5, 0.25]),
    "Accountant": privacy.Accountant,
    "Ledger": None,  # on a file of the test's own
    "DiscreteGaussianEvent": lambda: privacy.DiscreteGaussianEvent(1.0, 2.0),
    "ExponentialEvent": lambda: privacy.ExponentialEvent(1.0),
    "FailureEvent": lambda: privacy.FailureEvent(1e-6),
    "GaussianEvent": lambda: privacy.GaussianEvent(1.0, 2.0),
    "LaplaceEvent": lambda: privacy.LaplaceEvent(1.0, 2.0),
    "ObjectivePerturbationEvent": events_of_a_tilt,
    "PureEvent": lambda: privacy.PureEvent(1.0),
    "ZeroConcentratedEvent": lambda: privacy.ZeroConcentratedEvent(0.5),
    "Blocks": lambda: blocks.from_arrays(X),
    "Shards": lambda: distributed.from_dask(dask.array.from_array(X, chunks=(100, 4))),
    "Adult": datasets.load_adult,
    "CustomLoss": lambda: CustomLoss(np.logaddexp),
    "DisjointGroups": lambda: DisjointGroups([[0, 1], [2]]),
    "Vertices": lambda: Vertices(np.eye(3)),
    "GroupLasso": lambda: norms.GroupLasso([[0, 1], [2, 3]]),
    "Cardinality": lambda: set_functions.Cardinality(4),
    "ConcaveCardinality": lambda: set_functions.ConcaveCardinality([1, 1.5, 1.75]),
    "ContiguousRange": lambda: set_functions.ContiguousRange(4),
    "Estimate": lambda: set_functions.Cardinality(4).gaussian_width(),
    "FromOracle": lambda: set_functions.FromOracle(len, 4),
    "GraphCut": lambda: CUT,
    "GroupCover": lambda: set_functions.GroupCover([[0, 1], [2]]),
    "LogDet": lambda: set_functions.LogDet(np.eye(3), 1.0),
    "Modular": lambda: set_functions.Modular([1.0, 2.0]),
    "PartitionRank": lambda: set_functions.PartitionRank([[0, 1], [2]], [1, 1]),
    "Scaled": lambda: 2.5 * set_functions.Cardinality(4),
    "Sum": lambda: set_functions.Cardinality(2) + set_functions.Modular([1.0, 2.0]),
    "Tree": lambda: set_functions.Tree([[0, 1], [0]], n_features=2),
    "Schema": lambda: SCHEMA,
    "SchemaEncoder": SCHEMA.encoder,
    "Term": lambda: SCHEMA.terms[0],
    "Number": lambda: SCHEMA["age"],
    "Boolean": lambda: SCHEMA["smoker"],
    "Category": lambda: SCHEMA["town"],
    "Ordinal": lambda: SCHEMA["pain"],
    "Date": lambda: SCHEMA["day"],
    "LeftOut": lambda: models.LeftOut("a function"),
    "PenalisedProblem": lambda: testing.PenalisedProblem(X, TARGETS, set_functions.Cardinality(4), 0.1),
    "Verdict": lambda: testing.verify_certificate(classifier().fit(X, LABELS).certificate_),
}
CUT = set_functions.GraphCut([(0, 1), (1, 2)], n_features=4)
#: What holds records, or leads to them, and does not leave by a pickle: not even by a copy where that would do harm.
KEPT_BACK = {"PrivateOnlineSimplex", "Blocks"}
COPIED = {"Blocks"}
#: Abstract.
BASES = {"SetFunction"}
MODULES = (
    blocks,
    combinatorial,
    datasets,
    displays,
    distributed,
    losses,
    mechanisms,
    models,
    norms,
    polytopes,
    privacy,
    set_functions,
    tables,
    testing,
    theory,
    words,
)


def public_classes():
    named = {name: getattr(space, name) for space in (dpsparse, *MODULES) for name in space.__all__}
    return {name: kind for name, kind in named.items() if inspect.isclass(kind)}


def made(name, folder):
    if name == "Ledger":
        return privacy.Ledger(folder / "ledger.db", 1.0, 1e-6)
    kind = getattr(losses, name, None) or getattr(mechanisms, name, None)
    return MADE[name]() if name in MADE else kind()


PLAIN = [name for space in (losses, mechanisms) for name in space.__all__ if inspect.isclass(getattr(space, name))]
NAMES = [*MADE, *(name for name in PLAIN if name not in MADE)]


def test_every_public_class_is_among_them():
    errors = {name for name, kind in public_classes().items() if issubclass(kind, BaseException)}
    assert public_classes().keys() - errors - BASES <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_pickles_and_copies_or_says_why_not(name, tmp_path):
    thing = made(name, tmp_path)
    shown = repr(thing)
    assert not re.search(r" at 0x[0-9a-f]+>", shown), shown
    ways = {"pickle": lambda it: pickle.loads(pickle.dumps(it)), "copy": copy.copy, "deepcopy": copy.deepcopy}
    for way, go in ways.items():
        if name in KEPT_BACK and not (name in COPIED and "copy" in way):
            with pytest.raises(SecretStateError):
                go(thing)
            continue
        again = go(thing)
        assert type(again) is type(thing)
        assert repr(again) == shown
        for attribute in ("events", "epsilon", "delta", "noise_scales", "mechanism"):
            found = getattr(thing, attribute, None)
            if not callable(found):
                assert getattr(again, attribute, None) == found, (way, attribute)


@pytest.mark.parametrize("name", NAMES)
def test_it_compares_with_anything(name, tmp_path):
    """An array among the fields, of which a dataclass's own comparison makes an error."""
    thing = made(name, tmp_path)
    assert (thing == thing) is True
    assert (thing == object()) is False
    if name not in KEPT_BACK:
        assert isinstance(thing == copy.deepcopy(thing), bool)


def test_norms_of_equal_numbers_are_equal():
    groups = (DisjointGroups([0, 0, 1]), DisjointGroups(np.array([0, 0, 1])), DisjointGroups((0, 0, 1)))
    vertices = (Vertices(np.eye(2)), Vertices([[1, 0], [0, 1]]))
    for alike in (groups, vertices):
        assert len(set(alike)) == 1
    assert len({*groups, *vertices, DisjointGroups([0, 1, 1]), Vertices(-np.eye(2))}) == 4
    assert DisjointGroups(["ab", "ab", 1]) != DisjointGroups(["ab", "ba", 1])


def test_copies_of_blocks_are_the_same_records():
    parts = blocks.from_arrow(pa.Table.from_pandas(pd.DataFrame(X[:, :2], columns=["a", "b"])))
    for again in (copy.copy(parts), copy.deepcopy(parts)):
        assert again.shape == (300, 2)
        np.testing.assert_array_equal(np.vstack([*again.arrays()]), X[:, :2])


def numbered():
    return iter([X])


def test_blocks_of_a_function_that_others_find_pickle():
    again = pickle.loads(pickle.dumps(blocks.Blocks(numbered, 300, 4)))
    np.testing.assert_array_equal(np.vstack([*again.arrays()]), X)


@pytest.mark.filterwarnings("error")
def test_plans_that_are_read_go_on_as_plans(tmp_path):
    with pytest.warns(dpsparse.DefaultBoundsWarning):
        plan = PrivateSparseClassifier(
            classes=(0, 1), n_iter=7, ledger=privacy.Ledger(tmp_path / "ledger.db", 1.0, 1e-6), random_state=0
        ).plan(10_000, 20)
    (tmp_path / "ledger.db").unlink()  # a plan has no use for it
    again = pickle.loads(pickle.dumps(plan))  # and does not warn once more
    assert again.n_iter == 7
    assert copy.deepcopy(plan) is copy.copy(plan) is plan
    with pytest.warns(dpsparse.DefaultBoundsWarning):
        assert repr(again.curve(epsilons=(1.0, 2.0))) == repr(plan.curve(epsilons=(1.0, 2.0)))


def test_parts_of_searches_have_no_curve():
    part = pickle.loads(pickle.dumps(search().plan(300, 4))).fits[0]
    with pytest.raises(InvalidArgumentError, match="plan must be made"):
        part.curve()


def test_a_plan_that_no_estimator_made_says_so():
    from dpsparse.estimators.private import planned

    with pytest.raises(InvalidArgumentError, match="plan must be made"):
        pickle.dumps(planned(classifier()._facts(300, 4)))
