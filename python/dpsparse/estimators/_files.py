"""The methods by which fitted estimators become JSON, and come back."""

from __future__ import annotations

from typing import Self

from dpsparse.errors import ModelFormatError

__all__ = ["WrittenModel"]


class WrittenModel:
    """A fitted model that can be written as JSON; :mod:`dpsparse.models` has files, schemas and signatures."""

    def to_json(self) -> str:
        """Return the fitted model as JSON text: what was released, public facts, and the certificate.

        Returns
        -------
        str
            As of :func:`dpsparse.models.dumps`.

        Raises
        ------
        InvalidTypeError
            For subclasses, and for labels that JSON has no form for.
        sklearn.exceptions.NotFittedError
            Before a fit.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse import PrivateSparseRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
        >>> model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
        >>> again = PrivateSparseRegressor.from_json(model.to_json())
        >>> bool(np.all(again.predict(X) == model.predict(X))), again.certificate_.verify()
        (True, True)
        """
        from dpsparse.models import dumps

        return dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a fitted model of this class that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text, or what :func:`dpsparse.models.load` takes.

        Returns
        -------
        fitted estimator
            It predicts what the one that was written predicts, bit for bit.

        Raises
        ------
        ModelFormatError
            For what is no model, a model of another class or of a later version, or one whose parts disagree.
        """
        from dpsparse.models import load

        model = load(text)
        if type(model) is not cls:
            raise ModelFormatError(f"the document holds a {type(model).__name__}, not a {cls.__name__}")
        return model
