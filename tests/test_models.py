"""Models as JSON: what comes back is what was written, and nothing else comes in."""

import base64
import copy
import json
import os
import sys
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import dpsparse
from dpsparse import (
    Certificate,
    CustomLoss,
    DisjointGroups,
    DpsparseError,
    FrankWolfe,
    Hinge,
    Huber,
    InvalidArgumentError,
    InvalidDataError,
    InvalidTypeError,
    MissingPackageError,
    ModelFormatError,
    OutputPerturbation,
    Pinball,
    PrivateOnlineSimplex,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    UnsoundMechanismError,
    Vertices,
    models,
)
from dpsparse.mechanisms import MECHANISMS
from dpsparse.norms import GroupLasso
from dpsparse.privacy import (
    Accountant,
    DiscreteGaussianEvent,
    ExponentialEvent,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    PureEvent,
    ZeroConcentratedEvent,
)
from dpsparse.set_functions import (
    Cardinality,
    ConcaveCardinality,
    ContiguousRange,
    FromOracle,
    GraphCut,
    GroupCover,
    LogDet,
    Modular,
    PartitionRank,
    Tree,
)
from dpsparse.tables import Boolean, Category, Date, Number, Schema
from dpsparse.words import explain

N, P = 300, 3
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (N, P))
SCORE = X[:, 0] - 0.5 * X[:, 1] + RNG.normal(0, 0.3, N)
LABELS = np.where(SCORE > 0, "yes", "no")
COUNTS = np.floor(np.exp(SCORE))
NEW = np.random.default_rng(6).uniform(-2, 2, (50, P))
FIXTURE = Path(__file__).parent / "reference" / "model_version_1.json"

VALIDATOR = jsonschema.Draft202012Validator(models.model_schema())
CERTIFICATES = jsonschema.Draft202012Validator(models.certificate_schema())


def classifier(**parameters):
    fixed = {"bounds": (-1, 1), "classes": ("no", "yes"), "epsilon": 2.0}
    return PrivateSparseClassifier(**(fixed | parameters)).fit(X, LABELS)


def regressor(**parameters):
    fixed = {"bounds": (-1, 1), "y_bounds": (-3, 2.5), "epsilon": 2.0}
    return PrivateSparseRegressor(**(fixed | parameters)).fit(X, SCORE)


def counts(**parameters):
    fixed = {"bounds": (-1, 1), "y_bounds": (0, 8), "epsilon": 2.0}
    return PrivateSparsePoissonRegressor(**(fixed | parameters)).fit(X, COUNTS)


def parameters_of(mechanism, make):
    """What a mechanism needs beside its name."""
    needed = {"alpha": 0.01} if mechanism in ("penalised-frank-wolfe", "dual-frank-wolfe") else {}
    if mechanism == "objective-perturbation" and make is regressor:
        needed["loss"] = "huber"
    return {"mechanism": mechanism, **needed}


def written_and_read(model):
    """A model, and what comes back of it; whatever is asked of both must be equal."""
    text = model.to_json()
    again = models.load(text)
    assert type(again) is type(model)
    assert again.to_json() == text
    assert again.certificate_ == model.certificate_
    VALIDATOR.validate(json.loads(text))
    return again


def same_predictions(model, again, records=NEW):
    for name in ("predict", "predict_proba", "decision_function"):
        assert hasattr(again, name) == hasattr(model, name)
        if hasattr(model, name):
            ours, theirs = getattr(model, name)(records), getattr(again, name)(records)
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes() if ours.dtype != object else ours.tolist() == theirs.tolist()


# --- what comes back ---


@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
@pytest.mark.parametrize("make", [classifier, regressor, counts])
def test_a_model_of_every_mechanism_comes_back(make, mechanism):
    model = make(**parameters_of(mechanism, make))
    again = written_and_read(model)
    same_predictions(model, again)
    same_predictions(model, again, sp.csr_array(np.where(NEW > 0, NEW, 0)))
    assert repr(again.summary()) == repr(model.summary())
    assert again.certificate_.verify()
    assert np.array_equal(again.support_, model.support_)
    for name, value in model.get_params().items():
        assert np.array_equal(getattr(again, name), value)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([1, 2], dtype=np.uint8),
        np.array([False, True]),
        np.array([0.5, 2.0], dtype=np.float32),
        np.array(["a", "bc"]),
        np.array(['quo"te', "\u00e9\ud800"], dtype=object),
        np.array([1, 2**70], dtype=object),
    ],
    ids=["int", "uint8", "bool", "float", "text", "odd text", "objects"],
)
def test_labels_keep_their_type(labels):
    y = labels[(SCORE > 0).astype(int)]
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=labels, n_iter=5).fit(X, y)
    again = written_and_read(model)
    assert again.classes_.dtype == model.classes_.dtype
    same_predictions(model, again)


