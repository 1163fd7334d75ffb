"""The UCI Adult census set: real people, real and sensitive attributes, shipped with the package.

Provenance, licence and the note on use stand in the README beside this file.

Everything that shapes a feature (levels, bin ends, their order) is a constant below, taken from the public
documentation of the set (``adult.names``) and from round numbers, never computed from the rows. A level found by
looking at the data, or a quantile used as a bin end, would be a release of its own that no certificate accounts for.
(Which round bins to take was compared on this public set: the README says how.)
"""

import csv
import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import flag
from dpsparse.errors import MissingPackageError

if TYPE_CHECKING:
    from dpsparse.tables import Schema

FILE_NAME = "adult.csv.gz"

CLASSES = ("<=50K", ">50K")

#: Levels of each categorical attribute as `adult.names` lists them, with "?" where values are documented as missing.
#: `education` stands in the order of `education-num`, which gives the same fact as a rank from 1 to 16.
LEVELS: Mapping[str, tuple[str, ...]] = {
    "workclass": (
        "Private",
        "Self-emp-not-inc",
        "Self-emp-inc",
        "Federal-gov",
        "Local-gov",
        "State-gov",
        "Without-pay",
        "Never-worked",
        "?",
    ),
    "education": (
        "Preschool",
        "1st-4th",
        "5th-6th",
        "7th-8th",
        "9th",
        "10th",
        "11th",
        "12th",
        "HS-grad",
        "Some-college",
        "Assoc-voc",
        "Assoc-acdm",
        "Bachelors",
        "Masters",
        "Prof-school",
        "Doctorate",
    ),
    "marital-status": (
        "Married-civ-spouse",
        "Divorced",
        "Never-married",
        "Separated",
        "Widowed",
        "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "occupation": (
        "Tech-support",
        "Craft-repair",
        "Other-service",
        "Sales",
        "Exec-managerial",
        "Prof-specialty",
        "Handlers-cleaners",
        "Machine-op-inspct",
        "Adm-clerical",
        "Farming-fishing",
        "Transport-moving",
        "Priv-house-serv",
        "Protective-serv",
        "Armed-Forces",
        "?",
    ),
    "relationship": ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    "race": ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    "sex": ("Female", "Male"),
}

#: Lower ends of the bins of each numeric attribute. The first ends are the documented filters (age above 16, hours
#: above 0). Then: decades of age; no diploma, high school, degree (no stage equals one level of `education`, so no two
#: features are the same column); dollars in steps of 1-2-5; the usual limits of part-time, full-time and overtime work.
BIN_STARTS: Mapping[str, tuple[int, ...]] = {
    "age": (17, 20, 30, 40, 50, 60, 70),
    "education-num": (1, 9, 13),
    "capital-gain": (0, 1, 1_000, 2_000, 5_000, 10_000),
    "capital-loss": (0, 1, 1_000, 2_000, 5_000),
    "hours-per-week": (1, 20, 30, 35, 40, 41, 50, 60),
}

#: Attributes that become features, in the order of the file.
ATTRIBUTES = (
    "age",
    "workclass",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)


#: Ends of the numeric attributes: documented caps, and round numbers.
NUMBER_ENDS: Mapping[str, int] = {
    "age": 90,
    "education-num": 16,
    "capital-gain": 99_999,
    "capital-loss": 10_000,
    "hours-per-week": 99,
}

#: The level, or a value in the bin, that coefficients compare with where it is not the first: common ones, by general
#: knowledge of the country and not by a look at the rows.
REFERENCES: Mapping[str, str | int] = {
    "age": 30,
    "education": "HS-grad",
    "education-num": 9,
    "marital-status": "Never-married",
    "occupation": "Sales",
    "relationship": "Not-in-family",
    "sex": "Male",
    "hours-per-week": 40,
}

#: Text that the source has for a missing value.
MISSING = "?"


