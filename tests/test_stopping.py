"""Ctrl-C and other stops: no half of a model, no file, what was spent is said, and a second fit works."""

import itertools
import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import numpy as np
import pytest

from dpsparse import PrivateScaler, PrivateSearchCV, PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.estimators import private, search

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")

#: Too long for any test, with a `common` of bounds and classes.
LONG = {
    "frank-wolfe": "Classifier(mechanism=FrankWolfe(n_iter=200_000), **common)",
    "noisy-gradient-frank-wolfe": "Classifier(mechanism=NoisyGradientFrankWolfe(n_iter=200_000), **common)",
    "noisy-newton": "Classifier(mechanism=NoisyNewton(n_iter=200_000), scale='private', **common)",
    "output-perturbation": "Classifier(mechanism=OutputPerturbation(ridge=2e-4, alpha=1e-5), **common)",
    "sgd-output": "Classifier(mechanism=SgdOutput(n_passes=2_000), **common)",
    "search": "PrivateSearchCV(Classifier(**common), {'n_iter': [100_000, 100_001]})",
    "blocks": "Classifier(mechanism=FrankWolfe(n_iter=200_000), **common)",
}
SCRIPT = """
import os, signal, sys, threading, traceback
import numpy as np
from dpsparse import *
from dpsparse import PrivateSparseClassifier as Classifier
from dpsparse import blocks
name, folder, checkpoint = sys.argv[1], sys.argv[2], sys.argv[3] or None
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (20_000, 300))  # the shortest of LONG takes seconds on a fast machine
y = np.where(X[:, 0] > 0, 1, -1)
records = X
if name == "blocks":
    records = blocks.from_arrays(X, rows=5_000, directory=folder)
common = dict(bounds=(-1, 1), classes=(-1, 1))
model = {MAKE}
before = set(os.listdir(folder))
made = dict(vars(model))
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    model.fit(records, y, checkpoint=checkpoint)
except KeyboardInterrupt as stop:
    print("interrupted", *stop.__notes__)
    print(vars(model) == made, sorted(set(os.listdir(folder)) - before))
    text = "".join(traceback.format_exception(stop))
    print("spent" in text or "goes on" in text)
short = PrivateSparseClassifier(n_iter=3, **common)
print(short.fit(records, y).certificate_.verify())
"""


def test_a_fit_that_is_stopped_leaves_the_one_before(monkeypatch):
    """Attributes are those of the first fit, though the second read other names and another number of features."""

    @contextmanager
    def stops(*_):
        def report(done, total):
            raise KeyboardInterrupt

        yield report

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 4))
    y = np.where(X[:, 0] > 0, 1, -1)
    classifier = PrivateSparseClassifier(bounds=(-1, 1), classes=(-1, 1), n_iter=4)
    regressor = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1), n_iter=4)
    searched = PrivateSearchCV(classifier, {"radius": [1.0, 2.0]})
    for model in (classifier, regressor, searched):
        model.fit(X, y)
        before = dict(vars(model))
        assert before["n_features_in_"] == 4
        with monkeypatch.context() as patched:
            patched.setattr(private, "progress", stops)
            patched.setattr(search, "progress", stops)
            with pytest.raises(KeyboardInterrupt):
                model.fit(np.hstack([X, X]), y)
        assert vars(model) == before
        assert model.predict(X).shape == y.shape
        assert model.fit(np.hstack([X, X]), y).n_features_in_ == 8
    scaler = PrivateScaler(1.0, bounds=(-1, 1)).fit(X)
    before = dict(vars(scaler))
    with pytest.raises(Exception, match="NaN"):
        scaler.fit(np.full((200, 7), np.nan))
    assert vars(scaler) == before


#: What runs outside the slow suite.
QUICK = [("noisy-newton", True), ("output-perturbation", False), ("blocks", False), ("search", True)]


# The shortest list that has a mechanism of steps, one of one answer, files and several fits; the others take long.
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow)
        for case in itertools.product(LONG, (False, True))
    ],
)
def test_ctrl_c_leaves_no_half_and_says_what_is_spent(name, kept, tmp_path):
    checkpoint = str(tmp_path / "fit.checkpoint") if kept else ""
    made = LONG[name]
    script = SCRIPT.replace("{MAKE}", made)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), name, str(tmp_path), checkpoint],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)},
    )
    said, state, told, second = done.stdout.splitlines() or [done.stderr] * 4
    assert said.startswith("interrupted dpsparse: "), done.stderr
    assert ("goes on and costs nothing more" if kept else "counts as spent") in said
    assert state == f"True {['fit.checkpoint'] if kept else []}"
    assert (told, second) == ("True", "True")
