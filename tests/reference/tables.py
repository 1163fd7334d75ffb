"""Public schemas of tables, cell by cell in plain Python: slow, and written apart from the package."""

import datetime

from hypothesis import strategies as st

from dpsparse.tables import Boolean, Category, Date, Number, Ordinal

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def b_splines(x, low, high, knots, degree):
    """Cox and de Boor's recursion."""
    t = [low] * (degree + 1) + list(knots) + [high] * (degree + 1)
    last = max(k for k in range(len(t) - 1) if t[k] < t[k + 1])
    values = [float(t[k] <= x < t[k + 1] or (x == high and k == last)) for k in range(len(t) - 1)]
    for d in range(1, degree + 1):
        values = [
            ((x - t[k]) / (t[k + d] - t[k]) * values[k] if t[k + d] > t[k] else 0.0)
            + ((t[k + d + 1] - x) / (t[k + d + 1] - t[k + 1]) * values[k + 1] if t[k + d + 1] > t[k + 1] else 0.0)
            for k in range(len(values) - 1)
        ]
    return values


def one_of(levels, level, reference, coding):
    """Columns of the levels but the reference."""
    if coding == "one-hot":
        return [float(other == level) for other in levels]
    if level == reference:
        return [-1.0 if coding == "sum" else 0.0] * (len(levels) - 1)
    return [float(other == level) for other in levels if other != reference]


def encode_levels(levels, level, column, reference):
    """Columns of levels, and a flag where there is one; None is a missing value."""
    levels = list(levels)
    if column.missing == "level":
        levels.append("missing")
    if column.missing == "flag":
        if level is None:
            return [0.0] * (len(levels) - (column.coding != "one-hot")) + [1.0]
        return [*one_of(levels, level, reference, column.coding), 0.0]
    return one_of(levels, "missing" if level is None else level, reference, column.coding)


def encode_number(column, cell):
    low, high = column.low, column.high
    reference = low if column.reference is None else column.reference
    if column.bins is not None:
        numbers = list(range(len(column.bins) + 1))
        level = None if cell is None else sum(end <= min(max(cell, low), high) for end in column.bins)
        return encode_levels(numbers, level, column, sum(end <= reference for end in column.bins))
    if cell is None:
        x = low / 2 + high / 2 if column.missing == "flag" else reference
    else:
        x = min(max(float(cell), low), high)
    values = [x] if column.knots is None else b_splines(x, low, high, column.knots, column.degree)[1:]
    return values if column.missing == "error" else [*values, float(cell is None)]


def encode_category(column, cell):
    levels = list(column.levels)
    if column.other is not None and column.other not in levels:
        levels.append(column.other)
    if cell is not None and cell not in column.levels:
        cell = column.other
    if column.tree is not None:
        return encode_nodes(levels, dict(column.tree), cell, column.missing)
    return encode_levels(levels, cell, column, levels[0] if column.reference is None else column.reference)


def encode_nodes(levels, above, cell, missing):
    """Columns of a tree's nodes, one for each set of levels but that of all; None is a missing value."""

    def is_below(level, node):
        while level != node and level in above:
            level = above[level]
        return level == node

    columns, seen = [], [set(levels)]
    for node in dict.fromkeys([*levels, *(node for pair in above.items() for node in pair)]):
        below = {level for level in levels if is_below(level, node)}
        if below not in seen:
            seen.append(below)
            columns.append(float(cell is not None and cell in below))
    return columns if missing == "error" else [*columns, float(cell is None)]


def encode_intervals(column, cell):
    """Columns of levels, and of 4, 16, ... of them from the left, one for each set of levels but that of all."""
    levels = list(column.levels)
    sets = [[level] for level in levels]
    for power in range(1, 9):
        sets += [levels[start : start + 4**power] for start in range(0, len(levels), 4**power)]
    # Wider intervals beside narrower ones of the same levels say nothing new.
    sets = [members for k, members in enumerate(sets) if members not in sets[:k] and members != levels]
    if cell is not None and cell not in levels:
        cell = column.other
    encoded = {tuple(members): float(cell in members) for members in sets}
    return encoded, float(cell is None)


