"""One setting for all property tests: a run of this suite tries the same examples every time.

A change then fails where it breaks something and nowhere else; `DPSPARSE_EXPLORE=1 pytest` and a plain `cargo test` try
new examples.
"""

import os

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, max_examples=60, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=60)
settings.load_profile("explore" if os.environ.get("DPSPARSE_EXPLORE") else "repeatable")