def test_a_softmax_model_comes_back():
    y = np.select([SCORE > 0.4, SCORE < -0.4], ["high", "low"], "middle")
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=("high", "low", "middle"), epsilon=4.0).fit(X, y)
    again = written_and_read(model)
    assert again.coef_.shape == (3, P)
    same_predictions(model, again)
    assert repr(again.summary()) == repr(model.summary())


@pytest.mark.parametrize(
    "model",
    [
        PrivateSimplexClassifier(bounds=(-1, 1), classes=("no", "yes")).fit(X, LABELS),
        PrivateSimplexRegressor(bounds=(-1, 1), y_bounds=(-3, 3)).fit(X, SCORE),
    ],
    ids=["classifier", "regressor"],
)
def test_models_on_the_simplex_come_back(model):
    again = written_and_read(model)
    same_predictions(model, again)
    assert (again.n_draws_, again.regularisation_) == (model.n_draws_, model.regularisation_)


def test_a_search_writes_its_winner_with_its_own_certificate():
    estimator = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-3, 3))
    search = PrivateSearchCV(estimator, {"scale": [None, "private"]}, epsilon=4.0).fit(X, SCORE)
    again = written_and_read(search.best_estimator_)
    assert search.to_json() == search.best_estimator_.to_json()
    assert again.certificate_ == search.certificate_
    assert again.scale == search.best_params_["scale"]
    same_predictions(search, again)


def test_ranges_clip_as_they_did():
    wide = X * [1.0, 0.01, 0.001]
    model = PrivateSparseRegressor(bounds=(-100, 100), y_bounds=(-3, 3), epsilon=20.0, scale="private").fit(wide, SCORE)
    assert model._clips_features
    assert model.feature_ranges_ is not None
    again = written_and_read(model)
    assert np.array_equal(again.feature_ranges_, model.feature_ranges_)
    same_predictions(model, again)


SCHEMA = Schema(
    {
        "age": Number(17, 90, unit="years", missing="flag"),
        "school": Category(["none", "some", "degree"], other="other", reference="none"),
        "insured": Boolean(),
        "since": Date("2020-01-01", "2024-12-31", parts=("quarter",)),
    },
    missing_values=("", "NA"),
)


def people(n, seed):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1800, n)
    ages = rng.integers(10, 95, n).astype(float)
    ages[:3] = np.nan
    return pd.DataFrame(
        {
            "since": days,
            "age": ages,
            "insured": rng.random(n) < 0.5,
            "school": rng.choice(["none", "some", "degree", "elsewhere"], n),
        }
    )


def test_a_model_with_a_schema_predicts_from_tables():
    frame = people(400, 0)
    y = frame["insured"].to_numpy() ^ (np.random.default_rng(1).random(400) < 0.2)
    model = PrivateSparseClassifier(schema=SCHEMA, classes=(False, True), norm="groups").fit(frame, y)
    again = written_and_read(model)
    assert again.schema_ == SCHEMA
    assert again.schema == SCHEMA
    assert list(again.coef_names_) == list(model.coef_names_)
    assert list(again.feature_names_in_) == list(SCHEMA.attributes)
    other = people(60, 2)
    same_predictions(model, again, other)
    same_predictions(model, again, {name: other[name].to_numpy() for name in SCHEMA})
    assert repr(again.summary()) == repr(model.summary())
    assert explain(again) == explain(model)


def test_a_model_of_a_data_frame_knows_its_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    bounds = {"c": (-1, 1), "a": (-1, 1), "b": (-2, 2)}
    model = PrivateSparseRegressor(bounds=bounds, y_bounds=(-3, 3), mechanism="output-perturbation", scale=None)
    model = model.fit(frame, SCORE)
    again = written_and_read(model)
    same_predictions(model, again, pd.DataFrame(NEW, columns=["a", "b", "c"]))
    assert again.bounds == bounds
    assert np.array_equal(again.coef_interval(), model.coef_interval())
    with pytest.raises(ValueError, match="feature names"):
        again.predict(pd.DataFrame(NEW, columns=["a", "b", "d"]))


