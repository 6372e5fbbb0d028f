"""Exploring programs: reachable outcomes under each model, and SC executions one by one. The work is done in the core."""

from teetotal.explore.executions import Executions, count_classes, executions
from teetotal.explore.outcomes import Failure, Outcomes, outcomes

__all__ = ["Executions", "Failure", "Outcomes", "count_classes", "executions", "outcomes"]