@dataclass(frozen=True, eq=False)
class Adult:
    """The Adult census rows, raw and as 0/1 features.

    Attributes
    ----------
    X : ndarray or csr_array of shape (32561, n_features), float64
        Indicators: in each row exactly one feature of each group is 1.
    y : ndarray of shape (32561,), str
        Income, ``"<=50K"`` or ``">50K"``.
    feature_names : tuple of str
        ``"attribute=level"``, one for each column of `X`.
    groups : ndarray of shape (n_features,), int64
        The attribute that each feature belongs to, as an index into `attributes`.
    attributes : tuple of str
        Names of the groups.
    bounds : tuple of float
        Public bounds of every feature: ``(0.0, 1.0)``.
    classes : tuple of str
        The two public labels, the rarer last.
    raw : mapping of str to ndarray
        The columns of the file under their UCI names, integers as int64 and the others as str.

    Examples
    --------
    >>> from dpsparse.datasets import load_adult
    >>> data = load_adult()
    >>> data.X.shape[0], data.bounds, data.classes
    (32561, (0.0, 1.0), ('<=50K', '>50K'))
    """

    X: Any
    y: NDArray[np.str_]
    feature_names: tuple[str, ...]
    groups: NDArray[np.int64]
    attributes: tuple[str, ...]
    bounds: tuple[float, float]
    classes: tuple[str, str]
    raw: Mapping[str, NDArray[Any]]

    @property
    def schema(self) -> "Schema":
        """Public facts about the attributes: levels and bins as of `X`, and a reference level of each.

        ``schema.encode(frame())`` has the columns of `X` without those of the references, in the same order.
        """
        # Not before it is asked for: tables take a library of their own.
        from dpsparse.tables import Category, Number, Schema

        columns: dict[str, Any] = {}
        for attribute in ATTRIBUTES:
            reference: Any = REFERENCES.get(attribute)
            if attribute in LEVELS:
                known = [level for level in LEVELS[attribute] if level != MISSING]
                rule = "error" if len(known) == len(LEVELS[attribute]) else "level"
                columns[attribute] = Category(known, missing=rule, reference=reference)
            else:
                low, *bins = BIN_STARTS[attribute]
                columns[attribute] = Number(low, NUMBER_ENDS[attribute], bins=bins, reference=reference)
        return Schema(columns, missing_values=(MISSING,))

    def frame(self, backend: str | None = None) -> Any:
        """Return the attributes as a table, without the labels, in the order of the file; "?" is a missing value.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow", "numpy"}, optional
            The library of the table; "numpy" gives a structured array. None: pandas, polars or numpy, the first that
            is installed.

        Raises
        ------
        InvalidArgumentError
            For what is no name.
        MissingPackageError
            Where the library that was asked for is not installed, or not known here.
        """
        if backend is None:
            known = [name for name in ("pandas", "polars") if find_spec(name) is not None]
            backend = [*known, "numpy"][0]
        if not isinstance(backend, str):
            raise InvalidArgumentError(f"backend must be None or the name of a library, got {type(backend).__name__}")
        columns = {name: self.raw[name].copy() for name in ATTRIBUTES}
        if backend == "numpy":
            table = np.empty(len(self.y), dtype=[(name, column.dtype) for name, column in columns.items()])
            for name, column in columns.items():
                table[name] = column
            return table
        if backend not in ("pandas", "polars", "pyarrow"):
            raise MissingPackageError("backend must be 'pandas', 'polars', 'pyarrow' or 'numpy': no other one is known")
        try:
            library = import_module(backend)
        except ImportError as error:
            raise MissingPackageError(f"backend={backend!r} needs that package: pip install {backend}") from error
        return (library.table if backend == "pyarrow" else library.DataFrame)(columns)


def load_adult(*, as_sparse: bool = False) -> Adult:
    """Load the UCI Adult census set: 32 561 people of the United States census of 1994.

    The question of the set: does a person earn more than 50 000 dollars a year? Twelve attributes become 0/1 features
    through public levels and public bins, one group of features for each attribute; the raw columns come along.

    The attributes (age, race, sex, marital status, income, ...) describe real people: see the README beside the data.

    Parameters
    ----------
    as_sparse : bool, default=False
        Give `X` as a SciPy ``csr_array`` in place of a dense array.

    Returns
    -------
    Adult
        Features, labels, groups and raw columns; every call returns fresh arrays.

    Examples
    --------
    >>> from dpsparse.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.X.shape
    (32561, 89)
    >>> adult.feature_names[:2], adult.attributes[adult.groups[0]]
    (('age=17-19', 'age=20-29'), 'age')
    >>> adult.schema.encode(adult.frame()).shape
    (32561, 77)
    """
    raw = _read_columns()
    labels = {attribute: _labels(attribute) for attribute in ATTRIBUTES}
    sizes = [len(labels[attribute]) for attribute in ATTRIBUTES]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    active = np.column_stack([_codes(attribute, raw[attribute]) for attribute in ATTRIBUTES]) + starts

    n_rows, n_groups = active.shape
    ones = np.ones(active.size)
    # Groups stand in column order, so the indices of a row are sorted as CSR wants them.
    X = sp.csr_array((ones, active.ravel(), np.arange(n_rows + 1) * n_groups), shape=(n_rows, sum(sizes)))
    return Adult(
        X=X if flag("as_sparse", as_sparse) else X.toarray(),
        y=raw["income"].copy(),
        feature_names=tuple(f"{attribute}={label}" for attribute in ATTRIBUTES for label in labels[attribute]),
        groups=np.repeat(np.arange(n_groups), sizes),
        attributes=ATTRIBUTES,
        bounds=(0.0, 1.0),
        classes=CLASSES,
        raw=raw,
    )


def _read_columns() -> dict[str, NDArray[Any]]:
    packed = files("dpsparse.datasets").joinpath(FILE_NAME).read_bytes()
    header, *rows = csv.reader(io.StringIO(gzip.decompress(packed).decode("ascii")))
    return {
        name: np.array(column, dtype=np.int64 if name in BIN_STARTS else np.str_)
        for name, column in zip(header, zip(*rows, strict=True), strict=True)
    }


def _labels(attribute: str) -> tuple[str, ...]:
    """Name the levels of a categorical attribute, or the bins of a numeric one."""
    if attribute in LEVELS:
        return LEVELS[attribute]
    starts = BIN_STARTS[attribute]
    closed = (str(start) if stop == start + 1 else f"{start}-{stop - 1}" for start, stop in pairwise(starts))
    return (*closed, f"{starts[-1]}+")


def _codes(attribute: str, column: NDArray[Any]) -> NDArray[np.int64]:
    """Number the level or bin of each value; it depends on that value alone, never on the other rows."""
    if attribute in LEVELS:
        index = {level: code for code, level in enumerate(LEVELS[attribute])}
        return np.array([index[value] for value in column.tolist()], dtype=np.int64)
    return np.asarray(np.digitize(column, BIN_STARTS[attribute][1:]), dtype=np.int64)