NORMS = {
    "groups": (DisjointGroups([[0, 2], [1]]), "frank-wolfe"),
    "group labels": (DisjointGroups(np.array([1, 0, 1])), "frank-wolfe"),
    "vertices": (Vertices([[1, 0, 0], [0, 1, 0.1], [-1, -1, 1]]), "frank-wolfe"),
    "cardinality": (Cardinality(P), "noisy-proximal-gradient"),
    "concave": (ConcaveCardinality([1.0, 1.5, 1.7]), "noisy-proximal-gradient"),
    "cover": (GroupCover([[0, 1], [1, 2]], weights=[1.0, 3.0]), "noisy-proximal-gradient"),
    "tree": (Tree([[0, 1, 2], [1, 2]], n_features=P), "noisy-proximal-gradient"),
    "range": (ContiguousRange(P), "noisy-proximal-gradient"),
    "rank": (PartitionRank([[0, 1], [2]], [1, 1]), "noisy-proximal-gradient"),
    "kernel": (LogDet(np.eye(P) + 0.25, noise=1.0), "noisy-proximal-gradient"),
    "group lasso": (GroupLasso([[0, 2], [1]], l1=0.5), "noisy-proximal-gradient"),
    "weighted group lasso": (GroupLasso([[0, 2], [1, 2]], [0.25, 3.0]), "noisy-gradient-frank-wolfe"),
    "sum": (2.5 * Cardinality(P) + Modular([0.1, 0.2, 0.3]), "noisy-proximal-gradient"),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_come_back(name):
    norm, mechanism = NORMS[name]
    model = regressor(norm=norm, mechanism=mechanism, n_iter=3)
    again = written_and_read(model)
    same_predictions(model, again)
    assert again.plan(1000, P).noise_scales == model.plan(1000, P).noise_scales
    if hasattr(norm, "norm"):
        assert repr(again.norm) == repr(norm)


def test_a_cut_comes_back():
    cut = GraphCut(np.array([[0, 1], [1, 2]]), n_features=P)
    model = regressor(norm=cut, mechanism=dpsparse.NoisyProximalGradient(alpha=0.01, n_iter=3))
    assert written_and_read(model).norm.lovasz([0.0, 3.0, 5.0]) == 5.0


@pytest.mark.parametrize(
    "parameters",
    [
        {"mechanism": FrankWolfe(n_iter=7, radius=2.0)},
        {"mechanism": OutputPerturbation(noise="laplace"), "scale": None},
        {"loss": Huber(threshold=0.5)},
        {"loss": Pinball(level=0.9), "adjacency": "add-remove", "n_public": 250, "delta": 1e-6},
        {"bounds": (np.array([-1.0, -2, -1]), np.array([1.0, 1, 1])), "max_weight": 2.0, "records_per_person": 2},
        {"bounds": np.array([[-1, 1], [-1, 1], [-1, 1]]), "fit_intercept": False, "epsilon": np.float32(1.5)},
    ],
    ids=["frank-wolfe", "output-perturbation", "huber", "pinball", "persons", "no intercept"],
)
def test_parameters_come_back(parameters):
    model = regressor(**parameters)
    again = written_and_read(model)
    same_predictions(model, again)
    for name, value in parameters.items():
        if name != "bounds":
            assert getattr(again, name) == value
    ours, theirs = model.plan(500, P), again.plan(500, P)
    assert ours.events == theirs.events
    assert ours.noise_scales == theirs.noise_scales


def test_the_loss_decides_on_probabilities_as_before():
    hinge = classifier(loss=Hinge(width=0.2), mechanism="frank-wolfe", n_iter=3)
    again = written_and_read(hinge)
    assert again.loss == Hinge(width=0.2)
    assert not hasattr(again, "predict_proba")


@pytest.mark.parametrize("weights", [None, np.full(N, 2.0)], ids=["without", "with"])
def test_intervals_come_back(weights):
    given = {} if weights is None else {"sample_weight": weights}
    model = PrivateSparseRegressor(
        epsilon=2.0, bounds=(-1, 1), y_bounds=(-3, 3), mechanism="output-perturbation", scale=None, max_weight=2.0
    ).fit(X, SCORE, **given)
    again = written_and_read(model)
    for confidence in (0.5, 0.99):
        assert np.array_equal(again.coef_interval(confidence), model.coef_interval(confidence))
    assert np.array_equal(again.coef_std(), model.coef_std())
    again.set_params(epsilon=1.0)
    assert models.load(again.to_json()).to_json() == again.to_json()
    with pytest.raises(InvalidArgumentError, match="those of the fit"):
        models.load(again.to_json()).coef_interval()


def test_estimates_for_the_population_come_back():
    rng = np.random.default_rng(0)
    many = rng.uniform(-1, 1, (20_000, 3))
    y = many @ [1.0, -0.5, 0.0] + rng.normal(0, 0.5, 20_000)
    model = PrivateSparseRegressor(epsilon=2.0, bounds=(-1, 1), y_bounds=(-5, 5)).fit(many, y)
    again = written_and_read(model)
    for ours, theirs in zip(model.population_estimates(), again.population_estimates(), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(again.coef_interval(), model.coef_interval())
    refused = regressor(epsilon=0.1)
    with pytest.raises(UnsoundMechanismError) as why:
        refused.coef_interval()
    with pytest.raises(UnsoundMechanismError) as again_why:
        written_and_read(refused).coef_interval()
    assert str(again_why.value) == str(why.value)


# --- what is not written ---


def test_a_users_own_parts_are_left_out_and_predictions_do_without():
    own = FromOracle(lambda A: float(len(A)), P)
    loss = CustomLoss(lambda z, y: np.tanh(z - y))
    model = PrivateSparseClassifier(
        loss=loss,
        norm=own + Cardinality(P),
        mechanism="noisy-proximal-gradient",
        n_iter=3,
        bounds=(-1, 1),
        classes=("no", "yes"),
    ).fit(X, LABELS)
    document = json.loads(model.to_json())
    assert set(document["left_out"]) == {"loss", "norm"}
    again = written_and_read(model)
    same_predictions(model, again)
    assert not hasattr(again, "predict_proba")
    assert again.certificate_.verify()
    assert len(again.summary()) == len(model.summary())
    with pytest.raises(InvalidArgumentError, match="LeftOut"):
        again.fit(X, LABELS)


def test_what_belongs_to_the_place_of_a_fit_is_not_written():
    ledger = Accountant(10.0, 1e-5)
    model = classifier(delta=1e-6, ledger=ledger, random_state=8_675_309, verbose=0, n_iter=3)
    text = model.to_json()
    for word in ("random_state", "ledger", "verbose", "8675309"):
        assert word not in text
    again = models.load(text)
    assert (again.random_state, again.ledger, again.verbose) == (None, None, 0)
    assert not again.certificate_.verify()  # it was seeded
    assert not again.certificate_.secure


def test_what_is_no_fitted_model_is_not_written(tmp_path):
    class Own(PrivateSparseClassifier):
        pass

    own = Own(bounds=(-1, 1), classes=("no", "yes"), n_iter=3).fit(X, LABELS)
    for other in (own, dpsparse.SparseRegressor(alpha=0.1).fit(X, SCORE), object()):
        with pytest.raises(InvalidTypeError, match="are written of"):
            models.dumps(other)
    for unfitted in (PrivateSparseRegressor(), PrivateSearchCV(PrivateSparseRegressor(), {"scale": [None]})):
        with pytest.raises(NotFittedError):
            models.save(unfitted, tmp_path / "model.json")
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    dated = PrivateSparseClassifier(bounds=(-1, 1), classes=days, n_iter=3).fit(X, days[(SCORE > 0).astype(int)])
    with pytest.raises(InvalidTypeError, match="classes must be"):
        dated.to_json()
    assert not list(tmp_path.iterdir())


# --- what is not read ---


GOOD = json.loads(classifier(mechanism="frank-wolfe", n_iter=5).to_json())
GOOD_REGRESSOR = json.loads(regressor(mechanism="frank-wolfe", n_iter=5).to_json())
DELETE = object()


def changed(document, path, value):
    """A copy with one part replaced, or taken out."""
    document = copy.deepcopy(document)
    at = document
    for step in path[:-1]:
        at = at[step]
    if value is DELETE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


BROKEN_FORM = {
    "another format": (("format",), "dpsparse-certificate-2"),
    "a later version": (("version",), 2),
    "version 0": (("version",), 0),
    "a version that is true": (("version",), True),
    "no version": (("version",), DELETE),
    "no certificate": (("certificate",), DELETE),
    "no state": (("state",), DELETE),
    "an unknown part": (("more",), 1),
    "an unknown estimator": (("estimator",), "os.system"),
    "a list for an estimator": (("estimator",), ["PrivateSparseClassifier"]),
    "a package that is no text": (("package",), 1),
    "parameters that are no object": (("parameters",), [1]),
    "a parameter of another form": (("parameters", "epsilon"), [1.0]),
    "left out for no reason": (("left_out",), {"alpha": None}),
    "a mechanism of another form": (("parameters", "mechanism"), {"name": "frank-wolfe"}),
    "a norm of another form": (("parameters", "norm"), {"callable": "print"}),
    "bounds of another form": (("parameters", "bounds"), {"lower": [0.0]}),
    "classes of another form": (("parameters", "classes"), ["no", "yes"]),
    "a state of another class": (("state",), GOOD_REGRESSOR["state"]),
    "coefficients of text": (("state", "coef"), [["1", "2", "3"]]),
    "a coefficient that is missing": (("state", "coef"), [[1.0, None, 2.0]]),
    "no coefficients": (("state", "coef"), []),
    "labels of another type": (("state", "classes", "dtype"), "datetime64[D]"),
    "one label": (("state", "classes", "values"), ["no"]),
    "two equal labels": (("state", "classes", "values"), ["no", "no"]),
    "iterations that are no number": (("state", "n_iter"), "many"),
    "a flag that is a number": (("state", "clips_features"), 1),
    "a population of another form": (("state", "population"), {"estimate": [1.0]}),
    "noise of another form": (("state", "noise"), {"weighted": 1}),
    "a certificate without a checksum": (("certificate", "checksum"), DELETE),
    "a certificate of another format": (("certificate", "format"), "dpsparse-certificate-3"),
    "an event of no kind": (("certificate", "events", 0, "event", "kind"), "magic"),
    "a negative epsilon": (("certificate", "claimed_epsilon"), -1.0),
    "a signature of another form": (("signature",), {"algorithm": "none", "value": ""}),
    "a signature of another length": (("signature",), {"algorithm": "Ed25519", "value": "AAAA"}),
}

DISAGREES = {
    "coefficients of several lengths": (("state", "coef"), [[1.0, 2.0], [1.0]]),
    "a coefficient too many": (("state", "coef"), [[1.0, 2.0, 3.0, 4.0]]),
    "a score too many": (("state", "coef"), [[1.0, 2.0, 3.0]] * 2),
    "an intercept too many": (("state", "intercept"), [1.0, 2.0]),
    "labels out of order": (("state", "classes", "values"), ["yes", "no"]),
    "labels that are not of their type": (("state", "classes", "dtype"), "int64"),
    "integers beyond their type": (("state", "classes"), {"dtype": "int8", "values": [1, 1000]}),
    "a label too many": (("state", "classes", "values"), ["a", "b", "c"]),
    "features too many": (("state", "n_features"), 4),
    "a name too few": (("state", "feature_names"), ["a", "b"]),
    "a schema of other columns": (("state", "schema"), json.loads(SCHEMA.to_json())),
    "a schema to be filled in": (("state", "schema"), {"fields": [{"name": "a", "type": "number"}]}),
    "ranges upside down": (("state", "feature_ranges"), [[1.0, 0.0]] * P),
    "ranges too few": (("state", "feature_ranges"), [[0.0, 1.0]]),
    "a parameter of another class": (("parameters", "y_bounds"), [0.0, 1.0]),
    "an unknown mechanism": (("parameters", "mechanism"), {"name": "none", "options": {}}),
    "an unknown option": (("parameters", "mechanism"), {"name": "frank-wolfe", "options": {"code": "1"}}),
    "an unknown family": (("parameters", "norm"), {"family": "FromOracle", "arguments": {"callable": "x", "p": 3}}),
    "a parameter twice": (("left_out",), {"epsilon": "why"}),
    "a certificate of other features": (("certificate", "n_features"), 4),
    "a certificate of a regression": (("certificate",), GOOD_REGRESSOR["certificate"]),
    "bounds of the certificate upside down": (("certificate", "bounds"), {"lower": [1.0], "upper": [0.0]}),
}


def test_the_untouched_document_is_read():
    VALIDATOR.validate(GOOD)
    assert models.load(GOOD).to_json() == models.load(json.dumps(GOOD)).to_json()


@pytest.mark.parametrize("name", [*BROKEN_FORM, *DISAGREES])
def test_broken_documents_are_refused(name):
    path, value = (BROKEN_FORM | DISAGREES)[name]
    broken = changed(GOOD, path, value)
    if name in BROKEN_FORM:
        assert not VALIDATOR.is_valid(broken)
    for source in (broken, json.dumps(broken)):
        with pytest.raises(ModelFormatError):
            models.load(source)


def paths(part, at=()):
    """The paths of all parts of a document."""
    if at:
        yield at
    for step, inner in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from paths(inner, (*at, step))


ODD = [[], -1]
MORE_ODD = ["x", None, True, 0, 3, 1e9, {}, [[]], [1.0, 2.0, 3.0], ["a", "b"], {"name": "x"}]


@pytest.mark.parametrize("values", [ODD, pytest.param(MORE_ODD, marks=pytest.mark.slow)], ids=["some", "more"])
def test_a_document_with_any_part_changed_is_refused_or_is_a_model(values):
    document = json.loads(FIXTURE.read_text())
    table = {"age": [30.0, None], "school": ["none", "x"], "insured": [True, False]}
    n_read = n_refused = 0
    for path in paths(document):
        for value in values:
            try:
                model = models.load(changed(document, path, value))
            except ModelFormatError:
                n_refused += 1
                continue
            n_read += 1
            assert models.load(model.to_json()).to_json() == model.to_json()
            # A schema that was changed may refuse the table, in words of its own.
            with suppress(InvalidDataError):
                assert np.isfinite(model.decision_function(table)).all()
    assert n_read > 20
    assert n_refused > n_read


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("state", "target_bounds"), [-3.0, 2.0]),
        (("state", "target_bounds"), [-3.0]),
        (("state", "coef"), [[1.0, 2.0, 3.0]]),
        (("state", "intercept"), [0.0]),
        (("state", "classes"), {"dtype": "str", "values": ["a", "b"]}),
        (("parameters", "y_bounds"), [1.0, 2.0, 3.0]),
        (("parameters", "loss"), {"name": "user", "options": {}}),
    ],
)
def test_broken_regressions_are_refused(path, value):
    with pytest.raises(ModelFormatError):
        models.load(changed(GOOD_REGRESSOR, path, value))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400])
