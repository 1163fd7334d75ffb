"""Models to documents and back."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dpsparse import estimators
from dpsparse._atomic import write_bytes
from dpsparse._core import Certificate, InvalidArgumentError
from dpsparse.errors import InvalidTypeError, ModelFormatError
from dpsparse.models import _document
from dpsparse.models._document import FORMAT, VERSION, Document, Source, text_of
from dpsparse.models._parameters import read_parameters, write_parameters
from dpsparse.models._signature import checked_field
from dpsparse.models._state import read_state, write_state

__all__ = ["dumps", "load", "save"]

#: The estimators that are written, by name.
_ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        estimators.PrivateSparseClassifier,
        estimators.PrivateSparseRegressor,
        estimators.PrivateSparsePoissonRegressor,
        estimators.PrivateSimplexClassifier,
        estimators.PrivateSimplexRegressor,
    )
}
_FIELDS = {"format", "version", "package", "estimator", "parameters", "left_out", "state", "certificate"}


def dumps(model: Any) -> str:
    """Return a fitted model as JSON text.

    Parameters
    ----------
    model : fitted private estimator
        A ``PrivateSparseClassifier``, ``-Regressor`` or ``-PoissonRegressor``, a ``PrivateSimplexClassifier`` or
        ``-Regressor``, or a ``PrivateSearchCV``, of which the winner is written, with the certificate of the search.

    Returns
    -------
    str
        JSON, in ASCII. It holds what was released and what was public before: parameters (but ``random_state``,
        ``ledger`` and ``verbose``), coefficients, labels, names and schema of the features, ranges, certificate.
        Parameters that JSON has no form for are left out, with the reason in ``left_out``; see :class:`LeftOut`.

    Raises
    ------
    InvalidTypeError
        For what is none of these estimators (their subclasses are none), and for labels that JSON has no form for.
    sklearn.exceptions.NotFittedError
        Before a fit.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseRegressor, models
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> list(json.loads(models.dumps(model)))
    ['format', 'version', 'package', 'estimator', 'parameters', 'left_out', 'state', 'certificate']
    """
    if type(model) is estimators.PrivateSearchCV:
        check_is_fitted(model, "best_estimator_")
        model = model.best_estimator_
    name = type(model).__name__
    if _ESTIMATORS.get(name) is not type(model):
        raise InvalidTypeError(f"models are written of {', '.join(_ESTIMATORS)} and PrivateSearchCV, not of {name}")
    check_is_fitted(model, "coef_")
    parameters, left_out = write_parameters(model)
    document: Document = {
        "format": FORMAT,
        "version": VERSION,
        "package": version("dpsparse"),
        "estimator": name,
        "parameters": parameters,
        "left_out": left_out,
        "state": write_state(model),
        "certificate": json.loads(model.certificate_.to_json()),
    }
    return text_of(document)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, whole or not at all: a crash leaves what was there before.

    Parameters
    ----------
    model : fitted private estimator
        As of :func:`dumps`.
    path : path
        The file; one that is there is replaced.

    Raises
    ------
    InvalidTypeError
        As :func:`dumps`.
    InvalidArgumentError
        For a folder, a pipe or a device in the place of a file.
    OSError
        Where the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseRegressor, models
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     models.save(model, os.path.join(folder, "model.json"))
    ...     again = models.load(os.path.join(folder, "model.json"))
    >>> bool(np.all(again.predict(X) == model.predict(X))), again.certificate_ == model.certificate_
    (True, True)
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
        raise InvalidArgumentError("path must name a file")
    write_bytes(path, dumps(model).encode("ascii"))


def load(source: Source) -> Any:
    """Read a model that :func:`dumps` or :func:`save` wrote. No code of the document runs.

    Parameters
    ----------
    source : str, path or mapping
        JSON text (it begins with a brace), the path of a file, or what JSON was parsed to.

    Returns
    -------
    fitted private estimator
        It predicts what the one that was written predicts, bit for bit. Its certificate is as it was written: ask
        ``certificate_.verify()``. A signature is not checked here: ask :func:`verify_signature`.

    Raises
    ------
    ModelFormatError
        For what is no model, a model of a later version, and one whose parts are not finite or disagree.
    MissingFileError
        For a ``Path``, or text that ends in ".json", of a file that is not there.
    OSError
        Where the file cannot be read.

    Examples
    --------
    >>> from dpsparse import ModelFormatError, models
    >>> try:
    ...     models.load('{"format": "dpsparse-model", "version": 1000}')
    ... except ModelFormatError as error:
    ...     print("later" in str(error))
    True
    """
    document = _document.read(source)
    if set(document) - {"signature"} != _FIELDS:
        raise ModelFormatError(f"the document must hold {', '.join(sorted(_FIELDS))}, and nothing else but a signature")
    checked_field(document)
    if not isinstance(document["package"], str):
        raise ModelFormatError("package must be the version of a package, as text")
    kind = _ESTIMATORS.get(document["estimator"]) if isinstance(document["estimator"], str) else None
    if kind is None:
        raise ModelFormatError(f"the document is of an estimator that is none of {', '.join(_ESTIMATORS)}")
    model = kind(**read_parameters(kind, document["parameters"], document["left_out"]))
    read_state(model, document["state"], _certificate(document["certificate"]))
    return model


def _certificate(written: Any) -> Certificate:
    try:
        return Certificate.from_json(json.dumps(written))
    except InvalidArgumentError as error:
        raise ModelFormatError(f"the certificate of the document: {error}") from None
