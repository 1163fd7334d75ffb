"""Public schemas of tables: data frames of numbers, categories, truth values, ranks and dates as bounded columns.

A :class:`Schema` says what is public about each column (bounds, levels, ranges, what a missing value means) and maps a
row of a table to a row of bounded numbers by these facts alone. It never learns from data. It is the ``schema=`` of
private estimators, scalers and searches, and ``schema.encoder()`` is a transformer for pipelines.

Kinds of columns: :class:`Number`, :class:`Category`, :class:`Boolean`, :class:`Ordinal`, :class:`Date`.

**What is public.** Everything in a schema: bounds, levels, bins, knots, references, what ``missing`` and ``other`` say.
State what documentation and meaning allow, not what the records hold. Values beyond bounds are clipped, in silence.

**Missing values** are None, NaN, null, and text that a schema lists (``missing_values``). ``missing="error"``, the
default, raises. "flag" and "level" add an indicator, whose coefficient compares a missing value with what it counts as
otherwise: the middle of the bounds, or no level ("flag"); the reference ("level").

**Errors are events that depend on data.** A value that is missing where the schema says ``missing="error"``, a level
outside the schema where there is no ``other``, text in a column of numbers, text that is no date: these raise before
any budget is spent. The messages name the column and never a value; but that there is an error tells that somebody's
record has one. No guarantee covers that, as for any error that records can cause. Declare ``other=`` and
``missing="flag"`` or "level" where outsiders see whether a fit went through: with them, and columns of the right types
(for a ``Date`` that is not text), no record can cause an error.
"""

from typing import TYPE_CHECKING

from dpsparse._lazy import late_names
from dpsparse.tables._column import Term
from dpsparse.tables.boolean import Boolean
from dpsparse.tables.category import Category
from dpsparse.tables.date import Date
from dpsparse.tables.number import Number
from dpsparse.tables.ordinal import Ordinal
from dpsparse.tables.schema import Schema

if TYPE_CHECKING:
    from dpsparse.tables.encoder import SchemaEncoder
else:
    # At its first use: schemas need no scikit-learn, their transformer does.
    __getattr__, __dir__ = late_names(__name__, {"SchemaEncoder": "dpsparse.tables.encoder"})

__all__ = ["Boolean", "Category", "Date", "Number", "Ordinal", "Schema", "SchemaEncoder", "Term"]