def test_numbers_that_are_none_are_refused(number):
    text = json.dumps(changed(GOOD, ("state", "coef"), [[0.125, 0.0, 0.0]])).replace("0.125", number)
    assert number in text
    with pytest.raises(ModelFormatError):
        models.load(text)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"format": "dpsparse-model"',
        '{"format": "dpsparse-model", "version": 1, "version": 1}',
        '{"a": ' + "[" * 200_000,
        '{"format": "dpsparse-model", "version": ' + "1" * 10_000 + "}",
    ],
    ids=["a brace", "cut off", "a name twice", "deep nesting", "a long integer"],
)
def test_text_that_is_no_document_is_refused(text, tmp_path):
    with pytest.raises(ModelFormatError):
        models.load(text)
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ModelFormatError):
        models.load(tmp_path / "model.json")


def test_a_later_version_says_what_to_do():
    with pytest.raises(ModelFormatError, match=r"version 7 .* reads versions up to 1: install a later one"):
        models.load(changed(GOOD, ("version",), 7))


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(FileNotFoundError):
        models.load(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelFormatError, match="UTF-8"):
        models.load(tmp_path / "bytes.json")
    for source in (None, 7, "", b"{}"):
        with pytest.raises(InvalidArgumentError):
            models.load(source)
    with pytest.raises(ModelFormatError):
        models.load(GOOD | {"state": object()})


