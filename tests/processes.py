"""Scripts in processes of their own, and work in children that these fork."""

import os
import subprocess
import sys
import textwrap

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def run(script, **environment):
    """Output of a script in a process of its own, with this process's import path."""
    path = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": path} | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


MEASURE = '''
import gc, re

def status(key):
    return 1024 * int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1))

def measured(work):
    """What ``work()`` returns, and the most bytes that the process holds meanwhile beside those of before."""
    gc.collect()
    open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts again
    before = status("VmRSS")
    result = work()
    return result, status("VmHWM") - before
'''
needs_marks = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the high-water mark of resident memory is read from /proc"
)


def run_measured(script):
    """Output of a script that has a function ``measured``."""
    return run(MEASURE + textwrap.dedent(script))


HARNESS = '''
import os, signal, warnings
warnings.simplefilter("ignore")  # newer Pythons warn that a process with threads was forked

def here(work):
    return [repr(work())]

def child(work, depth=1):
    """What a forked child finds, then what its own child does, and so on."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(40)
        with os.fdopen(write, "w") as out:
            found = here(work) + (child(work, depth - 1) if depth > 1 else [])
            out.write("|".join(found))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        text = result.read()
    assert os.waitpid(process, 0)[1] == 0, "the child failed or hung"
    return text.split("|")
'''


def run_forked(script, calls):
    """Texts of what a script's ``work()`` returns, by calls ``here(work)`` and ``child(work, depth)``."""
    steps = "".join(f"found += {call}\n" for call in calls)
    return run(f'{HARNESS}{textwrap.dedent(script)}\nfound = []\n{steps}print("|".join(found))').strip().split("|")
