"""``dpsparse verify``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsparse._core import Certificate, InvalidArgumentError
from dpsparse.cli._command import Commands, command

if TYPE_CHECKING:
    from dpsparse.models._document import Document

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "verify",
        run,
        help="what a model or a certificate guarantees, recomputed",
        description="""Recompute the guarantee of a model, or of a certificate alone, from its events, and say in words
        what it means and rests on. It says nothing of coefficients, which whoever may write the file can change: that
        nothing was changed is what a signature says, checked with the curator's public key. Exit status: 0 where all of
        it holds, 1 where it does not, 2 for what is no model and no certificate.""",
        examples=["dpsparse verify model.json", "dpsparse verify model.json --key curator.pub.pem"],
    )
    parser.add_argument("document", metavar="MODEL_OR_CERTIFICATE", help="JSON")
    parser.add_argument("--key", metavar="PUBLIC", help="the curator's public key (PEM), from where you trust it")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the guarantee, and say by the exit status whether it holds."""
    from dpsparse.models import _document
    from dpsparse.words import explain

    text = Path(arguments.document).read_text(encoding="utf-8-sig", errors="replace")
    document = _document.parsed(text)
    source = _certificate_or_model(document, text)
    certificate = source if isinstance(source, Certificate) else source.certificate_
    holds = certificate.verify()
    signature = _signature(document, arguments.key)
    if arguments.json:
        epsilon, delta = certificate.claim
        facts = {"verifies": holds, "epsilon": epsilon, "delta": delta, "adjacency": certificate.adjacency}
        print(json.dumps(facts | {"unit": certificate.unit, "signature": signature}, indent=2))
    else:
        print(explain(source))
        print(f"Signature: {signature}.")
    return 0 if holds and (arguments.key is None or signature == "valid") else 1


def _certificate_or_model(document: Document, text: str) -> Any:
    if str(document.get("format")).startswith("dpsparse-certificate"):
        return Certificate.from_json(text)
    from dpsparse import models

    return models.load(document)


def _signature(document: Document, key: str | None) -> str:
    """Say what is known of the signature: "valid", "not valid", "there is none" or "not checked"."""
    if "checksum" in document:
        if key is not None:
            raise InvalidArgumentError("--key checks the signature of a model; a certificate alone has none")
        return "there is none"
    if "signature" not in document:
        return "there is none"
    if key is None:
        return "not checked"
    from dpsparse import models

    return "valid" if models.verify_signature(document, Path(key).read_bytes()) else "not valid"