@pytest.mark.parametrize("text", ["junk", "[1]", '"a"', "no/such/file", "junk\n" * 9, "x" * 5000, "a\0b"])
def test_text_that_is_neither_json_nor_a_file(text):
    for read in (models.load, PrivateSparseClassifier.from_json):
        with pytest.raises(
            ModelFormatError, match=r"is no JSON of a model, .* and no path of a file that is there"
        ) as no:
            read(text)
        assert len(str(no.value)) < 200
        with pytest.raises(FileNotFoundError):
            read("no/such/file.json")


def test_a_class_reads_its_own_models_alone():
    assert type(PrivateSparseClassifier.from_json(json.dumps(GOOD))) is PrivateSparseClassifier
    with pytest.raises(ModelFormatError, match="holds a PrivateSparseClassifier, not a PrivateSparseRegressor"):
        PrivateSparseRegressor.from_json(json.dumps(GOOD))


def test_a_certificate_that_was_changed_does_not_verify_and_says_so():
    again = models.load(changed(GOOD, ("certificate", "n_samples"), 3_000_000))
    assert not again.certificate_.verify()
    assert explain(again).startswith("NO GUARANTEE: this certificate was changed")
    assert "times as probable" not in explain(again)


# --- files ---


def test_save_replaces_whole_files(tmp_path):
    path = tmp_path / "model.json"
    model = models.load(GOOD)
    models.save(model, path)
    assert path.read_text() == model.to_json()
    assert models.load(str(path)).to_json() == model.to_json()
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    link = tmp_path / "link.json"
    link.symlink_to(path)
    models.save(models.load(GOOD_REGRESSOR), link)
    assert link.is_symlink()
    assert type(models.load(path)) is PrivateSparseRegressor
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "model.json"]
    for wrong in (None, "", 3):
        with pytest.raises(InvalidArgumentError):
            models.save(model, wrong)
    longest = tmp_path / ("n" * 250 + ".json")
    models.save(model, longest)
    assert models.load(longest).to_json() == model.to_json()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_save_takes_no_place_but_that_of_a_file(tmp_path):
    """As root, /dev/null would be a file after it."""
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(pipe)
    for place in (pipe, folder, link):
        with pytest.raises(InvalidArgumentError, match="a folder, a pipe or a device"):
            models.save(models.load(GOOD), place)
    assert pipe.is_fifo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "link", "pipe"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_file_alone(step, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, stop)
    with pytest.raises(KeyboardInterrupt):
        models.save(models.load(GOOD), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_a_model_of_version_1_is_still_read():
    document = json.loads(FIXTURE.read_text())
    assert document["version"] == 1
    VALIDATOR.validate(document)
    model = models.load(FIXTURE)
    table = {"age": [30.0, None, 200.0], "school": ["degree", "none", "elsewhere"], "insured": [True, False, True]}
    # What the model said when it was written.
    scores = [-0.2651065512967037, 1.2707163581516867, 3.4242430292020143]
    assert model.decision_function(table).tolist() == pytest.approx(scores, rel=1e-12)
    assert model.predict(table).tolist() == ["no", "yes", "yes"]
    assert model.certificate_.verify()
    assert model.certificate_.claim == (1.0, 1e-6)
    assert models.load(model.to_json()).to_json() == model.to_json()


# --- schemas ---


def test_the_schemas_are_shipped_and_are_schemas():
    for name, schema in (("model", models.model_schema()), ("certificate", models.certificate_schema())):
        jsonschema.Draft202012Validator.check_schema(schema)
        shipped = json.loads((files("dpsparse") / "schemas" / f"{name}.json").read_text())
        assert shipped["$id"] == schema["$id"]
    assert models.model_schema()["properties"]["version"]["const"] == 1
    assert models.certificate_schema()["properties"]["format"]["const"] == GOOD["certificate"]["format"]


EVENTS = [
    GaussianEvent(1.0, 2.0),
    DiscreteGaussianEvent(1.0, 2.0),
    ExponentialEvent(0.1),
    PureEvent(0.1),
    LaplaceEvent(1.0, 2.0),
    ZeroConcentratedEvent(0.1),
    FailureEvent(1e-9),
    ObjectivePerturbationEvent(1.0, 2.0, 0.5),
    ObjectivePerturbationEvent(1.0, 2.0, 0.0, "add-remove"),
]


def every_certificate():
    """Certificates of every mechanism, and of what is no model."""
    for mechanism in MECHANISMS:
        for make in (classifier, regressor, counts):
            yield make(**parameters_of(mechanism, make)).certificate_
    for noise in ("gaussian", "gamma", "laplace"):
        yield regressor(mechanism=OutputPerturbation(noise=noise), scale=None).certificate_
    yield classifier(mechanism="noisy-newton", adjacency="add-remove", n_public=N, delta=1e-6).certificate_
    yield classifier(mechanism="select-refit", scale="private").certificate_
    yield PrivateScaler(epsilon=0.5, bounds=(0, 10)).fit(X).certificate_
    leader = PrivateOnlineSimplex(1.0, 1e-6, horizon=10, n_features=3, bound=1.0)
    leader.update([0.0, 0.5, 1.0])
    yield leader.certificate_
    y = np.select([SCORE > 0.4, SCORE < -0.4], [2, 0], 1)
    yield PrivateSparseClassifier(bounds=(-1, 1), n_iter=3).fit(X, y).certificate_


def test_real_certificates_are_of_the_schema():
    kinds, targets = set(), set()
    for certificate in every_certificate():
        document = json.loads(certificate.to_json())
        CERTIFICATES.validate(document)
        kinds |= {spent["event"]["kind"] for spent in document["events"]}
        target = document["target"]
        targets.add(target if target is None or isinstance(target, str) else next(iter(target)))
    assert kinds >= {"gaussian", "exponential", "laplace", "objective-perturbation"}
    assert targets == {None, "classes", "multiclass", "interval", "counts"}


def test_every_kind_of_event_is_of_the_schema():
    # Any events make a certificate of the right form, whether or not their cost is the claimed one.
    document = json.loads(regressor(mechanism="frank-wolfe", n_iter=3).certificate_.to_json())
    forms = models.certificate_schema()["$defs"]["event"]["oneOf"]
    assert {form["properties"]["kind"]["const"] for form in forms} == {
        "discrete-gaussian",
        "exponential",
        "failure",
        "gaussian",
        "laplace",
        "objective-perturbation",
        "pure",
        "zero-concentrated",
    }
    for event in EVENTS:
        fields = {name: getattr(event, name) for name in FIELDS[type(event).__name__]}
        kind = "".join(f"-{c.lower()}" if c.isupper() else c for c in type(event).__name__.removesuffix("Event"))[1:]
        adjacency = fields.get("adjacency", document["adjacency"])
        spent = {"event": {"kind": kind, **fields}, "count": 2}
        changed_document = document | {"events": [spent], "adjacency": adjacency}
        CERTIFICATES.validate(changed_document)
        ((read, count),) = Certificate.from_json(json.dumps(changed_document)).events
        assert (read, count) == (event, 2)


FIELDS = {
    "GaussianEvent": ("sensitivity", "sigma"),
    "DiscreteGaussianEvent": ("sensitivity", "sigma"),
    "ExponentialEvent": ("epsilon0",),
    "PureEvent": ("epsilon",),
    "LaplaceEvent": ("sensitivity", "scale"),
    "ZeroConcentratedEvent": ("rho",),
    "FailureEvent": ("delta",),
    "ObjectivePerturbationEvent": ("lipschitz_norm", "sigma", "curvature_log", "adjacency"),
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "dpsparse-certificate-1"),
        (("claimed_epsilon",), 0),
        (("claimed_delta",), 1.0),
        (("events", 0, "count"), 0),
        (("events", 0, "event", "epsilon0"), -0.1),
        (("events", 0, "event"), {"kind": "gaussian", "sensitivity": 1.0}),
        (("adjacency",), "neighbours"),
        (("n_samples",), 0),
        (("row_norm",), DELETE),
        (("target",), {"interval": {"low": 0.0}}),
        (("secure",), "yes"),
        (("checksum",), "xyz"),
        (("more",), 1),
    ],
)
def test_broken_certificates_are_not_of_the_schema(path, value):
    document = GOOD["certificate"]
    assert "epsilon0" in document["events"][0]["event"]
    CERTIFICATES.validate(document)
    broken = changed(document, path, value)
    assert not CERTIFICATES.is_valid(broken)
    if path == ("checksum",):
        # Its form is the schema's affair: no other text is the checksum of the contents.
        assert not Certificate.from_json(json.dumps(broken)).verify()
        return
    with pytest.raises(DpsparseError):
        Certificate.from_json(json.dumps(broken))


