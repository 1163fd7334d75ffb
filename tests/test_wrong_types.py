"""Every public call with arguments of wrong types and beyond all ranges: an error of this package, or none at all.

What a function of the user's raises goes through as it is, and what pickle, copy and operators ask for is theirs.
"""

import dataclasses
import inspect
import types
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dpsparse
from dpsparse import (
    ClippedLogistic,
    CustomLoss,
    DisjointGroups,
    DpsparseError,
    FrankWolfe,
    Hinge,
    Huber,
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
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    Vertices,
    blocks,
    combinatorial,
    datasets,
    displays,
    distributed,
    mechanisms,
    models,
    norms,
    privacy,
    set_functions,
    tables,
    testing,
    theory,
    words,
)
from dpsparse.privacy import noise

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (30, 3))
LABELS, TARGETS, COUNTS = np.arange(30) % 2, X[:, 0], np.arange(30) % 3
COVERED = rng.uniform(size=(50, 4)) > 0.5

WRONG = {
    "None": None,
    "text": "a",
    "no text": "",
    "bytes": b"a",
    "zero": 0,
    "negative": -1,
    "half": 2.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "truth": True,
    "beyond floats": 10**400,
    "complex": 1j,
    "list": [],
    "mapping": {},
    "set": {1},
    "object": object(),
    "type": int,
    "ragged": [[1], [1, 2]],
    "texts": ["a", "b"],
    "Nones": [None, None],
    "objects": np.array([None, "a", 1], dtype=object),
    "square": np.ones((2, 2)),
    "array of no dimension": np.array(1.5),
    "float of numpy": np.float32(0.5),
    "integer of numpy": np.int64(2),
    "missing": pd.NA,
    "no time": pd.NaT,
    "days": np.timedelta64(2, "D"),  # of numpy's signed integers, as the next
    "nanoseconds": np.timedelta64(2, "ns"),
    "series": pd.Series([1.0, 2.0]),
    "frame": pd.DataFrame({"q": [1]}),
    "sparse": sp.csr_matrix(np.eye(3)),
    "estimator": SparseRegressor(alpha=0.1),
    "decimal": Decimal("0.5"),
    "zero byte": "a\0b",
}

#: What is refused by every argument of a name, whatever it is of.
NO_NUMBERS = {"text", "no text", "bytes", "NaN", "complex", "list", "mapping", "set", "object", "type", "ragged"} | {
    "texts",
    "Nones",
    "objects",
    "square",
    "missing",
    "no time",
    "days",
    "nanoseconds",
    "series",
    "frame",
    "sparse",
    "estimator",
    "zero byte",
}
NO_COUNTS = NO_NUMBERS | {"half", "negative", "infinity", "float of numpy", "decimal"}
NO_FLAGS = (NO_NUMBERS | {"half", "negative", "float of numpy", "decimal"}) - {"truth"}
NO_TEXT = (NO_NUMBERS | NO_COUNTS | {"zero", "truth"}) - {"text", "no text", "zero byte"}
REFUSED = {
    "alpha beta bound confidence curvature delta distance epsilon epsilon0 floor gamma held_out l1 l1_ratio level "
    "lipschitz log_candidates margin noise output penalty radius refit_share residual_bound rho ridge row_norm "
    "sensitivity sigma step threshold tilt tol trace": NO_NUMBERS,
    "horizon max_features max_iter max_samples n_alphas n_candidates n_columns n_draws n_features n_iter n_passes "
    "n_public n_runs n_samples n_selected n_trials p records_per_person rows size": NO_COUNTS,
    "as_sparse classification fit_intercept only_support verbose warm_start": NO_FLAGS,
    "adjacency backend dataset library mode quantity refresh refit solver target": NO_TEXT,
}
REFUSED_BY_NAME = {name: values for names, values in REFUSED.items() for name in names.split()}


