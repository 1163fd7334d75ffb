"""``alpha`` and ``radius`` of norms with structure under "auto", in units of the public bounds, after released scales.

Every test has fixed seeds, so it is deterministic.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpsparse import (
    DisjointGroups,
    InvalidArgumentError,
    NoisyNewton,
    PrivateSparsePoissonRegressor,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    UnsoundMechanismError,
)
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import ConcaveCardinality, GraphCut, GroupCover, LogDet, Tree
from sparse_tables import FAR, HIGH, N, P, classes, classifier, counts, off, reals, regressor

#: Of ten features 2, 3, 5 and 8 matter: two of the pairs do not.
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
IN_PAIRS = [2, 3, 4, 5, 8, 9]
NORMS = {
    "linf": "linf",
    "groups": DisjointGroups(PAIRS),
    "lasso": GroupLasso(PAIRS),
    "windows": GroupCover([range(k, min(k + 4, P)) for k in range(0, P, 2)], n_features=P),
    "tree": Tree([range(P), *PAIRS], n_features=P),
    "root": ConcaveCardinality(np.sqrt(np.arange(1.0, P + 1))),
}


#: As exact estimators know them.
EXACT = NORMS | {"groups": GroupCover(PAIRS, n_features=P)}


@pytest.mark.parametrize("name", NORMS)
def test_reals_are_those_of_the_exact_fit_in_units_of_the_bounds(name):
    X, y = reals()
    norm = NORMS[name]
    alpha = 1e-5 if name == "linf" else 1e-4
    size = regressor(epsilon=1000.0).fit(X, y).coef_ * FAR / HIGH
    for asked in ({"alpha": alpha}, {"radius": 0.5 * float(np.abs(size).max())}):
        exact = SparseRegressor(norm=EXACT[name], **asked).fit(X / FAR, y / HIGH)
        model = regressor(epsilon=1000.0, norm=norm, **asked).fit(X, y)
        assert off(model.coef_ * FAR / HIGH, exact.coef_) < 0.1
        noisy = regressor(epsilon=1.0, norm=norm, **asked).fit(X, y)
        assert off(noisy.coef_ * FAR / HIGH, exact.coef_) < 0.35
        assert noisy.certificate_.events == regressor(epsilon=1.0).fit(X, y).certificate_.events


@pytest.mark.parametrize("name", NORMS)
def test_classes_are_those_of_the_exact_fit_in_units_of_the_bounds(name):
    X, y = classes()
    for asked in ({"alpha": 1e-4 if name == "linf" else 1e-3}, {"radius": 3.0}):
        exact = SparseClassifier(norm=EXACT[name], **asked).fit(X / FAR, y)
        for epsilon, close in ((1000.0, 0.2), (1.0, 0.4)):
            model = classifier(epsilon=epsilon, norm=NORMS[name], **asked).fit(X, y)
            assert off(model.coef_ * FAR, exact.coef_) < close
            assert model.score(X, y) > exact.score(X / FAR, y) - 0.01


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
@pytest.mark.parametrize("name", ["groups", "lasso"])
def test_groups_come_out_whole(name, epsilon):
    X, y = reals()
    for asked in ({"alpha": 1e-4}, {}, {"alpha": 1e-9}):
        model = regressor(epsilon=epsilon, norm=NORMS[name], **asked).fit(X, y)
        # Without noise to speak of what records say of the others is worth it, but for a penalty.
        if asked.get("alpha") == 1e-4:
            assert model.support_.tolist() == IN_PAIRS
        assert set(IN_PAIRS) <= set(model.support_)
        assert len(model.support_) % 2 == 0
        assert model.score(X, y) > 0.72
    X, y = classes()
    model = classifier(epsilon=epsilon, norm=NORMS[name], alpha=1e-3).fit(X, y)
    assert model.support_.tolist() == IN_PAIRS


def test_noise_is_hidden_in_groups():
    """Ninety features that say nothing, in groups of nine: the l1 norm keeps single ones, groups all or none."""
    X, y = reals()
    X = np.hstack([X, np.random.default_rng(5).normal(size=(N, 90))])
    norm = GroupLasso([*PAIRS, *(range(k, k + 9) for k in range(P, P + 90, 9))])
    for asked in ({"alpha": 1e-8}, {}):
        model = regressor(epsilon=1.0, norm=norm, **asked).fit(X, y)
        noise = [j for j in model.support_ if j >= P]
        assert len(noise) % 9 == 0
        assert len(noise) <= 18
        assert set(IN_PAIRS) <= set(model.support_)
        assert model.score(X, y) > 0.73


def test_counts_are_those_of_the_exact_fit_in_units_of_the_bounds():
    """Rates are in units of an eighth of the largest count."""
    X, y = counts()
    exact = SparsePoissonRegressor(norm=GroupLasso(PAIRS), alpha=0.002 * 5.0).fit(X / FAR, y)
    model = PrivateSparsePoissonRegressor(
        epsilon=1000.0,
        delta=1e-9,
        norm=GroupLasso(PAIRS),
        alpha=0.002,
        bounds=(-FAR, FAR),
        y_bounds=(0, 40.0),
        random_state=0,
    ).fit(X, y)
    assert model.support_.tolist() == exact.support_.tolist() == IN_PAIRS
    assert off(model.coef_ * FAR, exact.coef_) < 0.25


MANY = 530
WIDE = {
    "lasso": {"norm": GroupLasso([range(k, k + 2) for k in range(0, MANY, 2)]), "alpha": 1e-4},
    "linf": {"norm": "linf", "alpha": 1e-5},
    "positive": {"positive": True, "alpha": 1e-4},
    "l1 ball": {"radius": 0.5},
    "ball": {"norm": GroupLasso([range(k, k + 2) for k in range(0, MANY, 2)]), "radius": 0.5},
    "positive ball": {"positive": True, "radius": 0.3},
}


@pytest.mark.parametrize("name", WIDE)
def test_more_columns_than_moments_are_taken_of(name):
    """Steps without second moments, which penalties hold back somewhat more than an exact fit."""
    X, y = reals()
    X = np.hstack([X, np.random.default_rng(5).normal(size=(N, MANY - P))])
    exact = SparseRegressor(tol=1e-4, **WIDE[name]).fit(X / FAR, y / HIGH).score(X / FAR, y / HIGH)
    plain = regressor().fit(X, y).certificate_.events
    for epsilon in (1000.0, 10.0):
        model = regressor(epsilon=epsilon, **WIDE[name]).fit(X, y)
        assert "noisy-newton" in model.certificate_.mechanism
        assert model.score(X, y) > exact - 0.08
        assert not WIDE[name].get("positive") or (model.coef_ >= 0.0).all()
    assert model.certificate_.events == plain


def test_balls_of_set_functions_take_long_beyond_moments():
    cover = GroupCover([range(k, k + 2) for k in range(0, MANY, 2)], n_features=MANY)
    assert "frank-wolfe" in regressor(norm=cover, radius=1.0).plan(N, MANY).mechanism
    assert "noisy-newton" in regressor(norm=cover, alpha=1e-4).plan(N, MANY).mechanism
    weighted = regressor(feature_weights=np.linspace(1, 2, MANY), radius=1.0)
    assert "noisy-newton" in weighted.plan(N, MANY).mechanism
    assert "noisy-proximal-gradient" in regressor(alpha=1e-4).plan(N, MANY).mechanism


@pytest.mark.parametrize("norm", ["l1", GroupLasso(PAIRS)])
@pytest.mark.parametrize("asked", [{"alpha": 1e-4}, {"alpha": 1e-4, "ridge": 1e-4}, {"radius": 0.3}, {"radius": 10.0}])
def test_no_coefficient_is_negative(norm, asked):
    X, y = reals()
    exact = SparseRegressor(norm=norm, positive=True, **asked).fit(X / FAR, y / HIGH)
    assert exact.score(X / FAR, y / HIGH) > 0.35
    for epsilon, close in ((1000.0, 0.1), (1.0, 0.4)):
        model = regressor(epsilon=epsilon, norm=norm, positive=True, **asked).fit(X, y)
        assert (model.coef_ >= 0.0).all()
        assert off(model.coef_ * FAR / HIGH, exact.coef_) < close
        assert model.certificate_.events == regressor(epsilon=epsilon).fit(X, y).certificate_.events


def test_rates_rise_with_every_feature():
    X, y = counts()
    Z = X / FAR

    def objective(line):
        rates = np.exp(Z @ line[:P] + line[P])
        slopes = (rates - y) / N
        value = np.mean(rates - y * np.log(rates)) + 0.01 * line[:P].sum()
        return value, np.append(Z.T @ slopes + 0.01, slopes.sum())

    limits = [(0.0, None)] * P + [(None, None)]
    exact = minimize(objective, np.zeros(P + 1), jac=True, bounds=limits, options={"ftol": 1e-12}).x[:P]
    public = {"delta": 1e-9, "bounds": (-FAR, FAR), "y_bounds": (0, 40.0), "random_state": 0}
    model = PrivateSparsePoissonRegressor(epsilon=1000.0, alpha=0.002, positive=True, **public).fit(X, y)
    assert (model.coef_ >= 0.0).all()
    assert off(model.coef_ * FAR, exact) < 0.25


def test_a_penalty_of_nothing_leaves_signs_to_proximal_gradients():
    X, y = reals()
    for asked in ({"alpha": 0.0}, {"ridge": 1e-4}):
        model = regressor(epsilon=1000.0, positive=True, **asked).fit(X, y)
        assert "noisy-proximal-gradient" in model.certificate_.mechanism
        assert (model.coef_ >= 0.0).all()
    with pytest.raises(UnsoundMechanismError, match="without an alpha or a radius"):
        regressor(positive=True, mechanism="noisy-newton").fit(X, y)
    weights = np.where(np.arange(P) == 0, 0.0, 1.0)
    with pytest.raises(InvalidArgumentError, match="positive weights"):
        regressor(positive=True, feature_weights=weights, alpha=1e-4, mechanism="noisy-newton").fit(X, y)


def test_three_classes_have_one_penalty():
    X, y = classes()
    y = np.where(X[:, 5] > 1.0, 2, y)
    exact = SparseClassifier(alpha=1e-3).fit(X / FAR, y)
    model = classifier(norm=GroupLasso(PAIRS), alpha=1e-3, classes=(-1, 1, 2)).fit(X, y)
    assert model.score(X, y) > exact.score(X / FAR, y) - 0.02
    assert (model.coef_.reshape(3, -1, 2) == 0.0).all(axis=2).any(axis=1).all()
    assert np.abs(model.coef_).sum() < 0.95 * np.abs(classifier(classes=(-1, 1, 2)).fit(X, y).coef_).sum()
    with pytest.raises(InvalidArgumentError, match="three or more classes"):
        classifier(norm="linf", radius=1.0, classes=(-1, 1, 2), mechanism=NoisyNewton()).plan(N, P)


@pytest.mark.parametrize("name", ["groups", "root"])
def test_bounds_and_sizes_in_other_units_leave_the_model(name):
    X, y = reals()
    units = {"alpha": lambda far, high: 0.1 / (high * far), "radius": lambda far, high: far / high}
    for size, unit in units.items():
        models = [
            regressor(norm=NORMS[name], bounds=(-far, far), y_bounds=(-high, high), **{size: unit(far, high)}).fit(X, y)
            for far, high in ((FAR, HIGH), (10 * FAR, HIGH), (FAR, 4 * HIGH))
        ]
        for model in models[1:]:
            assert off(model.coef_, models[0].coef_) < 0.05
        assert np.linalg.norm(models[0].coef_) < 0.97 * np.linalg.norm(regressor().fit(X, y).coef_)


def test_neighbours_are_alike_where_differences_are_penalised():
    """Total variation leaves constants free: ten features that are copies of two get two coefficients. Noise parts some
    of them in one fit of six, so the median of five counts."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, P))
    y = X[:, :5].sum(axis=1) - X[:, 5:].sum(axis=1) + rng.normal(size=N)
    chain = GraphCut([(j, j + 1) for j in range(P - 1)], n_features=P)
    parted = []
    for seed in range(5):
        model = regressor(epsilon=1.0, norm=chain, alpha=1e-5, random_state=seed).fit(X, y)
        apart = np.abs(np.diff(model.coef_))
        assert apart[4] > 1.5
        assert model.score(X, y) > 0.88
        parted.append(np.delete(apart, 4).max())
    assert np.median(parted) < 0.01
    assert max(parted) < 0.02
    with pytest.raises(InvalidArgumentError, match="use alpha"):
        regressor(norm=chain, radius=1.0, mechanism=NoisyNewton()).plan(N, P)


