"""Levels with nodes above them: trees of categories, and nested intervals of levels in an order."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse import InvalidArgumentError, PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.displays import CoefficientDisplay
from dpsparse.tables import Category, Number, Ordinal, Schema
from reference.tables import trees

LEVELS = ["Oslo", "Bergen", "Lund", "Lima"]
NESTED = {"Europe": {"Norway": ["Oslo", "Bergen"], "Sweden": ["Lund"]}}
TOWNS = Category(LEVELS, tree=NESTED)


# --- what is encoded ---


def test_cells_are_one_in_the_columns_of_their_level_and_of_all_nodes_above():
    schema = Schema({"town": TOWNS})
    # Sweden holds what Lund holds, and has no column of its own.
    assert schema.get_feature_names_out().tolist() == [f"town={name}" for name in [*LEVELS, "Norway", "Europe"]]
    expected = [[1, 0, 0, 0, 1, 1], [0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 0, 0]]
    np.testing.assert_array_equal(schema.encode({"town": LEVELS}), expected)
    assert schema.groups == [list(range(6))]
    assert [term.parent for term in schema.terms] == ["Norway", "Norway", "Europe", None, "Europe", None]


def test_a_node_of_all_levels_is_no_column_and_a_level_may_stand_above_others():
    schema = Schema({"code": Category([1, 11, 12, 2], tree={1: "any", 11: 1, 12: 1, 2: "any"})})
    assert [term.level for term in schema.terms] == ["1", "11", "12", "2"]
    np.testing.assert_array_equal(
        schema.encode({"code": [1, 11, 12, 2]}), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    )


@pytest.mark.parametrize("missing", ["flag", "level"])
def test_missing_and_other_values_are_in_no_family_but_their_own(missing):
    towns = Category(LEVELS, tree=NESTED, other="elsewhere", missing=missing)
    encoded = Schema({"town": towns}).encode({"town": [None, "Rome", "Oslo"]})
    np.testing.assert_array_equal(encoded, [[0] * 7 + [1], [0, 0, 0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 1, 1, 0]])
    named = Category(LEVELS, tree={"elsewhere": "abroad", "Lima": "abroad"}, other="elsewhere")
    np.testing.assert_array_equal(Schema({"town": named}).encode({"town": ["Rome"]}), [[0, 0, 0, 0, 1, 1]])


def test_intervals_of_levels_in_an_order():
    schema = Schema({"hour": Ordinal(range(18), coding="intervals")})
    names = [*map(str, range(18)), "0..3", "4..7", "8..11", "12..15", "16..17", "0..15"]
    assert [term.level for term in schema.terms] == names
    for hour, row in enumerate(schema.encode({"hour": list(range(18))})):
        own = {str(hour), names[18 + hour // 4], *(["0..15"] if hour < 16 else [])}
        assert {name for name, value in zip(names, row, strict=True) if value} == own
    # At most four levels: there is nothing between a level and all of them.
    assert Schema({"x": Ordinal(list("abcd"), coding="intervals")}).n_columns == 4


def test_wide_trees_are_sparse():
    codes = [f"{k:04d}" for k in range(1500)]
    schema = Schema({"code": Category(codes, tree={code: code[:2] for code in codes})})
    encoded = schema.encode({"code": ["0003", "1499"]})
    assert sp.issparse(encoded)
    assert encoded.shape == (2, 1515)
    assert encoded.sum(axis=1).tolist() == [2, 2]


# --- the length of rows, which sensitivities rest on ---


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_bound_on_rows_is_that_of_the_longest_row(data):
    levels = data.draw(st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=2))
    column = data.draw(
        st.sampled_from([Ordinal(levels, coding="intervals"), Category(levels, tree=data.draw(trees(levels)))])
    )
    schema = Schema({"a": column, "b": Number(-1, 3)})
    rows = schema.encode({"a": levels, "b": [3.0] * len(levels)}) / [*[1.0] * (schema.n_columns - 1), 3.0]
    assert math.isclose(np.linalg.norm(rows, axis=1).max(), schema.row_norm, rel_tol=1e-12)
    # Neighbours under replace-one differ by two rows at most: the bound on the difference follows from that of a row.
    gaps = np.linalg.norm(rows[:, None] - rows[None, :], axis=2)
    assert gaps.max() <= 2.0 * schema.row_norm


def test_mechanisms_are_told_that_bound_and_no_row_is_shortened():
    schema = Schema({"town": TOWNS, "x": Number(-1, 1)})
    assert math.isclose(schema.row_norm, 2.0)  # three nodes and a number
    table = {"town": LEVELS * 50, "x": [1.0, -1.0] * 100}
    y = np.where(np.array(table["town"]) == "Lima", "yes", "no")
    facts = {"classes": ("no", "yes"), "mechanism": "objective-perturbation", "random_state": 0, "ridge": 0.1}
    model = PrivateSparseClassifier(schema=schema, epsilon=1e6, delta=0.5, **facts).fit(table, y)
    assert model._statement(200, 7)["row_norm"] == pytest.approx(2.0, rel=1e-3)
    # With next to no noise the ridge decides, whatever the bound is, unless rows at it were shortened.
    longer = PrivateSparseClassifier(bounds=(-1, 1), row_norm=2.5, epsilon=1e6, delta=0.5, **facts)
    longer.fit(schema.encode(table), y)
    np.testing.assert_allclose(model.coef_, longer.coef_, atol=1e-2)
    assert np.abs(model.coef_).max() > 0.2


# --- how a tree is stated ---


def test_trees_are_stated_in_several_ways():
    above = {"Oslo": "Norway", "Bergen": "Norway", "Lund": "Sweden", "Norway": "Europe", "Sweden": "Europe"}
    table = {"town": LEVELS}
    expected = Schema({"town": TOWNS})
    for tree in (above, list(above.items()), [list(pair) for pair in above.items()]):
        schema = Schema({"town": Category(LEVELS, tree=tree)})
        assert set(schema.get_feature_names_out()) == set(expected.get_feature_names_out())
        of_name = dict(zip(schema.get_feature_names_out(), schema.encode(table).T, strict=True))
        for name, values in zip(expected.get_feature_names_out(), expected.encode(table).T, strict=True):
            np.testing.assert_array_equal(of_name[name], values)
    assert eval(repr(TOWNS)) == TOWNS
    assert hash(TOWNS) == hash(Category(LEVELS, tree=NESTED))
    assert Category(LEVELS, tree={"Oslo": "Norway", "Bergen": "Norway"}) != TOWNS


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({}, "below a node"),
        ("Norway", "must map"),
        (3, "must map"),
        ({"Oslo", "Bergen"}, "must map"),
        ([("Oslo", "Norway", "Europe")], "must map"),
        ({"Norway": ["Oslo"], "Bergen": "Norway"}, "must map"),
        ({"Norway": []}, "must map"),
        ({"Oslo": 0.5}, "text or integers"),
        ({"Oslo": True}, "text or integers"),
        ({"Rome": "Italy"}, "'Rome' is no level"),
        ({"Norway": ["Oslo", "Rome"]}, "'Rome' is no level"),
        ({"Oslo": "Norway", "Sweden": "Europe"}, "'Sweden' is no level"),
        ({"Norway": ["Oslo"], "Sweden": ["Oslo"]}, "below two nodes"),
        ([("Oslo", "Norway"), ("Oslo", "Norway")], "below two nodes"),
        ({"Oslo": "Oslo"}, "below itself"),
        ({"Oslo": "Norway", "Norway": "Europe", "Europe": "Norway"}, "below itself"),
        ({"Oslo": 1, "Bergen": "1"}, "different names"),
        ({"Oslo": "missing"}, "'missing'"),
    ],
)
def test_trees_that_cannot_be_are_refused_before_any_table_is_seen(tree, says):
    with pytest.raises(InvalidArgumentError, match=says):
        Category(LEVELS, tree=tree, missing="flag")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Category(LEVELS, tree=NESTED, reference="Oslo"),
        lambda: Category(LEVELS, tree=NESTED, coding="sum"),
        lambda: Category(LEVELS, tree=NESTED, coding="one-hot"),
        lambda: Category(tree=NESTED),
        lambda: Ordinal(list("abc"), coding="chain"),
        lambda: Ordinal(list("abc"), coding=None),
        lambda: Ordinal(list("abc"), coding="intervals", scores=[0, 1, 2]),
        lambda: Ordinal(list("abc"), coding="intervals", reference="a"),
        lambda: Ordinal(["a", "b", "c", "d", "e", "a..d"], coding="intervals"),
        lambda: Ordinal(["missing", "a"], coding="intervals", missing="flag"),
    ],
)
def test_what_has_no_meaning_beside_nodes(make):
    with pytest.raises(InvalidArgumentError):
        make()


def test_json_of_trees_and_intervals():
    schema = Schema({"town": TOWNS, "hour": Ordinal(range(24), coding="intervals", missing="flag")})
    assert Schema.from_json(schema.to_json()) == schema
    field = {"name": "town", "type": "string", "constraints": {"enum": LEVELS, "required": True}, "tree": NESTED}
    assert Schema.from_json({"fields": [field]}) == Schema({"town": TOWNS})
    with pytest.raises(InvalidArgumentError, match="town"):
        Schema.from_json({"fields": [field | {"tree": {"Rome": "Italy"}}]})
    with pytest.raises(InvalidArgumentError, match="needs levels"):
        Schema.from_json({"fields": [{"name": "town", "type": "string", "tree": NESTED}]})


# --- models ---


def records(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    table = {"town": rng.choice(LEVELS, n), "hour": rng.integers(0, 24, n)}
    score = np.isin(table["town"], LEVELS[:3]) - 0.5 + (table["hour"] > 12)
    return table, np.where(score + rng.logistic(size=n) > 0.5, "yes", "no")


SCHEMA = Schema({"town": TOWNS, "hour": Ordinal(range(24), coding="intervals")})


def fitted(**arguments):
    model = PrivateSparseClassifier(epsilon=4, schema=SCHEMA, classes=("no", "yes"), random_state=0, **arguments)
    return model.fit(*records())


def test_summaries_say_what_a_level_does_in_all():
    model = fitted()
    rows = {(row["attribute"], row["level"]): row for row in model.summary().rows}
    assert len(rows) == 1 + SCHEMA.n_columns
    table = {"town": LEVELS, "hour": [0, 7, 12, 23]}
    margins = model.decision_function(table)
    for town, hour, margin in zip(*table.values(), margins, strict=True):
        of_town, of_hour = rows["town", town], rows["hour", str(hour)]
        total = model.intercept_[0] + of_town["coefficient"] + of_hour["coefficient"]
        assert math.isclose(total, margin, rel_tol=1e-9)
        assert math.isclose(of_town["odds_ratio"], math.exp(of_town["coefficient"]), rel_tol=1e-12)
    # A node at the top is its own coefficient, one below it is more than that.
    coefficients = dict(zip(model.coef_names_, model.coef_[0], strict=True))
    assert rows["town", "Europe"]["coefficient"] == coefficients["town=Europe"]
    assert math.isclose(
        rows["town", "Norway"]["coefficient"], coefficients["town=Norway"] + coefficients["town=Europe"], rel_tol=1e-12
    )
    assert any("nodes above" in note for note in model.summary().notes)


def test_sums_have_no_interval_and_are_drawn_without():
    pytest.importorskip("matplotlib").use("Agg")
    model = fitted(mechanism="output-perturbation", scale=None)
    summary = model.summary()
    rows = {(row["attribute"], row["level"]): row for row in summary.rows}
    assert rows["town", "Oslo"]["lower"] is None
    assert rows["town", "Europe"]["lower"] < rows["town", "Europe"]["coefficient"] < rows["town", "Europe"]["upper"]
    assert any("no interval" in note for note in summary.notes)
    display = CoefficientDisplay(summary).plot()
    assert len(display.ax_.get_yticks()) == min(30, len(rows) - 1)


def test_only_the_support_of_a_sum():
    model = fitted(mechanism="select-refit", norm="groups")
    model.coef_ = np.zeros_like(model.coef_)
    model.coef_[0, list(model.coef_names_).index("town=Norway")] = 1.0
    shown = [row["level"] for row in model.summary(only_support=True).rows if row["attribute"] == "town"]
    assert shown == ["Oslo", "Bergen", "Norway"]


def test_models_with_trees_come_back_from_json():
    model = fitted()
    again = PrivateSparseClassifier.from_json(model.to_json())
    table, _ = records(50, seed=1)
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(table))
    assert again.schema_ == SCHEMA
    assert again.summary().rows == model.summary().rows


@pytest.mark.slow
def test_families_are_worth_their_columns_where_there_are_some():
    """Levels whose effects are those of their families, few records for each, and as many that have none in common."""
    rng = np.random.default_rng(0)
    levels, n = [f"l{k}" for k in range(100)], 6000
    above = {level: f"f{k // 10}" for k, level in enumerate(levels)}
    codes = rng.integers(0, 100, n)
    family = rng.normal(size=10)[np.arange(100) // 10]
    gains = []
    for effects in (family, rng.permutation(family)):
        y = np.clip(effects[codes] + rng.normal(size=n), -4, 4)
        table = {"level": np.array(levels)[codes]}
        first = {"level": table["level"][:4000]}
        rest = {"level": table["level"][4000:]}
        scores = {}
        for kind, column in {"tree": Category(levels, tree=above), "flat": Category(levels)}.items():
            scores[kind] = [
                PrivateSparseRegressor(epsilon=1, schema=Schema({"level": column}), y_bounds=(-4, 4), random_state=seed)
                .fit(first, y[:4000])
                .score(rest, y[4000:])
                for seed in range(10)
            ]
        gaps = np.subtract(scores["tree"], scores["flat"])
        gains.append((gaps.mean(), gaps.std(ddof=1) / math.sqrt(10)))
    (gain, error), (cost, _) = gains
    assert gain > 0.05
    assert gain > 4.0 * error
    assert cost > -0.05