def parameters(kind, **stated):
    """The parameters of an estimator, with public facts that let it be fitted."""
    given = {name: p.default for name, p in inspect.signature(kind).parameters.items() if p.default is not p.empty}
    facts = {"bounds": (-1, 1), "classes": (0, 1), "random_state": 0, "y_bounds": (-1, 1)} | stated
    return given | {name: value for name, value in facts.items() if name in inspect.signature(kind).parameters}


def events_and_costs(subject, folder):
    certificate = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), n_iter=2).fit(X, LABELS).certificate_
    event, total = privacy.GaussianEvent(1.0, 4.0), {"epsilon": 5.0, "delta": 1e-5}
    for kind, fields in {
        privacy.GaussianEvent: ("sensitivity", "sigma"),
        privacy.DiscreteGaussianEvent: ("sensitivity", "sigma"),
        privacy.LaplaceEvent: ("sensitivity", "scale"),
        privacy.ExponentialEvent: ("epsilon0",),
        privacy.PureEvent: ("epsilon",),
        privacy.ZeroConcentratedEvent: ("rho",),
        privacy.FailureEvent: ("delta",),
    }.items():
        subject(kind.__name__, kind, **dict.fromkeys(fields, 0.5))
    tilt = {"lipschitz_norm": 1.0, "sigma": 2.0, "curvature_log": 0.1, "adjacency": "replace-one"}
    subject("ObjectivePerturbationEvent", privacy.ObjectivePerturbationEvent, **tilt)
    subject("GaussianEvent.renyi", event.renyi, order=2.0)
    subject("Accountant", privacy.Accountant, **total)
    subject("Accountant.add", lambda **given: privacy.Accountant().add(**given), event=event, count=1)
    spent = privacy.Accountant(**total).add(event)
    for method in ("epsilon", "remaining", "spent"):
        subject(f"Accountant.{method}", getattr(spent, method), delta=1e-6)
    subject("Accountant.delta", spent.delta, epsilon=1.0)
    subject("Accountant.admits", spent.admits, certificate=certificate, records_per_person=1)
    of_release = {"certificate": certificate, "records_per_person": 1, "release": None}
    subject("Accountant.commit", lambda **given: privacy.Accountant(**total).commit(**given), **of_release)
    subject("Certificate.epsilon", certificate.epsilon, delta=1e-6)
    subject("Certificate.delta", certificate.delta, epsilon=1.0)
    subject("Certificate.from_json", dpsparse.Certificate.from_json, text=certificate.to_json())
    subject(
        "calibrate",
        privacy.calibrate,
        make_event=lambda sigma: privacy.GaussianEvent(1.0, sigma),
        count=1,
        epsilon=1.0,
        delta=1e-6,
        bracket=(0.1, 100.0),
    )
    subject("rho_from_epsilon", privacy.rho_from_epsilon, epsilon=1.0, delta=1e-6)
    subject("epsilon_from_rho", privacy.epsilon_from_rho, rho=0.1, delta=1e-6)
    subject("gaussian_sigma", privacy.gaussian_sigma, sensitivity=1.0, epsilon=1.0, delta=1e-6)
    for draw, scale in (("rounded_gaussian", "sigma"), ("discrete_gaussian", "sigma"), ("discrete_laplace", "scale")):
        subject(f"noise.{draw}", getattr(noise, draw), **{scale: 2.0, "size": 2, "seed": None})
    subject("noise.bernoulli_exp", noise.bernoulli_exp, gamma=0.2, size=2, seed=None)
    subject(
        "noise.exponential_mechanism",
        noise.exponential_mechanism,
        scores=[0, 1],
        sensitivity=1,
        epsilon=1.0,
        size=1,
        seed=None,
        constant_time=False,
    )
    subject("certificate +", lambda other: certificate + other, other=certificate)
    subject("Accountant +", lambda other: privacy.Accountant() + other, other=certificate)
    convert = {"accountant": "auto", "leave_out_failures": False}
    subject("Certificate.to_dp_accounting", certificate.to_dp_accounting, **convert)
    subject("verify_certificate", testing.verify_certificate, certificate=certificate)


