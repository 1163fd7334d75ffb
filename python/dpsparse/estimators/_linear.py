"""What every linear estimator of the package shares, private or not: labels, scores, predictions, support."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dpsparse._core import InvalidArgumentError, InvalidDataError
from dpsparse.distributed._shards import Column
from dpsparse.estimators._sklearn_checks import scored, without_values
from dpsparse.estimators._tables import coefficient_names, read_again
from dpsparse.losses import Logistic

if TYPE_CHECKING:
    from dpsparse.words.summary import Summary

__all__ = [
    "LinearClassifierMixin",
    "LinearRegressorMixin",
    "LogLinkRegressorMixin",
    "MulticlassMixin",
    "declared_labels",
    "encode_labels",
    "encode_many_labels",
]


#: What three or more classes cost where they are split into pairs, for the message that refuses them.
_SPLIT = (
    "wrap the estimator in sklearn.multiclass.OneVsRestClassifier, which fits one model per class: each spends the "
    "whole budget, so that K classes cost K budgets (compose their certificates in one accountant), and it reads the "
    "set of labels from y, which no certificate of theirs states"
)
_NUMBERED = (
    "; y holds integers and classes does not: VotingClassifier, StackingClassifier, BaggingClassifier and "
    "cross_val_predict(method='predict_proba') number the labels in sorted order before they fit, so declare "
    "classes=(0, 1) in the estimator that they are given"
)


def encode_labels(y: ArrayLike, declared: Any = None) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Encode two labels as -1 and +1.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any type that sorts.
    declared : pair of labels, optional
        The two labels, known without looking at ``y``, in any order.

    Returns
    -------
    classes : ndarray of shape (2,)
        The two labels, sorted, as scikit-learn's scorers assume.
    signs : ndarray of shape (n_samples,)
        -1.0 where ``y`` is ``classes[0]``, +1.0 where it is ``classes[1]``.

    Raises
    ------
    InvalidArgumentError
        Where ``declared`` is not a pair of different labels that sort.
    InvalidDataError
        Where ``y`` holds a label that was not declared; or, with none declared, does not hold labels, or one only, or
        more than two.
    """
    if declared is not None:
        # No look at y beyond the public labels: scikit-learn warns about targets that do not look like classes.
        labels = declared_labels(declared)
        return labels, _signs(_codes(y, labels))
    classes, codes = _read_labels(y)
    if len(classes) > 2:
        # The first sentence is the one that scikit-learn's checks look for.
        raise InvalidDataError(f"Only binary classification is supported. y has more than two classes; {_SPLIT}")
    return classes, _signs(codes)


def encode_many_labels(y: ArrayLike, declared: Any = None) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Encode two labels as -1 and +1, three or more as 0, 1, 2, ...

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any type that sorts.
    declared : sequence of labels, optional
        All labels, two or more, known without looking at ``y``, in any order. A label may have no record.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    targets : ndarray of shape (n_samples,)
        As :func:`encode_labels` for two labels; otherwise the index of each entry of ``y`` in ``classes``.

    Raises
    ------
    InvalidArgumentError
        Where ``declared`` does not hold two or more different labels that sort.
    InvalidDataError
        Where ``y`` holds a label that was not declared; or, with none declared, does not hold labels, or one only.
    """
    if isinstance(y, Column):
        return _labels_elsewhere(y, declared)
    if declared is not None:
        classes = declared_labels(declared, many=True)
        codes = _codes(y, classes)
    else:
        classes, codes = _read_labels(y)
    return classes, _signs(codes) if len(classes) == 2 else codes.astype(np.float64)


def _labels_elsewhere(y: Column, declared: Any) -> tuple[NDArray[Any], Any]:
    """Return the declared labels, and labels on other machines, which become numbers there."""
    if declared is None:
        raise InvalidArgumentError("classes must be stated for records on other machines: labels are not read there")
    y.labels = declared_labels(declared, many=True)
    return y.labels, y


def _read_labels(y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels that y holds, sorted, two at least, and their indices."""
    # Of every label twice: scikit-learn warns where there are as many labels as half of the records, or more than that,
    # and so tells how many records there are, which may be private.
    without_values(lambda: check_classification_targets(np.concatenate([y, y])))
    classes, codes = np.unique(y, return_inverse=True)
    if len(codes) == 1:
        raise InvalidDataError(
            "y holds one record (n_samples=1), and so one class only: a classifier needs at least two records, of two "
            "classes"
        )
    if len(classes) < 2:
        raise InvalidDataError("y holds one class only; a classifier needs two.")
    return classes, codes


