"""What fuzzers run (`tests/fuzz/python`), over their seeds and a few hundred other inputs, the same in every run.

Those of Rust run in `tests/fuzz.rs`.
"""

import random
import warnings
from importlib import import_module
from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parent / "fuzz/seeds"


@pytest.mark.parametrize(("target", "more"), [("schema", 1000), ("ledger", 300), ("model", 300)])
def test_nothing_breaks(target, more):
    run = import_module(f"fuzz.python.{target}").run
    seeds = sorted((SEEDS / target).iterdir())
    assert seeds
    draw = random.Random(0)
    inputs = [seed.read_bytes() for seed in seeds] + [draw.randbytes(draw.randrange(80)) for _ in range(more)]
    for data in inputs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other packages, about odd cells
            try:
                run(data)
            except Exception as error:
                error.add_note(f"input: {data!r}")
                raise