def ledgers(subject, folder):
    folder.mkdir(parents=True, exist_ok=True)
    certificate = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), n_iter=2).fit(X, LABELS).certificate_
    numbers = iter(range(10**6))

    def fresh():
        return folder / f"{next(numbers)}.db"

    total = {"epsilon": 5.0, "delta": 1e-5}
    subject(
        "Ledger",
        lambda **given: privacy.Ledger(fresh(), **given),
        **total,
        dataset="d",
        adjacency=None,
        records_per_person=1,
        head=None,
        timeout=1.0,
    )
    subject("Ledger of a path", lambda path: privacy.Ledger(path, **total), path=fresh())
    ledger = privacy.Ledger(fresh(), **total)
    subject("Ledger.remaining", ledger.remaining, delta=1e-6)
    subject("Ledger.spent", ledger.spent, delta=1e-6)
    subject("Ledger.admits", ledger.admits, certificate=certificate, records_per_person=1)
    subject(
        "Ledger.commit",
        lambda **given: privacy.Ledger(fresh(), **total).commit(**given),
        certificate=certificate,
        records_per_person=1,
        release=None,
    )


FITTED = {
    PrivateSparseClassifier: LABELS,
    PrivateSparseRegressor: TARGETS,
    PrivateSparsePoissonRegressor: COUNTS,
    PrivateSimplexClassifier: LABELS,
    PrivateSimplexRegressor: TARGETS,
    SparseClassifier: LABELS,
    SparseRegressor: TARGETS,
    SparsePoissonRegressor: COUNTS,
}


def estimators(subject, folder):
    for kind, y in FITTED.items():
        stated = {"y_bounds": (0, 3)} if kind is PrivateSparsePoissonRegressor else {}
        stated |= {} if kind.__name__.startswith("Private") else {"alpha": 0.1}
        given, name = parameters(kind, **stated), kind.__name__
        subject(name, lambda kind=kind, y=y, **given: kind(**given).fit(X, y), **given)
        model = kind(**given).fit(X, y)
        records = {"X": X, "y": y, "sample_weight": None}
        of_fit = records if "Simplex" not in name else {"X": X, "y": y}
        of_fit = of_fit | ({"checkpoint": None} if "PrivateSparse" in name else {})
        subject(f"{name}.fit", lambda model=model, **given: clone(model).fit(**given), **of_fit)
        subject(f"{name}.score", model.score, **records)
        subject(f"{name}.summary", model.summary, confidence=0.9, only_support=False)
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            if hasattr(model, method):
                subject(f"{name}.{method}", getattr(model, method), X=X)
        if hasattr(kind, "plan"):
            subject(f"{name}().plan", lambda kind=kind, **given: kind(**given).plan(1000, 3), **given)
            subject(f"{name}.plan", model.plan, n_samples=1000, n_features=3)
        if hasattr(kind, "plan_curve"):
            subject(f"{name}.plan_curve", model.plan_curve, n_samples=1000, n_features=3, epsilons=(1, 2))
        if hasattr(kind, "from_json"):
            subject(f"{name}.from_json", kind.from_json, text=model.to_json())
    released = {"mechanism": OutputPerturbation(ridge=0.1)}
    model = PrivateSparseClassifier(**(parameters(PrivateSparseClassifier) | released)).fit(X, LABELS)
    for method in ("coef_interval", "intercept_interval"):
        subject(f"PrivateSparseClassifier.{method}", getattr(model, method), confidence=0.9, target="auto")
    scaler = PrivateScaler(bounds=(-1, 1), random_state=0).fit(X)
    subject("PrivateScaler", lambda **given: PrivateScaler(**given).fit(X), **parameters(PrivateScaler))
    subject("PrivateScaler.plan", scaler.plan, n_samples=1000, n_features=3)
    subject("PrivateScaler.fit", lambda **given: clone(scaler).fit(**given), X=X, y=None)
    subject("PrivateScaler.transform", scaler.transform, X=X)
    subject("PrivateScaler.inverse_transform", scaler.inverse_transform, X=X)
    subject("PrivateScaler.get_feature_names_out", scaler.get_feature_names_out, input_features=None)
    searched = {
        "estimator": PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)),
        "param_grid": {"n_iter": [1, 2]},
        "epsilon": 2.0,
    }
    given = parameters(PrivateSearchCV) | searched
    subject("PrivateSearchCV", lambda **given: PrivateSearchCV(**given).plan(1000, 3), **given)
    subject("PrivateSearchCV.plan", PrivateSearchCV(**given).plan, n_samples=1000, n_features=3)
    subject(
        "path", dpsparse.path, X=X, y=TARGETS, alphas=None, n_alphas=3, ratio=0.1, estimator=None, sample_weight=None
    )
    stream = {"epsilon": 1.0, "delta": 1e-6, "horizon": 10, "n_features": 3, "bound": 1.0, "adjacency": "replace-one"}
    subject("PrivateOnlineSimplex", PrivateOnlineSimplex, **stream, ledger=None, random_state=0)
    learner = PrivateOnlineSimplex(**stream, random_state=0)
    subject(
        "PrivateOnlineSimplex.update",
        lambda **given: PrivateOnlineSimplex(**stream).update(**given),
        cost_vector=[0.1, 0.2, 0.3],
    )
    subject("PrivateOnlineSimplex.from_secret_json", learner.from_secret_json, text=learner.to_secret_json())


