"""Private combinatorial optimisation: sets of elements that serve many people, chosen without telling of one.

F(A) is a sum over people of what the chosen set A is worth to each: :class:`PrivateCoverage` counts people who are
covered, :class:`PrivateFacilityLocation` adds up the best value of each. Both are monotone and submodular, and the
greedy algorithm with private choices maximises them. :class:`PrivateSubmodularMinimizer` minimises a sum of any
submodular functions, one of each person, and :class:`PrivateMinimumNormPoint` finds the minimisers for all prices of an
element at once.
"""

from dpsparse._core import GreedyPlan, SubmodularPlan
from dpsparse.combinatorial._coverage import PrivateCoverage
from dpsparse.combinatorial._facility_location import PrivateFacilityLocation
from dpsparse.combinatorial._minimiser import PrivateSubmodularMinimizer
from dpsparse.combinatorial._minimum_norm import PrivateMinimumNormPoint

__all__ = [
    "GreedyPlan",
    "PrivateCoverage",
    "PrivateFacilityLocation",
    "PrivateMinimumNormPoint",
    "PrivateSubmodularMinimizer",
    "SubmodularPlan",
]