# --- signatures ---


KEYS = models.generate_key()
SIGNED = models.sign(GOOD, KEYS[0])


def test_a_signature_holds_whatever_the_layout():
    document = json.loads(SIGNED)
    VALIDATOR.validate(document)
    assert models.verify_signature(SIGNED, KEYS[1])
    turned = dict(reversed(document.items()))
    for text in (json.dumps(turned), json.dumps(document, indent=7, ensure_ascii=False)):
        assert models.verify_signature(text, KEYS[1].encode())
    assert models.load(SIGNED).to_json() == models.load(GOOD).to_json()
    assert models.sign(SIGNED, KEYS[0]) == SIGNED  # Ed25519 has no randomness, and the old signature is replaced


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("state", "coef", 0, 1), 0.5),
        (("state", "classes", "values"), ["mo", "yes"]),
        (("parameters", "epsilon"), 1.0),
        (("certificate", "n_samples"), 301),
        (("package",), "0.0.1"),
        (("left_out",), {"n_iter": "no reason"}),
    ],
)
def test_a_signature_covers_every_part(path, value):
    document = changed(json.loads(SIGNED), path, value)
    assert not models.verify_signature(document, KEYS[1])


def test_only_the_owner_of_the_key_signs():
    assert not models.verify_signature(SIGNED, models.generate_key()[1])
    assert not models.verify_signature(GOOD, KEYS[1])  # none at all
    other = models.sign(SIGNED, models.generate_key()[0])
    assert not models.verify_signature(other, KEYS[1])
    value = json.loads(other)["signature"]["value"]
    assert len(base64.b64decode(value)) == 64


