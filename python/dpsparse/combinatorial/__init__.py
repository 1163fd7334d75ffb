"""Private combinatorial optimisation: sets of elements that serve many people, chosen without telling of one.

F(A) is a sum over people of what the chosen set A is worth to each: :class:`PrivateCoverage` counts people who are
covered, :class:`PrivateFacilityLocation` adds up the best value of each. Both are monotone and submodular, and the
greedy algorithm with private choices maximises them.
"""

from dpsparse._core import GreedyPlan
from dpsparse.combinatorial._coverage import PrivateCoverage
from dpsparse.combinatorial._facility_location import PrivateFacilityLocation

__all__ = ["GreedyPlan", "PrivateCoverage", "PrivateFacilityLocation"]