def parts_of_estimators(subject, folder):
    for kind in mechanisms.MECHANISMS.values():
        given = {field.name: field.default for field in dataclasses.fields(kind)}
        given |= {"alpha": 0.1} if kind.__name__ in ("DualFrankWolfe", "PenalisedFrankWolfe") else {}
        facts = {"bounds": (-1, 1), "classes": (0, 1)}
        subject(
            kind.__name__,
            lambda kind=kind, facts=facts, **given: PrivateSparseClassifier(mechanism=kind(**given), **facts).plan(
                999, 3
            ),
            **given,
        )
    for kind in (Hinge, ClippedLogistic, Huber, Pinball, CustomLoss):
        given = {field.name: field.default for field in dataclasses.fields(kind)}
        given |= {"derivative": lambda z, y: np.tanh(z - y)} if kind is CustomLoss else {}
        model, facts = (PrivateSparseRegressor, {"y_bounds": (-1, 1)})
        if kind in (Hinge, ClippedLogistic):
            model, facts = (PrivateSparseClassifier, {"classes": (0, 1)})
        subject(
            kind.__name__,
            lambda kind=kind, model=model, facts=facts, **given: model(
                loss=kind(**given), bounds=(-1, 1), **facts
            ).plan(9, 3),
            **given,
        )
    subject("DisjointGroups", lambda groups: DisjointGroups(groups).index_lists(), groups=[0, 0, 1])
    subject("Vertices", lambda vertices: Vertices(vertices).rows(), vertices=[[1, 2, 3]])
    subject("Vertices.rows", Vertices([[1, 2, 3]]).rows, n_features=3)
    lasso = norms.GroupLasso([[0, 1], [2]])
    subject("GroupLasso", norms.GroupLasso, groups=[[0, 1], [2]], weights=[1.0, 2.0], l1=0.1)
    subject("GroupLasso.prox", lasso.prox, v=[1.0, 2.0, 3.0], step=1.0)
    F = set_functions.Cardinality(3)
    for norm, name in ((lasso, "GroupLasso"), (F, "SetFunction")):
        for method, argument in (("norm", "theta"), ("dual_norm", "s"), ("norm_ball_vertex", "g")):
            subject(f"{name}.{method}", getattr(norm, method), **{argument: [1.0, 2.0, 3.0]})
    for method, argument in (("lovasz", "w"), ("base_vertex", "w"), ("support_vertex", "theta")):
        subject(f"SetFunction.{method}", getattr(F, method), **{argument: [1.0, 2.0, 3.0]})
    subject("SetFunction of a set", lambda A: F(A), A=[0])
    subject("SetFunction.gains", F.gains, order=[0, 1])
    subject("SetFunction.contains", F.contains, s=[1.0, 2.0, 3.0], tol=1e-9)
    subject("SetFunction.prox", F.prox, v=[1.0, 2.0, 3.0], step=1.0)
    subject("SetFunction.gaussian_width", F.gaussian_width, n_samples=10, random_state=None)
    subject("SetFunction.radius", F.radius, ord=2)
    subject("SetFunction *", lambda other: F * other, other=2.0)
    subject("Cardinality", set_functions.Cardinality, p=3)
    subject("ContiguousRange", set_functions.ContiguousRange, p=3)
    subject("ConcaveCardinality", set_functions.ConcaveCardinality, values=[1.0, 2.0])
    subject("Modular", set_functions.Modular, weights=[1.0, 2.0])
    subject("GroupCover", set_functions.GroupCover, groups=[[0, 1], [2]], weights=[1.0, 2.0], n_features=3)
    subject("Tree", set_functions.Tree, groups=[[0, 1], [1]], weights=[1.0, 2.0], n_features=3)
    subject("GraphCut", set_functions.GraphCut, edges=[(0, 1)], weights=[1.0], n_features=3)
    subject("PartitionRank", set_functions.PartitionRank, groups=[[0, 1], [2]], capacities=[1, 1], n_features=3)
    subject("LogDet", set_functions.LogDet, kernel=np.eye(2), noise=1.0)
    subject("FromOracle", lambda **given: set_functions.FromOracle(len, **given), p=3, monotone=None)
    subject("Sum", set_functions.Sum, first=F, second=F)
    subject("Scaled", set_functions.Scaled, factor=2.0, function=F)
    subject("theory.gaussian_width", theory.gaussian_width, function=F, n_samples=10, random_state=None)
    subject("suggested_alpha", theory.suggested_alpha, width=F, n_samples=10, row_norm=1.0, lipschitz=1.0)
    step = {"curvature": 1.0, "scale": 1.0, "n_samples": 10, "epsilon": 1.0}
    subject("polytope_iterations", theory.polytope_iterations, **step)
    subject("width_iterations", theory.width_iterations, **step)
    subject(
        "noisy_gradient_excess_risk", theory.noisy_gradient_excess_risk, curvature=1.0, n_iter=5, width=1.0, noise=0.1
    )
    subject(
        "selection_excess_risk",
        theory.selection_excess_risk,
        curvature=1.0,
        n_iter=5,
        log_candidates=2.0,
        sensitivity=0.1,
        rho=0.1,
    )
    ridge = {"n_columns": 3, "distance": 1.0, "ridge": 0.1, "trace": 1.0, "floor": 0.0, "tilt": 0.0, "output": 0.0}
    subject("ridge_excess_risk", theory.ridge_excess_risk, **ridge)
    facts = {"n_samples": 100, "epsilon": 1.0, "lipschitz": 1.0, "diameter": 1.0, "width": 1.0}
    subject("theorem_4_iterations", theory.theorem_4_iterations, **facts)


