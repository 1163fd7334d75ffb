"""Ed25519 signatures of models: that a curator wrote this model, with this certificate."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from dpsparse._core import InvalidArgumentError
from dpsparse.errors import InvalidTypeError, MissingPackageError, ModelFormatError
from dpsparse.models._document import Document, Source, read, text_of

__all__ = ["canonical", "checked_field", "generate_key", "sign", "verify_signature"]

_FIELD = "signature"
_ALGORITHM = "Ed25519"
#: Bytes of a signature.
_LENGTH = 64
_MISSING = 'signatures need the package cryptography: pip install "dpsparse[sign]"'


def canonical(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a document that a signature signs.

    Parameters
    ----------
    document : mapping
        What the JSON of a model was parsed to.

    Returns
    -------
    bytes
        JSON without the field ``signature`` of the document itself: names sorted by code points, no whitespace,
        everything beyond ASCII as ``\\uXXXX`` escapes in lower case, integers in decimal, floats in the shortest form
        that is read back exactly, as Python's ``repr`` writes them (1.0, 1e-06).

    Raises
    ------
    InvalidArgumentError
        For what is no mapping.
    ModelFormatError
        For values that JSON has no form for.

    Examples
    --------
    >>> from dpsparse import models
    >>> models.canonical({"b": [1, 1e-6], "a": "\u00e9", "signature": {"algorithm": "Ed25519"}})
    b'{"a":"\\\\u00e9","b":[1,1e-06]}'
    """
    if not isinstance(document, Mapping):
        raise InvalidArgumentError(f"document must be a mapping, as JSON objects are; got {type(document).__name__}")
    signed = {name: value for name, value in document.items() if name != _FIELD}
    try:
        return json.dumps(signed, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        raise ModelFormatError("the document holds values that JSON has no form for") from None


def generate_key() -> tuple[str, str]:
    """Return a new pair of keys, the private one first, as PEM text (PKCS #8 without a password, and SPKI).

    Raises
    ------
    MissingPackageError
        Without the extra ``sign``.

    Examples
    --------
    >>> from dpsparse import models
    >>> private, public = models.generate_key()
    >>> private.splitlines()[0], public.splitlines()[0]
    ('-----BEGIN PRIVATE KEY-----', '-----BEGIN PUBLIC KEY-----')
    """
    serialization, ed25519 = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode("ascii"), public.decode("ascii")


def sign(source: Source, private_key_pem: str | bytes) -> str:
    """Return a model's document with the curator's signature of all of it, the certificate among it.

    Parameters
    ----------
    source : str, path or mapping
        The model, as of :func:`load`. A signature that it has is replaced.
    private_key_pem : str or bytes
        An Ed25519 private key as PEM (PKCS #8, without a password).

    Returns
    -------
    str
        JSON text, with the field ``signature``: Ed25519 of :func:`canonical`, in base 64.

    Raises
    ------
    ModelFormatError
        For what is no model, or none that this version reads.
    InvalidArgumentError
        For what is no such key.
    MissingPackageError
        Without the extra ``sign``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseRegressor, models
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> private, public = models.generate_key()
    >>> signed = models.sign(models.dumps(model), private)
    >>> models.verify_signature(signed, public)
    True
    >>> models.verify_signature(signed.replace('"n_samples": 500', '"n_samples": 501'), public)
    False
    """
    key = _private_key(private_key_pem)
    document = {name: value for name, value in read(source).items() if name != _FIELD}
    signature = key.sign(canonical(document))
    document[_FIELD] = {"algorithm": _ALGORITHM, "value": base64.b64encode(signature).decode("ascii")}
    return text_of(document)


def verify_signature(document: Source, public_key_pem: str | bytes) -> bool:
    """Tell whether a model's document carries the signature of a key's owner, and is as it was signed.

    Parameters
    ----------
    document : str, path or mapping
        The model, as of :func:`load`.
    public_key_pem : str or bytes
        The curator's Ed25519 public key as PEM (SPKI), from where you trust it to be the curator's: never from the
        document's own place.

    Returns
    -------
    bool
        False for other contents, another key, and for documents without a signature.

    Raises
    ------
    ModelFormatError
        For what is no model that this version reads, and for a signature of another form.
    InvalidArgumentError
        For what is no such key.
    MissingPackageError
        Without the extra ``sign``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseRegressor, models
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> private, public = models.generate_key()
    >>> models.verify_signature(models.dumps(model), public)  # not signed
    False
    """
    key, signed = _public_key(public_key_pem), read(document)
    signature = checked_field(signed)
    if signature is None:
        return False
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, canonical(signed))
    except InvalidSignature:
        return False
    return True


def checked_field(document: Document) -> bytes | None:
    """Return the signature of a document, of which nothing is checked but its form; None where there is none.

    Raises
    ------
    ModelFormatError
        For a field of another form.
    """
    if _FIELD not in document:
        return None
    field, problem = document[_FIELD], f"the signature must be of {_ALGORITHM}, in base 64"
    if not isinstance(field, dict) or set(field) != {"algorithm", "value"} or field["algorithm"] != _ALGORITHM:
        raise ModelFormatError(problem)
    try:
        signature = base64.b64decode(field["value"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ModelFormatError(problem) from None
    if len(signature) != _LENGTH:
        raise ModelFormatError(problem)
    return signature


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    return serialization, ed25519


def _private_key(pem: Any) -> Any:
    serialization, ed25519 = _library()
    key = _read_key(lambda text: serialization.load_pem_private_key(text, password=None), pem)
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InvalidArgumentError("private_key_pem must be an Ed25519 private key as PEM, without a password")
    return key


def _public_key(pem: Any) -> Any:
    serialization, ed25519 = _library()
    key = _read_key(serialization.load_pem_public_key, pem)
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InvalidArgumentError("public_key_pem must be an Ed25519 public key as PEM")
    return key


def _read_key(read_pem: Callable[[bytes], Any], pem: Any) -> Any:
    """Return what a PEM text holds, None where the library cannot tell; its own words may show what it holds."""
    if not isinstance(pem, str | bytes):
        raise InvalidTypeError("a key must be PEM text")
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return read_pem(pem.encode("utf-8") if isinstance(pem, str) else pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
