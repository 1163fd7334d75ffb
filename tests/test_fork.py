"""Forked children work; every entry from Python goes through one door; Ctrl-C ends long work soon."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from processes import needs_fork, run, run_forked

SOURCES = pathlib.Path(__file__).parent.parent / "src" / "python"

# Entries that are handed data and do not go through the door: what they call is serial and short.
SERIAL = {
    "loss.rs": {"evaluate_loss"},
    "online.rs": {"update"},
    "released_noise.rs": {"unit_factors"},
    "search.rs": {"check_storage", "new"},
}


def code(path):
    """Source without comments."""
    return re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)


def files():
    found = sorted(SOURCES.glob("*.rs"))
    assert len(found) > 10
    return found


def test_only_one_file_lets_go_of_the_interpreter_or_names_rayon():
    doors = {}
    for path in files():
        text = code(path)
        if path.name == "threads.rs":
            assert text.count(".detach(") == 1
            continue
        assert "rayon" not in text, f"{path.name} names rayon: parallel work starts behind threads.rs"
        if count := text.count("detach(") + text.count("allow_threads("):
            doors[path.name] = count
    assert not doors, "call threads::run, threads::watched or threads::free"


def entries(text):
    """Name, parameters and body of each function of `text`."""
    for match in re.finditer(r"^( *)(?:pub\(super\) )?fn (\w+)(?:<.*?>)?\(", text, flags=re.MULTILINE):
        end = re.compile(rf"^{match[1]}}}$", flags=re.MULTILINE).search(text, match.end())
        parameters, _, body = text[match.end() : end.end() if end else None].partition("{")
        yield match[2], parameters, body


def test_every_entry_that_is_handed_data_goes_through_the_door():
    """Every exported function whose parameters hold records, arrays, a statement, a plan or a request."""
    checked, serial = 0, {}
    for path in files():
        text = code(path)
        marked = set(re.findall(r"#\[pyfunction\](?:\s*#\[[^\n]*\])*\s*fn (\w+)", text))
        for block in re.findall(r"#\[pymethods\]\s*impl \w+ \{\n(.*?)^\}$", text, flags=re.MULTILINE | re.DOTALL):
            marked |= set(re.findall(r"^    fn (\w+)", block, flags=re.MULTILINE))
        for name, parameters, body in entries(text):
            handed = re.search(r"PyReadonlyArray|Records<|Request<|Statement|PyPlan>|Model<", parameters)
            if name not in marked or not handed:
                continue
            checked += 1
            if name in SERIAL.get(path.name, ()):
                serial.setdefault(path.name, set()).add(name)
            else:
                assert re.search(r"threads::(run|watched|free)\(|request\.run\(|build\(py, \|\||\.detach\(", body), (
                    f"{name} in {path.name} is handed data and goes through no door of threads.rs"
                )
    assert checked > 15, "the scan is broken"
    assert serial == SERIAL, "keep SERIAL up to date"


# --- forked children ---

CHILD = """
    import numpy as np
    from dpsparse import DualFrankWolfe, PrivateSparseClassifier, PrivateSparseRegressor, SparseRegressor
    from dpsparse import set_functions as sf
    from dpsparse.privacy.noise import discrete_laplace, exponential_mechanism
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 500))
    y = X[:, :5].sum(axis=1)
    Z, labels = X[:, :6], rng.choice([-1, 1], 3000)
    points = rng.normal(size=(6, 6))
    log_det = sf.LogDet(points @ points.T, noise=1.0)

    def dual():
        mechanism = DualFrankWolfe("noisy-iterates", n_iter=2, alpha=0.05, ridge=0.2)
        arguments = {"classes": (-1, 1), "epsilon": 1.0, "delta": 1e-6, "random_state": 0, "fit_intercept": False}
        model = PrivateSparseClassifier(mechanism=mechanism, norm=log_det, **arguments)
        return model.fit(Z, labels).coef_.tolist()

    def plain(method):
        model = PrivateSparseClassifier(classes=(-1, 1), n_iter=5, epsilon=1.0, random_state=0)
        if method == "plan":
            return model.plan(n_samples=3000, n_features=6).epsilon
        return model.fit(Z, labels).coef_.tolist()

    def auto():
        classifier, regressor = PrivateSparseClassifier(bounds=(-5, 9), classes=(-1, 1)), PrivateSparseRegressor()
        plans = [model.plan(n, 8) for model in (classifier, regressor) for n in (300, 30_000)]
        return [(plan.mechanism, plan.noise_scales) for plan in plans]

    work = {
        "regressor": lambda: SparseRegressor(alpha=0.01).fit(X, y).coef_.tolist(),
        "width": lambda: tuple(log_det.gaussian_width(500)),
        "dual": dual,
        "fit": lambda: plain("fit"),
        "plan": lambda: plain("plan"),
        "auto": auto,
        "noise": lambda: discrete_laplace(3.0, 100_000, seed=1)[::5000].tolist(),
        "choice": lambda: exponential_mechanism(np.zeros(10**4, dtype=int), 1, 1.0, size=30, seed=1).tolist(),
    }["{work}"]
