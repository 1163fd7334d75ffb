"""Fitted private models as files: JSON that holds what was released, and its certificate.

:func:`save` and :func:`load` write and read them, as ``model.to_json()`` and ``from_json`` of the estimators do. A
model that was read predicts what the one that was written predicts, bit for bit, and has its certificate, its summary
and its schema. Reading runs no code. What is in a document has been released, or was public before: it may be
published as the model may. ``random_state``, ``ledger`` and ``verbose`` are never written.

**Versions.** A document states the ``version`` of its layout. This package reads that version and all earlier ones,
and refuses later ones. :func:`model_schema` and :func:`certificate_schema` describe the layout as JSON Schemas.

**Signatures.** Whoever may write the file can write another model, or another certificate: :func:`sign` adds an Ed25519
signature that :func:`verify_signature` checks with the curator's public key (extra ``sign``).
"""

from dpsparse.models._model import dumps, load, save
from dpsparse.models._parameters import LeftOut
from dpsparse.models._schemas import certificate_schema, model_schema
from dpsparse.models._signature import canonical, generate_key, sign, verify_signature

__all__ = [
    "LeftOut",
    "canonical",
    "certificate_schema",
    "dumps",
    "generate_key",
    "load",
    "model_schema",
    "save",
    "sign",
    "verify_signature",
]
