"""Scripts in processes of their own, and work in children that these fork."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

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


needs_marks = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the high-water mark of resident memory is read from /proc"
)


def run_measured(script):
    """Output of a script that has the function ``measured`` of the benchmarks."""
    benches = str(Path(__file__).parents[1] / "benches")
    return run(f"import sys\nsys.path.append({benches!r})\nfrom _peak import measured\n{textwrap.dedent(script)}")


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