def encode_boolean(column, cell):
    if cell is None:
        return [0.5 if column.missing == "flag" else 0.0, 1.0]
    value = float(bool(cell) != column.reference)
    return [value] if column.missing == "error" else [value, 0.0]


def encode_ordinal(column, cell):
    if column.coding == "intervals":
        encoded, absent = encode_intervals(column, cell)
        return [*encoded.values()] if column.missing == "error" else [*encoded.values(), absent]
    start = 0 if column.reference is None else column.levels.index(column.reference)
    scores = column.scores or [float(k - start) for k in range(len(column.levels))]
    if cell is None:
        return [(scores[0] + scores[-1]) / 2 if column.missing == "flag" else scores[start], 1.0]
    score = scores[column.levels.index(cell if cell in column.levels else column.other)]
    return [score] if column.missing == "error" else [score, 0.0]


def part_of(day, part):
    return {
        "year": str(day.year),
        "quarter": f"Q{(day.month + 2) // 3}",
        "month": MONTHS[day.month - 1],
        "day": str(day.day),
        "weekday": WEEKDAYS[day.weekday()],
    }[part]


def part_levels(column, part):
    if part == "hour":
        return [str(hour) for hour in range(24)]
    length = (column.high - column.low).days
    found = {part_of(column.low + datetime.timedelta(days=k), part) for k in range(length + 1)}
    order = {"month": MONTHS, "weekday": WEEKDAYS}.get(part)
    return sorted(found, key=order.index if order else lambda level: int(level.lstrip("Q")))


def encode_date(column, cell):
    absent = float(cell is None)
    if cell is None and column.missing == "level":
        cell = column.low if column.reference is None else column.reference
    day = None if cell is None else cell.date() if isinstance(cell, datetime.datetime) else cell
    day = None if day is None else min(max(day, column.low), column.high)
    encoded = []
    if column.trend:
        encoded.append((column.high - column.low).days / 2 if day is None else float((day - column.low).days))
    for part in column.parts:
        levels = part_levels(column, part)
        if day is None:
            encoded += [0.0] * (len(levels) - (column.coding != "one-hot"))
        else:
            hour = cell.hour if isinstance(cell, datetime.datetime) else 0
            level = str(hour) if part == "hour" else part_of(day, part)
            encoded += one_of(levels, level, levels[0], column.coding)
    return encoded if column.missing == "error" else [*encoded, absent]


ENCODE = {
    Number: encode_number,
    Category: encode_category,
    Boolean: encode_boolean,
    Ordinal: encode_ordinal,
    Date: encode_date,
}


def encode_rows(schema, table):
    """Encode a mapping of names to lists, one cell after the other."""
    n = len(next(iter(table.values())))
    return [
        [value for name, column in schema.columns.items() for value in ENCODE[type(column)](column, table[name][i])]
        for i in range(n)
    ]


# --- strategies: a column with cells that it takes ---

FLOATS = st.floats(-50, 50).map(lambda x: round(x, 3))
CODINGS = st.sampled_from(["reference", "sum", "one-hot"])


def cells_of(values, missing, n):
    return st.lists(st.none() | values if missing != "error" else values, min_size=n, max_size=n)


@st.composite
def numbers(draw, n):
    shape = draw(st.sampled_from(["plain", "bins", "knots"]))
    ends = sorted(draw(st.sets(FLOATS, min_size=2, max_size=6)))
    missing = draw(st.sampled_from(["error", "flag", "level"]))
    options = {"missing": missing, "reference": draw(st.none() | st.sampled_from(ends))}
    if shape == "bins":
        coding = draw(CODINGS)
        if len(ends) < 3 and missing == "error":
            ends = [ends[0], (ends[0] + ends[1]) / 2, ends[1]]
        options |= {"bins": ends[1:-1], "coding": coding}
        if coding == "one-hot":
            options["reference"] = None
    elif shape == "knots":
        options |= {"knots": ends[1:-1], "degree": draw(st.integers(1, 4))}
    column = Number(ends[0], ends[-1], unit=draw(st.sampled_from([None, "years"])), **options)
    values = draw(st.sampled_from([st.floats(-1e6, 1e6), st.integers(-(10**6), 10**6), st.sampled_from(ends)]))
    return column, draw(cells_of(values, missing, n))