def records_in_other_forms(subject, folder):
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"u": [1.0, 2.0], "v": [3.0, 4.0]})
    pq.write_table(table, folder / "t.parquet")
    arrow = blocks.from_arrow(table)
    shape = {"n_samples": 30, "n_features": 3, "names": None, "directory": None}
    made = {"factory": lambda: [X], **shape}
    subject("Blocks", lambda **given: list(blocks.Blocks(**given).arrays()), column=None, **made)
    subject("from_iterables", lambda **given: list(blocks.from_iterables(**given).arrays()), **made)
    subject("Blocks.with_target", arrow.with_target, name="u")
    subject(
        "Blocks.encoded", lambda schema: list(arrow.encoded(schema)), schema=tables.Schema({"u": tables.Number(0, 1)})
    )
    subject("from_arrays", lambda **given: list(blocks.from_arrays(**given)), X=X, rows=10, names=None, directory=None)
    read = {"columns": None, "rows": None, "directory": None}
    subject("from_parquet", blocks.from_parquet, path=folder / "t.parquet", **read)
    subject("from_arrow", blocks.from_arrow, dataset=table, **read)
    subject("from_dask", distributed.from_dask, X=None, client=None, aggregators=None)
    subject("from_spark", distributed.from_spark, frame=None)
    subject("load_adult", datasets.load_adult, as_sparse=False)
    subject("Adult.frame", datasets.load_adult().frame, backend=None)
    model = PrivateSparseClassifier(**parameters(PrivateSparseClassifier)).fit(X, LABELS)
    key, signed_by = models.generate_key()
    document = models.dumps(model)
    subject("canonical", models.canonical, document={"a": 1})
    subject("dumps", models.dumps, model=model)
    subject("load", models.load, source=document)
    subject("save", models.save, model=model, path=folder / "m.json")
    subject("sign", models.sign, source=document, private_key_pem=key)
    signed = models.sign(document, key)
    subject("verify_signature", models.verify_signature, document=signed, public_key_pem=signed_by)
    subject("explain", words.explain, model_or_certificate=model)
    exact = SparseRegressor(alpha=0.1).fit(X, TARGETS)
    subject("summarise", words.summarise, model=exact, confidence=0.9, only_support=False)
    subject("Summary.to_frame", exact.summary().to_frame, library=None)
    plan = model.plan(1000, 3)
    subject("Plan.curve", plan.curve, epsilons=(1, 2))
    ax = Figure().subplots()
    drawn = {"ratio": False, "max_coefficients": 3}
    subject("CoefficientDisplay", displays.CoefficientDisplay, summary=exact.summary(), **drawn)
    subject(
        "CoefficientDisplay.from_estimator", displays.CoefficientDisplay.from_estimator, estimator=exact, ax=ax, **drawn
    )
    subject("EpsilonDisplay", displays.EpsilonDisplay, epsilons=[1, 2], values=[1, 2], spread=None, name="v")
    subject("EpsilonDisplay.plot", displays.EpsilonDisplay([1, 2], [1, 2]).plot, ax=ax)
    named = {"quantity": "noise_scale", "ax": ax}
    planned = {"n_samples": 1000, "n_features": 3, "epsilons": (1, 2)}
    subject(
        "EpsilonDisplay.from_estimator", displays.EpsilonDisplay.from_estimator, estimator=model, **planned, **named
    )
    subject("EpsilonDisplay.from_plans", displays.EpsilonDisplay.from_plans, plans=[plan], **named)
    scores = {"epsilons": [1, 2], "scores": [[1, 2], [2, 3]], "name": "s", "ax": ax}
    subject("EpsilonDisplay.from_scores", displays.EpsilonDisplay.from_scores, **scores)


