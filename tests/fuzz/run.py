"""Run the fuzzers: `python tests/fuzz/run.py [--seconds 600] [TARGET ...]`, all of them one after the other by default.

Those of Rust need a nightly compiler and cargo-fuzz (`cargo install cargo-fuzz`), those of Python `pip install atheris`
and the package installed. What they find, and the corpus that they grow, is kept in `target/fuzz`; an input that breaks
something goes to `tests/fuzz/seeds/TARGET`, where `pytest` and `cargo test` run it, with the fix.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
WORK = ROOT / "target/fuzz"
RUST = ("records", "set_functions", "certificate", "checkpoint")
PYTHON = ("schema", "ledger", "model")


def command(target: str, seconds: int) -> list[str]:
    """Return what runs a target: libFuzzer, which writes into the first of its folders alone."""
    for name in ("corpus", "artifacts"):
        (WORK / name / target).mkdir(parents=True, exist_ok=True)
    folders = [str(WORK / "corpus" / target), str(FOLDER / "seeds" / target)]
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={WORK}/artifacts/{target}/"]
    if target in PYTHON:
        return [sys.executable, "-m", "fuzz.python", target, *options, *folders]
    rust = ["cargo", "+nightly", "fuzz", "run", "--fuzz-dir", str(FOLDER), "--target-dir", str(WORK / "build"), target]
    return [*rust, *folders, "--", *options]


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(RUST + PYTHON))
    parser.add_argument("--seconds", type=int, default=600, help="of each target")
    options = parser.parse_args()
    unknown = set(options.targets) - {*RUST, *PYTHON}
    if unknown:
        parser.error(f"no target of the name {', '.join(sorted(unknown))}")
    environment = {"RAYON_NUM_THREADS": "1", **os.environ}
    failed = [
        target
        for target in options.targets or RUST + PYTHON
        if subprocess.run(command(target, options.seconds), cwd=FOLDER.parent, env=environment).returncode
    ]
    print(f"something was found in: {', '.join(failed)}" if failed else "nothing was found")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
