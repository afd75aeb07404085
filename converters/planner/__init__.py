"""The planner computes the execution order, the arena offsets and a lower bound of the arena. An independent checker
verifies plans.

``plan`` computes a ``Plan`` from a graph and the memory requirements of its operators. ``check`` verifies any plan and
shares no code with the planner.
"""

# The submodule ``plan`` is imported before the function ``plan``, so that ``planner.plan`` is the function.
from arenite.converters.planner.plan import Plan, SearchStatistics  # isort: skip
from arenite.converters.planner.checker import check, find_violations
from arenite.converters.planner.plan_arena import plan
from arenite.converters.planner.requirements import OpRequirements

__all__ = ["OpRequirements", "Plan", "SearchStatistics", "check", "find_violations", "plan"]