def schemas(subject, folder):
    stated = {
        tables.Boolean: ({}, "1"),
        tables.Category: ({"levels": ["x", "y"]}, "x"),
        tables.Date: ({"low": "2024-01-01", "high": "2024-02-01"}, "2024-01-02"),
        tables.Number: ({"low": 0, "high": 1}, 0.2),
        tables.Ordinal: ({"levels": ["x", "y"]}, "x"),
    }
    for kind, (given, cell) in stated.items():
        every = {field.name: field.default for field in dataclasses.fields(kind)} | given
        subject(
            kind.__name__,
            lambda kind=kind, cell=cell, **given: tables.Schema({"a": kind(**given)}).encode({"a": [cell]}),
            **every,
        )
        field = kind(**given).to_field() | {"name": "a"}
        subject(f"{kind.__name__}.from_field", kind.from_field, field=field)
        subject(f"{kind.__name__}.reads", kind.reads, field=field)
    subject("Number of knots", lambda **given: tables.Number(0, 1, **given), knots=[0.5], degree=3)
    subject("Number of bins", lambda **given: tables.Number(0, 1, **given), bins=[0.5])
    schema = tables.Schema({"a": tables.Number(0, 1), "b": tables.Category(["x", "y"])})
    frame = pd.DataFrame({"a": [0.1, 0.2], "b": ["x", "y"]})
    subject("Schema", tables.Schema, columns={"a": tables.Number(0, 1)}, person=None, missing_values=("",))
    subject("Schema.encode", schema.encode, frame=frame, sparse=None)
    subject("Schema.encoder", lambda **given: schema.encoder(**given).fit(frame).transform(frame), sparse_output="auto")
    subject("Schema.from_json", tables.Schema.from_json, source=schema.to_json())
    subject("Schema.skeleton", tables.Schema.skeleton, frame=frame)
    subject("Schema.to_json", schema.to_json, indent=2)
    subject("Schema.without", lambda name: schema.without(name), name="a")
    encoder = schema.encoder().fit(frame)
    subject(
        "SchemaEncoder", lambda **given: tables.SchemaEncoder(**given).fit(frame), schema=schema, sparse_output=True
    )
    subject("SchemaEncoder.fit", encoder.fit, X=frame, y=None)
    subject("SchemaEncoder.transform", encoder.transform, X=frame)


