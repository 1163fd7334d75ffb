"""Which catalogued mechanisms need a penalty, for tests that go through all of them."""

from dpsparse.mechanisms import MECHANISMS

# These have a penalty, and make no plan without `alpha`.
PENALISED = ("penalised-frank-wolfe", "dual-frank-wolfe")
WITHOUT_PENALTY = [name for name in MECHANISMS if name not in PENALISED]
