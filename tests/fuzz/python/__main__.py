"""`python -m fuzz.python TARGET [options and folders of libFuzzer]`, in the folder `tests`: a target under atheris."""

import importlib
import sys

import atheris

with atheris.instrument_imports(include=["dpsparse"]):
    target = importlib.import_module(f"fuzz.python.{sys.argv.pop(1)}")

atheris.Setup(sys.argv, target.run)
atheris.Fuzz()
