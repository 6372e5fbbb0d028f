"""SC executions one by one, as a strategy chooses them, and the monitors that watch them. The work is done in the core."""

from teetotal.engines.executions.executions import Executions, count_classes, executions

__all__ = ["Executions", "count_classes", "executions"]