def sets_for_many_people(subject, folder):
    cover = parameters(combinatorial.PrivateCoverage, n_selected=2) | {"n_selected": 2}
    place = parameters(combinatorial.PrivateFacilityLocation) | {"n_selected": 2}
    for kind, given in ((combinatorial.PrivateCoverage, cover), (combinatorial.PrivateFacilityLocation, place)):
        name, model = kind.__name__, kind(**given).fit(COVERED * 0.5)
        subject(name, lambda kind=kind, **given: kind(**given).fit(COVERED * 0.5), **given)
        subject(f"{name}.plan", model.plan, n_samples=1000, n_features=4)
        subject(f"{name}.fit", lambda model=model, **given: clone(model).fit(**given), X=COVERED * 0.5, y=None)
        subject(f"{name}.value", model.value, X=COVERED * 0.5)
        subject(f"{name}.plan.shortfall", model.plan(1000, 4).shortfall, beta=0.05)
    people = [set_functions.GraphCut([(0, 1)], n_features=3)] * 5
    for kind in (combinatorial.PrivateMinimumNormPoint, combinatorial.PrivateSubmodularMinimizer):
        given = parameters(kind) | {"n_iter": 2}
        name, model = kind.__name__, kind(**given).fit(people)
        subject(name, lambda kind=kind, **given: kind(**given).plan(10, 3), **given)
        subject(f"{name}.plan", model.plan, n_samples=1000, n_features=4)
        subject(f"{name}.fit", lambda model=model, **given: clone(model).fit(**given), summands=people, y=None)
        if hasattr(model, "minimizer"):
            subject(f"{name}.minimizer", model.minimizer, penalty=0.0)


def checks_of_own_parts(subject, folder):
    F = set_functions.Cardinality(3)
    problem = testing.PenalisedProblem(X, TARGETS, F, 0.1)
    of_runs = {"D": 0, "D_prime": 1, "n_runs": 8, "delta": 0.0, "confidence": 0.9, "random_state": 0, "statistic": None}
    subject("audit", testing.audit, release=lambda data, seed: data, **of_runs)
    subject("check_duality", testing.check_duality, problem=problem, tol=1e-8, n_trials=2, random_state=0)
    asked = {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)}
    subject(
        "PenalisedProblem",
        lambda **given: testing.check_duality(testing.PenalisedProblem(**given), n_trials=1),
        **asked,
    )
    subject("check_loss", testing.check_loss, loss="logistic", n_trials=2, random_state=0)
    few = {"n_features": 2, "n_runs": 4, "random_state": 0}
    subject(
        "check_mechanism",
        testing.check_mechanism,
        mechanism=FrankWolfe(n_iter=1),
        estimators=PrivateSparseClassifier,
        **few,
    )
    subject("check_set_function", testing.check_set_function, F=F, n_trials=2, tol=1e-8, random_state=0)