"""


@needs_fork
@pytest.mark.parametrize(
    "work",
    ["regressor", "width", "dual", "fit", "plan", "auto", "noise", "choice"],
)
def test_a_child_of_a_process_with_threads_works(work):
    """The parent's threads are in use before; the child and its own child find the same values to the last bit."""
    here, child, grandchild = run_forked(CHILD.replace("{work}", work), ["here(work)", "child(work, 2)"])
    assert here == child == grandchild
    assert len(here) > 2


CALLBACK = """
    import os, signal, sys, warnings
    import numpy as np
    from contextlib import nullcontext
    from dpsparse import DpsparseError, PrivateSparseClassifier, set_functions as sf
    from dpsparse.estimators import private
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (20_000, 60)), rng.choice([-1, 1], 20_000)
    children = []

    def split(*_):
        if not children:
            children.append(os.fork())
            if children[0] == 0:
                signal.alarm(20)

    def oracle(A):
        if len(A) == 2:
            split()
        return float(len(A))

    def fit():
        if "{where}" == "oracle":
            return sf.FromOracle(oracle, 3, monotone=True)
        private.progress = lambda *_: nullcontext(split)
        return PrivateSparseClassifier(classes=(-1, 1), n_iter=400, random_state=0).fit(X, y)

    def outer():
        try:
            fit()
        except DpsparseError as error:
            assert children == [0], error  # the child alone
            assert "forked from inside" in str(error), error
            assert np.isfinite(sf.Cardinality(3).norm([1.0, 2.0, 3.0]))  # and it may go on with other work
            os._exit(7)
        assert children and children[0] > 0, "the callback was not called"
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7, "the child failed or hung"

    if {nested}:
        process = os.fork()
        if process == 0:
            signal.alarm(40)
            outer()
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
    else:
        outer()
    print("done")
"""


@needs_fork
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("where", ["progress", "oracle"])
def test_a_fork_from_inside_the_work_ends_with_an_error_in_the_child(where, nested):
    assert run(CALLBACK.replace("{nested}", str(nested)).replace("{where}", where)).strip() == "done"


# --- Ctrl-C ---

# Each takes more than three seconds: one until the signal, and two in which work that heeds none would go on.
LONG = {
    "choices": "exponential_mechanism(np.arange(100_000) % 50, 1, 1.0, size=2 * 10**8)",
    "rounded_gaussian": "noise.rounded_gaussian(1e6, 5 * 10**8)",
    "discrete_gaussian": "noise.discrete_gaussian(1e6, 5 * 10**8)",
    "discrete_laplace": "noise.discrete_laplace(1e6, 5 * 10**8)",
    "bernoulli_exp": "noise.bernoulli_exp(0.5, 5 * 10**8)",
    "width": "sf.LogDet(np.eye(80) + 0.1, noise=1.0).gaussian_width(10**8)",
    "oracle width": "sf.FromOracle(lambda A: min(len(A), 3.0), 12).gaussian_width(10**8)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
@pytest.mark.parametrize("in_child", [False, True])
@pytest.mark.parametrize("work", LONG)
def test_ctrl_c_ends_long_work_within_two_seconds(work, in_child):
    """In the process that loaded the module, and in a forked child; two seconds of a machine that is not overloaded."""
    if in_child and not hasattr(os, "fork"):
        pytest.skip("needs os.fork")
    script = f"""
        import os, signal, sys
        import numpy as np
        from dpsparse import set_functions as sf
        from dpsparse.privacy import noise
        from dpsparse.privacy.noise import exponential_mechanism
        signal.alarm(120)
        def work():
            {LONG[work]}
        if {in_child}:
            process = os.fork()
            if process:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        print("ready", flush=True)
        try:
            work()
        except KeyboardInterrupt:
            os._exit(9)
        os._exit(1)
    """
    path = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(1.0)
        assert process.poll() is None, "the work is too short for this test"
        start = time.perf_counter()
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(timeout=30)
        assert code == 9
        share = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert time.perf_counter() - start < 2.0 * share, share
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


def test_widths_do_not_depend_on_threads_or_looks():
    script = """
        import numpy as np
        from dpsparse import set_functions as sf
        function = sf.LogDet(np.eye(5) + 0.3, noise=1.0)
        print(repr(function.gaussian_width(1001, random_state=3).value))
    """
    values = {run(script, RAYON_NUM_THREADS=str(threads)) for threads in (1, 2, 5)}
    assert len(values) == 1
    assert np.isfinite(float(values.pop()))
