"""Every state that a program can reach under a model, and so every outcome."""

from teetotal.engines.states.outcomes import Failure, Outcomes, outcomes

__all__ = ["Failure", "Outcomes", "outcomes"]