#: Arguments whose values are the user's own, or of which any will do.
OWN = {
    ("calibrate", "make_event"),  # a type is a function of theirs
    ("audit", "D"),
    ("audit", "D_prime"),
    ("audit", "release"),
    ("audit", "statistic"),
    ("Blocks", "factory"),
    ("from_iterables", "factory"),
    ("check_mechanism", "n_runs"),  # one more is one more run
    ("check_set_function", "tol"),  # an assertion fails where it is too small
    ("SparseRegressor", "verbose"),  # prints
    ("SparseClassifier", "verbose"),
    ("SparsePoissonRegressor", "verbose"),
}


GROUPS = [
    events_and_costs,
    ledgers,
    estimators,
    parts_of_estimators,
    records_in_other_forms,
    schemas,
    sets_for_many_people,
    checks_of_own_parts,
]


def made(group, folder):
    """Calls by name, each with arguments that it takes."""
    subjects = {}

    def subject(name, call, /, **good):
        subjects[name] = call, good

    group(subject, folder)
    return subjects


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", GROUPS)
def test_wrong_arguments_are_refused_by_errors_of_this_package(group, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of the texts are fine names of files
    raw, taken = [], []
    for name, (call, good) in made(group, tmp_path).items():
        for argument in good:
            if (name, argument) in OWN:
                continue
            refused = REFUSED_BY_NAME.get(argument, set())
            for kind, value in WRONG.items():
                try:
                    call(**good | {argument: value})
                except (DpsparseError, NotFittedError):
                    pass
                except Exception as error:
                    raw.append(f"{name}({argument}={kind}): {type(error).__name__}: {error!s:.80}")
                else:
                    if kind in refused:
                        taken.append(f"{name}({argument}={kind})")
    assert not raw, "\n".join(raw)
    assert not taken, "\n".join(taken)


@pytest.mark.filterwarnings("ignore")
def test_numbers_of_numpy_are_numbers(tmp_path):
    for group in GROUPS:
        for call, good in made(group, tmp_path / group.__name__).values():
            numbers = {key: np.asarray(value)[()] for key, value in good.items() if type(value) in (int, float)}
            if numbers:
                call(**good | numbers)


#: Public names that are no calls of users: results, bases, and what other tests look at.
NOT_CALLED = {
    "Adult",
    "Estimate",
    "LeftOut",
    "Loss",
    "Path",
    "PlanCurve",
    "SearchPlan",
    "Shards",
    "Summary",
    "Term",
    "Verdict",
    "certificate_schema",  # take nothing
    "generate_key",
    "model_schema",
    "Logistic",
    "Squared",
    "neighbouring_datasets",  # strategies, which hypothesis draws from
    "set_functions",
}
MODULES = [
    dpsparse,
    blocks,
    combinatorial,
    datasets,
    displays,
    distributed,
    models,
    norms,
    privacy.noise,
    set_functions,
    tables,
    testing,
    theory,
    words,
]


def test_every_public_name_is_called(tmp_path):
    called = set()
    for group in GROUPS:
        for name in made(group, tmp_path / group.__name__):
            called |= set(name.replace("noise.", "").replace("theory.", "").replace(".", " ").replace("(", " ").split())
    for module in MODULES:
        for name in module.__all__:
            part = getattr(module, name)
            of_core = getattr(dpsparse._core, name, None) is part
            error = isinstance(part, type) and issubclass(part, Exception)
            if not (isinstance(part, types.ModuleType) or of_core or error or name in NOT_CALLED):
                assert name in called, name