@st.composite
def trees(draw, levels):
    """A tree over levels: a level or node is below a later one, so that no cycle can be."""
    every = [*draw(st.permutations(levels)), *(f"node {k}" for k in range(draw(st.integers(0, 3))))]
    above = {}
    for k, child in enumerate(every[:-1]):
        # Nodes have something below them: those that nothing was put below are left out.
        if (child in levels or child in above.values()) and (draw(st.booleans()) or not above):
            above[child] = draw(st.sampled_from(every[k + 1 :]))
    return above


@st.composite
def categories(draw, n):
    texts = draw(st.booleans())
    level = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)
    levels = draw(
        st.lists(
            level.filter(lambda t: t not in ("missing", "rest")) if texts else st.integers(-9, 9),
            unique=True,
            min_size=2,
            max_size=5,
        )
    )
    missing, coding = draw(st.sampled_from(["error", "flag", "level"])), draw(CODINGS)
    other = draw(st.sampled_from([None, "rest", levels[-1]]))
    every = [*levels, *([other] if other == "rest" else [])]
    if draw(st.booleans()):
        column = Category(levels, missing=missing, other=other, tree=draw(trees(every)))
    else:
        reference = None if coding == "one-hot" else draw(st.none() | st.sampled_from(every))
        column = Category(levels, missing=missing, other=other, reference=reference, coding=coding)
    unknown = st.just("\u00ff unheard of") if texts else st.integers(10, 99)
    values = st.sampled_from(levels) if other is None else st.sampled_from(levels) | unknown
    return column, draw(cells_of(values, missing, n))


@st.composite
def booleans(draw, n):
    missing = draw(st.sampled_from(["error", "flag", "level"]))
    column = Boolean(missing=missing, reference=draw(st.booleans()))
    return column, draw(cells_of(st.booleans(), missing, n))


@st.composite
def ordinals(draw, n):
    levels = draw(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxy"), unique=True, min_size=2, max_size=25))
    missing, other = draw(st.sampled_from(["error", "flag", "level"])), draw(st.none() | st.sampled_from(levels))
    intervals = draw(st.booleans())
    options = {"coding": "intervals"} if intervals else {"reference": draw(st.none() | st.sampled_from(levels))}
    if not intervals and draw(st.booleans()):
        scores = st.lists(st.integers(-20, 20), unique=True, min_size=len(levels), max_size=len(levels))
        options["scores"] = [k / 4 for k in sorted(draw(scores))]
    column = Ordinal(levels, missing=missing, other=other, unit=draw(st.sampled_from([None, "rank"])), **options)
    values = st.sampled_from(levels) if other is None else st.sampled_from(levels) | st.just("z")
    return column, draw(cells_of(values, missing, n))


@st.composite
def dates(draw, n):
    low = draw(st.dates(datetime.date(1950, 1, 1), datetime.date(2050, 1, 1)))
    high = low + datetime.timedelta(days=draw(st.integers(1, 900)))
    parts = draw(st.lists(st.sampled_from(["year", "quarter", "month", "day", "weekday", "hour"]), unique=True))
    plain = Date(low, high)
    parts = [part for part in parts if len(part_levels(plain, part)) > 1]
    missing = draw(st.sampled_from(["error", "flag", "level"]))
    reference = draw(st.none() | st.dates(low, high))
    options = {"trend": draw(st.booleans()) or not parts, "missing": missing, "reference": reference}
    column = Date(low, high, parts=parts, coding=draw(CODINGS), **options)
    near = datetime.datetime.combine(low, datetime.time()) - datetime.timedelta(days=30)
    values = st.datetimes(near, near + datetime.timedelta(days=990)).map(lambda t: t.replace(microsecond=0))
    return column, draw(cells_of(values, missing, n))


KINDS = [numbers, categories, booleans, ordinals, dates]


@st.composite
def tables(draw, min_rows=1):
    """A dictionary of columns, and one of lists of cells that they take."""
    n = draw(st.integers(min_rows, 8))
    found = [draw(draw(st.sampled_from(KINDS))(n)) for _ in range(draw(st.integers(1, 4)))]
    columns = {f"c{k}": column for k, (column, _) in enumerate(found)}
    return columns, {f"c{k}": cells for k, (_, cells) in enumerate(found)}
