"""No two unseeded releases share their randomness, wherever they are made: threads, forks, pickles, copies, processes.

Each release here has far more than 100 bits of noise: two that are equal by chance have probability below 1e-20.
"""

import ast
import copy
import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from catalogue import CATALOGUE, records
from joblib import Parallel, delayed
from sklearn.base import clone

from dpsparse.privacy.noise import discrete_gaussian, discrete_laplace, rounded_gaussian
from dpsparse.testing._audit import released
from processes import needs_fork, run_forked

pytestmark = pytest.mark.attack

LAWS = (rounded_gaussian, discrete_gaussian, discrete_laplace)
NAME = "classifier: output, gaussian"
WIDE = 40  # features: digits of the released vector


def estimator():
    return CATALOGUE[NAME].make(random_state=None)


def fitted(model):
    X, y = records("classes", n=20, p=WIDE)
    return tuple(released(model.fit(X, y)).tolist())


def drawn(law, size=8):
    return tuple(law(1e9, size).tolist())


def work(_):
    """A release and noise; at the top of a module, for processes that import it."""
    return fitted(estimator()), *(drawn(law) for law in LAWS)


def assert_all_differ(releases):
    for kind in zip(*releases, strict=True):
        assert len(set(kind)) == len(kind) > 1


def test_threads_that_start_together():
    start = threading.Barrier(8)

    def at_once(_):
        start.wait()
        return work(None)

    with ThreadPoolExecutor(8) as pool:
        assert_all_differ([release for _ in range(5) for release in pool.map(at_once, range(8))])


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python 3.12 on: threads were forked
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_a_pool(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    work(None)  # the parent has drawn before
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context(method)) as pool:
        releases = list(pool.map(work, range(12)))
    assert_all_differ([*releases, work(None)])


def test_jobs_of_joblib():
    assert_all_differ(Parallel(n_jobs=2)(delayed(work)(k) for k in range(8)))


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "clone": clone,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("before", [True, False], ids=["fitted before", "fresh"])
def test_copies_of_an_estimator(way, before):
    model = estimator()
    seen = [fitted(model)] if before else []
    twins = [COPIES[way](model) for _ in range(4)]
    seen += [fitted(twin) for twin in twins] + [fitted(model), fitted(model)]
    assert len(set(seen)) == len(seen)


@needs_fork
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("name", [NAME, "regressor: sgd, laplace", "classifier: objective, gaussian"])
def test_forks_of_forks_fit_with_their_own_noise(name, warm):
    script = f"""
        import sys
        sys.path[:0] = {[str(path) for path in sys.path if path]!r}
        from catalogue import CATALOGUE, records
        from dpsparse.testing._audit import released
        entry = CATALOGUE[{name!r}]
        X, y = records(entry.targets, n=20, p={WIDE})
        work = lambda: released(entry.make(random_state=None).fit(X, y)).tolist()
        if {warm}:
            work()
    """
    found = run_forked(script, ["child(work, 2)", "child(work, 2)", "here(work)", "here(work)"])
    vectors = [tuple(ast.literal_eval(text)) for text in found]
    assert len(vectors) == 6
    assert len(set(vectors)) == 6


def test_noise_of_several_draws_shares_no_stretch():
    """Keystreams that overlap would show: no two draws have a common run of three values."""
    draws = [rounded_gaussian(1e9, 5000) for _ in range(20)]
    runs = np.concatenate([np.lib.stride_tricks.sliding_window_view(draw, 3) for draw in draws])
    assert len(np.unique(runs, axis=0)) == len(runs)
