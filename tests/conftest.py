"""One setting for all property tests: a run of this suite tries the same examples every time.

A change then fails where it breaks something and nowhere else; `DPSPARSE_EXPLORE=1 pytest` and a plain `cargo test` try
new examples. The crate's own tests run beside those of Python (`crate.py`).
"""

import os

import pytest
from hypothesis import settings

from crate import BesidePython, CrateTests

settings.register_profile("repeatable", deadline=None, max_examples=60, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=60)
settings.load_profile("explore" if os.environ.get("DPSPARSE_EXPLORE") else "repeatable")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(BesidePython(), "beside-python")


@pytest.fixture
def crate_tests(request: pytest.FixtureRequest) -> CrateTests | None:
    return request.config.pluginmanager.get_plugin("beside-python").tests