def _signs(codes: NDArray[np.intp]) -> NDArray[np.float64]:
    return 2.0 * codes.astype(np.float64) - 1.0


def _codes(y: ArrayLike, labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of each entry of y among the declared labels."""
    codes = np.full(len(np.asarray(y)), -1, dtype=np.intp)
    for code, label in enumerate(labels):
        codes[_equal(y, label)] = code
    if (codes < 0).any():
        numbered = np.asarray(y).dtype.kind in "iu" and labels.dtype.kind not in "biuf"
        raise InvalidDataError(
            "y holds a label that is not among the declared classes" + (_NUMBERED if numbered else "")
        )
    return codes


def declared_labels(declared: Any, *, many: bool = False) -> NDArray[Any]:
    """Return the declared labels, sorted: two of them, or, with ``many``, two or more."""
    problem = "classes must be a pair of two different labels that sort"
    if many:
        problem = "classes must be two or more different labels that sort"
    if isinstance(declared, Set | Mapping):
        raise InvalidArgumentError(
            f"classes must be a sequence of labels, got {type(declared).__name__}, whose order nobody states: write a "
            "tuple, classes=(label, another label)"
        )
    try:
        given = np.asarray(declared)
        if not many and given.ndim == 1 and len(given) > 2:
            problem += f"; for more, {_SPLIT}"
        labels: NDArray[Any] = np.unique(given)
        number = given.shape == (2,) or (many and given.ndim == 1 and len(given) > 2)
        fine = number and len(labels) == len(given) and bool(np.all(labels == labels))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(problem) from error
    if not fine:
        raise InvalidArgumentError(problem)
    if given.dtype.kind in "US" and not all(isinstance(label, str | bytes) for label in declared):
        raise InvalidArgumentError("classes must be all numbers or all text: beside text a number would become text")
    return labels


def _equal(y: ArrayLike, label: Any) -> NDArray[np.bool_]:
    """Where y is a label; nowhere for entries that cannot be compared with it, as missing values."""
    array = np.asarray(y)
    if array.dtype.kind != "O":
        return np.isin(array, [label])
    same = (_compared(entry, label) for entry in array)
    return np.fromiter((isinstance(one, bool | np.bool_) and bool(one) for one in same), dtype=np.bool_)


def _compared(entry: Any, label: Any) -> Any:
    try:
        return entry == label
    except Exception:  # as decimals beside numpy's integers; the error of another type might show the entry
        return False


def _clip(X: Any, ranges: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
    """Clip the columns of X, an array or a CSR or CSC matrix, to ranges of shape (n_features, 2), without changing X.

    Returns a matrix M and a row m of shape (n_features,): M + m is X clipped. A sparse M stores what X does.
    """
    lower, upper = ranges.T
    if not sp.issparse(X):
        return np.clip(X, lower, upper), np.zeros(len(ranges))
    if not X.has_canonical_format:
        # Entries of the same place are one value.
        X = X.copy()
        X.sum_duplicates()
    columns = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    zero = np.clip(0.0, lower, upper)
    stored = np.clip(X.data, lower[columns], upper[columns]) - zero[columns]
    return type(X)((stored, X.indices, X.indptr), shape=X.shape), zero


class _LinearModel:
    """Scores of a linear model: ``coef_`` and ``intercept_``, and ``feature_ranges_`` where features are clipped."""

    coef_: NDArray[np.float64]
    intercept_: Any

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return X theta + b, of shape (n_samples,) or, for K > 2 classes, (n_samples, K).

        X is clipped to ranges first where there are any.
        """
        check_is_fitted(self)
        X = read_again(self, X)
        # One column a score; a vector where there is one score.
        several = self.coef_.ndim == 2 and len(self.coef_) > 1
        coefficients = self.coef_.T if several else self.coef_.ravel()
        constant = np.asarray(self.intercept_, dtype=np.float64).ravel()
        ranges = getattr(self, "feature_ranges_", None)
        if ranges is not None and getattr(self, "_clips_features", True):
            X, zero = _clip(X, ranges)
            constant = constant + zero @ coefficients
        scores = safe_sparse_dot(X, coefficients, dense_output=True)
        return np.asarray(scores + constant, dtype=np.float64)

    @property
    def coef_names_(self) -> NDArray[np.object_]:
        """Names of the coefficients, of shape (n_features,): with a schema, those of its encoded columns."""
        check_is_fitted(self, "coef_")
        return coefficient_names(self, self.coef_.shape[-1])

    @property
    def support_(self) -> NDArray[np.intp]:
        """Indices of the features with a non-zero coefficient, increasing; an array of shape (n_nonzero,)."""
        check_is_fitted(self, "coef_")
        return np.flatnonzero(np.any(np.atleast_2d(self.coef_) != 0.0, axis=0))

    def summary(self, *, confidence: float = 0.95, only_support: bool = False) -> Summary:
        """Return the coefficients as a table: post-processing of what was released, which costs no privacy.

        Parameters
        ----------
        confidence : float, default 0.95
            Of the intervals, where the law of the noise is known, strictly between 0 and 1.
        only_support : bool, default False
            Leave out features whose coefficients are all 0.

        Returns
        -------
        Summary
            One row a coefficient: attribute, level, the reference level that it compares with (a row of its own, with
            coefficient 0), unit, coefficient in the user's units; ``odds_ratio`` of logistic classifiers (of three or
            more classes: against ``classes_[0]``), ``rate_ratio`` of models of counts; intervals where some are known
            to cover: of the fit without its noise, or of the population, then with its ``estimate`` (not shrunk) and
            ``sampling_width`` (the width by sampling alone); the notes say which, or why there are none.
            It prints, shows in notebooks, and has ``rows``, ``to_dict()`` and ``to_frame()``.

        Raises
        ------
        InvalidArgumentError
            If an argument is out of its domain.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse import SparsePoissonRegressor
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> table = SparsePoissonRegressor(alpha=0.001).fit(X, [1, 2, 4, 8]).summary()
        >>> table.to_dict()["attribute"], round(table.rows[1]["rate_ratio"], 1)
        (['(intercept)', 'x0'], 2.0)
        """
        from dpsparse.words.summary import summarise

        return summarise(self, confidence=confidence, only_support=only_support)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        # Raises AttributeError where scikit-learn is set to show text.
        diagram = super()._repr_html_  # type: ignore[misc]
        return lambda: str(diagram()) + self._words_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._words_html()
        return bundle

    def _words_html(self) -> str:
        from dpsparse.words.notebook import model_html

        return model_html(self)


class LinearRegressorMixin(_LinearModel):
    """Predictions of a fitted linear regressor: ``coef_`` of shape (n_features,), ``intercept_`` a float."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X coef_ + intercept_``; X is clipped first where fits clip to ``feature_ranges_``, and the result to
            ``target_bounds_``.
        """
        scores = self._scores(X)
        bounds = getattr(self, "target_bounds_", None)
        return scores if bounds is None else np.clip(scores, *bounds)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the share of the variance of the targets that the model explains; 1 at best.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            As of ``sklearn.metrics.r2_score``. Of a private model it is exact, so **not private** for the people in X
            and y, as :meth:`PrivateSparseClassifier.score`.

        Raises
        ------
        InvalidDataError
            For records, targets or weights that do not fit each other or the model.
        """
        return scored(lambda: super(LinearRegressorMixin, self).score(X, y, sample_weight))  # type: ignore[misc]


#: Rates beyond are not computed: exp overflows.
_LARGEST_LOG_RATE = 700.0


class LogLinkRegressorMixin(_LinearModel):
    """Predictions of a fitted model of rates: ``coef_`` of shape (n_features,), ``intercept_`` a float."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rates.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``exp(X coef_ + intercept_)``, positive; X is clipped first where fits clip to ``feature_ranges_``, and the
            result to ``target_bounds_``.
        """
        rates = np.exp(np.clip(self._scores(X), -_LARGEST_LOG_RATE, _LARGEST_LOG_RATE))
        bounds = getattr(self, "target_bounds_", None)
        return rates if bounds is None else np.clip(rates, *bounds)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D^2, the share of the Poisson deviance that the model explains; 0 for the mean of y, 1 at best.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their counts, not negative.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            As of ``sklearn.metrics.d2_tweedie_score`` with ``power=1``; NaN where all counts that weigh anything are
            alike. Of a private model it is exact, so **not private** for the people in X and y, as
            :meth:`PrivateSparseClassifier.score`.
        """
        rates = self.predict(X)
        counts = without_values(lambda: np.asarray(y, dtype=np.float64).ravel())
        if counts.size and not counts.min() >= 0:
            raise InvalidDataError("y must hold counts that are not negative")
        if _are_alike(counts, sample_weight):
            # Their mean has no deviance to explain, as in scikit-learn; what is wrong is told all the same.
            scored(lambda: mean_poisson_deviance(counts, rates, sample_weight=sample_weight))
            return math.nan
        return scored(lambda: d2_tweedie_score(counts, rates, sample_weight=sample_weight, power=1))


def _are_alike(counts: NDArray[np.float64], sample_weight: Any) -> bool:
    """Whether all counts that weigh anything are one value."""
    weights = None if sample_weight is None else without_values(lambda: np.asarray(sample_weight, dtype=np.float64))
    if weights is not None and weights.shape == counts.shape:
        counts = counts[weights != 0.0]
    return not counts.size or bool(counts.min() == counts.max())


def _models_probabilities(estimator: Any) -> bool:
    if estimator.loss == "logistic" or isinstance(estimator.loss, Logistic):
        return True
    raise AttributeError(f"probabilities need loss='logistic'; loss={estimator.loss!r} models none")


class LinearClassifierMixin(_LinearModel):
    """Predictions of a fitted linear classifier of two classes.

    ``coef_`` has shape (1, n_features), ``intercept_`` shape (1,); a positive score favours ``classes_[1]``. The
    parameter ``loss`` decides whether there are probabilities.
    """

    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margins.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X coef_ + intercept_``, positive where ``classes_[1]`` is predicted; X is clipped first where fits clip to
            ``feature_ranges_``.
        """
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``, by the sign of :meth:`decision_function`.
        """
        scores = self._scores(X)
        labels: NDArray[Any] = self.classes_[(scores > 0.0).astype(np.intp)]
        return labels

    @available_if(_models_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities by the logistic model; only where ``loss="logistic"``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities of ``classes_[0]`` and ``classes_[1]`` by :meth:`decision_function`; rows sum to 1.
        """
        scores = self._scores(X)
        # 1/(1 + exp(-s)) by the exponential that cannot overflow, exact in both tails.
        small = np.exp(-np.abs(scores))
        likely, unlikely = 1.0 / (1.0 + small), small / (1.0 + small)
        positive = scores > 0.0
        return np.column_stack([np.where(positive, unlikely, likely), np.where(positive, likely, unlikely)])

    @available_if(_models_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict logarithms of probabilities by the logistic model; only where ``loss="logistic"``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Natural logarithms of :meth:`predict_proba`, finite where those are 0 in floats.
        """
        scores = self._scores(X)
        return -np.logaddexp(0.0, np.column_stack([scores, -scores]))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, the share of records whose label is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            As of ``sklearn.metrics.accuracy_score``. Of a private model it is exact, so **not private** for the people
            in X and y, as :meth:`PrivateSparseClassifier.score`.

        Raises
        ------
        InvalidDataError
            For records, labels or weights that do not fit each other or the model.
        """
        return scored(lambda: super(LinearClassifierMixin, self).score(X, y, sample_weight))  # type: ignore[misc]


class MulticlassMixin(LinearClassifierMixin):
    """Predictions of a fitted linear classifier of two classes, or of the softmax model of three or more.

    Of K >= 3 classes ``coef_`` has shape (K, n_features) and ``intercept_`` shape (K,): a row and a score a class.
    """

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``X coef_.T + intercept_``: for two classes the margin, positive where ``classes_[1]`` is predicted, for
            more one score a class, of which the largest is predicted. X is clipped first where fits clip to
            ``feature_ranges_``.
        """
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``, by the sign, or the largest entry, of :meth:`decision_function`.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return super().predict(X)
        labels: NDArray[Any] = self.classes_[np.argmax(self._scores(X), axis=1)]
        return labels

    @available_if(_models_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict probabilities by the logistic or softmax model; only where ``loss="logistic"``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities of ``classes_`` by :meth:`decision_function`; rows sum to 1.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            probabilities: NDArray[np.float64] = super().predict_proba(X)
            return probabilities
        scores = self._scores(X)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)

    @available_if(_models_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict logarithms of probabilities by the logistic or softmax model; only where ``loss="logistic"``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms of :meth:`predict_proba`, finite where those are 0 in floats.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            logarithms: NDArray[np.float64] = super().predict_log_proba(X)
            return logarithms
        return np.asarray(log_softmax(self._scores(X), axis=1), dtype=np.float64)