def test_wide_bounds_are_no_reason_to_lose_everything():
    X, y = reals()
    for norm in NORMS.values():
        for asked in ({"alpha": 1e-9}, {"radius": 1e3}):
            model = regressor(epsilon=0.5, norm=norm, y_bounds=(-10_000, 10_000), **asked).fit(X, y)
            assert model.score(X, y) > 0.6


def test_what_is_chosen_and_said():
    for norm in NORMS.values():
        assert "within a ball of radius 2" in repr(regressor(norm=norm, radius=2.0).plan(N, P))
        assert "with a penalty of 0.001" in repr(regressor(norm=norm, alpha=1e-3).plan(N, P))
    for name in ("groups", "lasso"):
        plan = repr(regressor(norm=NORMS[name]).plan(N, P))
        assert "noisy-newton" in plan
        assert "without what is not worth its noise" in plan
        assert repr(regressor(norm=NORMS[name], ridge=0.0).plan(N, P)) == plan
    kernel = LogDet(np.eye(P), 1.0)
    assert "noisy-proximal-gradient" in repr(regressor(norm=kernel, alpha=1e-3).plan(N, P))
    assert "noisy-proximal-gradient" in repr(regressor(norm=LogDet(np.eye(512), 1.0), alpha=1e-3).plan(N, 512))
    with pytest.raises(InvalidArgumentError, match="exact prox"):
        regressor(norm=kernel, alpha=1e-3, mechanism=NoisyNewton()).plan(N, P)


@pytest.mark.parametrize("asked", [{}, {"alpha": 1e-3}, {"radius": 0.3}, {"ridge": 1e-2}])
def test_auto_takes_private_scales_that_are_asked_for_as_its_own(asked):
    X, y = reals()
    asked_for = regressor(scale="private", **asked).fit(X, y)
    np.testing.assert_array_equal(asked_for.coef_, regressor(**asked).fit(X, y).coef_)
    if "radius" in asked:
        assert np.abs(asked_for.coef_ * FAR / HIGH).sum() < 0.3 + 1e-9
