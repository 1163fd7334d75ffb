"""Certificates verified a second time, by other code than the one that wrote them."""

from __future__ import annotations

from dataclasses import dataclass

from dpsparse._core import Certificate, InvalidArgumentError
from dpsparse.testing import _reference_document as documents

__all__ = ["Verdict", "verify_certificate"]

_DIGITS = 40
_TOLERANCE = 1e-9  # of delta: what the sums of doubles may take, with room


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, as ``bool(verdict)`` says, and what it does not hold for.

    Attributes
    ----------
    holds : bool
        Whether nothing was found against it.
    reasons : tuple of str
        What was found against it; empty where it holds.

    Examples
    --------
    >>> from dpsparse.testing import verify_certificate
    >>> verify_certificate("{}")
    Verdict(holds=False, reasons=('the format is not dpsparse-certificate-2',))
    """

    holds: bool
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.holds


def verify_certificate(certificate: Certificate | str) -> Verdict:
    """Verify a certificate from its JSON alone, by pure Python that was written from the mathematics.

    It shares no code with ``certificate.verify()``: whoever does not trust the compiled accountant can trust, or read,
    this one. Both check the form of the document, that its facts agree with each other, its checksum, that it is
    certified and that its run was not seeded, and whether the events cost at most the claimed (epsilon, delta).

    Parameters
    ----------
    certificate : Certificate or str
        A certificate, of which ``to_json()`` is read and nothing else, or its JSON text.

    Returns
    -------
    Verdict
        True in a condition where the certificate holds; otherwise its `reasons` say why not.

    Raises
    ------
    InvalidArgumentError
        If `certificate` is of another type, or mpmath is not installed (``pip install "dpsparse[test]"``).

    Notes
    -----
    The two may disagree about a claim that is all but equal to the cost:

    - Curves, conversions and sums are taken here at 40 digits and not rounded, and a claim holds if the least delta
      that is proved at the claimed epsilon is at most (1 + 1e-9) times the claimed delta. ``verify()`` rounds every
      step against itself, by less than 1e-8 of the answer.
    - Choices by the exponential mechanism, pure events and Gaussian noise together: both bound the law of the loss on a
      grid, this one on a finer grid, so that it may prove up to 1 % less epsilon. It needs at most 5000 events of a
      kind and parameter; ``verify()`` 4096, and 8 kinds. Beyond, both are left with Renyi divergences.

    So what ``verify()`` accepts holds here, and what holds here is accepted there if 1 % is added to the claimed
    epsilon.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseClassifier
    >>> from dpsparse.testing import verify_certificate
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)).fit(X, X[:, 0] > 0)
    >>> bool(verify_certificate(model.certificate_))
    True
    >>> edited = json.loads(model.certificate_.to_json()) | {"claimed_epsilon": 0.5}
    >>> verify_certificate(json.dumps(edited)).reasons
    ('the checksum is not that of the contents', 'the events cost more than is claimed')
    """
    if isinstance(certificate, Certificate):
        certificate = certificate.to_json()
    if not isinstance(certificate, str):
        raise InvalidArgumentError("certificate must be a Certificate or its JSON text")
    document = documents.read(certificate)
    if isinstance(document, str):
        return Verdict(False, (document,))
    reasons = documents.contradictions(document)
    if not reasons:
        checks = {
            "the calibration is not proved": document["certified"],
            "the randomness of the run was seeded": document["secure"],
            "the checksum is not that of the contents": document["checksum"] == documents.checksum(document),
            "the events cost more than is claimed": _claim_holds(document),
        }
        reasons = [reason for reason, holds in checks.items() if not holds]
    return Verdict(not reasons, tuple(reasons))


def _claim_holds(document: dict[str, object]) -> bool:
    try:
        import mpmath
    except ImportError as error:
        raise InvalidArgumentError("verify_certificate needs mpmath: pip install mpmath") from error
    from dpsparse.testing._reference_cost import costs_at_most

    events = [(spent["event"], spent["count"]) for spent in document["events"]]  # type: ignore[attr-defined]
    with mpmath.workdps(_DIGITS):
        delta = mpmath.mpf(document["claimed_delta"]) * (1 + mpmath.mpf(_TOLERANCE))
        return costs_at_most(events, float(document["claimed_epsilon"]), delta)  # type: ignore[arg-type]
