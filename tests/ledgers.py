"""Records, models and processes of tests of ledgers."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

import dpsparse
from dpsparse import PrivateSparseClassifier

X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
Y = np.where(X[:, 0] > 0, 1, 0)
ROOT = str(Path(dpsparse.__file__).resolve().parent.parent)


def classifier(epsilon=0.5, delta=1e-7, **options):
    return PrivateSparseClassifier(epsilon, delta, bounds=(-1, 1), classes=(0, 1), **options)


def script(path, body, **names):
    """A process that runs `body` with X, Y and the ledger at `path`."""
    head = f"""
        import os, sys, signal, resource
        import numpy as np
        from dpsparse import *
        from dpsparse.privacy import *
        X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
        Y = np.where(X[:, 0] > 0, 1, 0)
        path = {str(path)!r}
    """
    environment = os.environ | {"PYTHONPATH": ROOT} | names
    text = textwrap.dedent(head) + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def finished(process):
    with process:
        out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.strip()