def test_canonical_bytes_are_what_the_docstring_says():
    document = {"signature": 1, "b": [True, None, -0.0, 1e16, 1e-7, 12], "ä": {"z": "\n\U0001f600", "Z": 0.1}}
    expected = b'{"b":[true,null,-0.0,1e+16,1e-07,12],"\\u00e4":{"Z":0.1,"z":"\\n\\ud83d\\ude00"}}'
    assert models.canonical(document) == expected
    with pytest.raises(ModelFormatError):
        models.canonical({"x": float("nan")})


@pytest.mark.parametrize("key", ["", "no key", b"\xff", KEYS[1]], ids=["empty", "text", "bytes", "the other half"])
def test_what_is_no_private_key_is_refused(key):
    with pytest.raises(InvalidArgumentError, match="private_key_pem must be an Ed25519"):
        models.sign(GOOD, key)


def test_what_is_no_public_key_is_refused():
    with pytest.raises(InvalidArgumentError, match="public_key_pem must be an Ed25519"):
        models.verify_signature(SIGNED, KEYS[0])
    with pytest.raises(InvalidTypeError):
        models.verify_signature(SIGNED, None)


def test_without_cryptography_it_says_how_to_get_it(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    for task in (lambda: models.sign(GOOD, KEYS[0]), lambda: models.verify_signature(SIGNED, KEYS[1])):
        with pytest.raises(MissingPackageError, match=r'pip install "dpsparse\[sign\]"'):
            task()
