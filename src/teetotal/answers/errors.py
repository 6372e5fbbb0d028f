"""What teetotal raises for bad input: one family of errors, each with its place where there is one."""

from __future__ import annotations

from teetotal.answers.events import Location


class TeetotalError(Exception):
    """Bad usage or bad input, never an internal fault. The command line prints it and exits with status 2."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location

    def __str__(self) -> str:
        return self.message if self.location is None else f"{self.location}: {self.message}"

    def __reduce__(self) -> tuple[type[TeetotalError], tuple[str, Location | None]]:
        return type(self), (self.message, self.location)  # crosses process boundaries whole


class Fault(Exception):
    """teetotal contradicts itself. Never a verdict: the command line says so and exits with status 70."""


class ArgumentError(TeetotalError, TypeError, ValueError):
    """What a function of ``teetotal`` was given is of another kind, or there is no such argument. Those who know Python
    expect its errors, those who know teetotal its one."""


class OutputError(TeetotalError):
    """What was found cannot be written where it should be: the disk is full, or nobody may write there."""


class ProgramError(TeetotalError):
    """A program that no engine can run."""


class ParseError(TeetotalError):
    """A file that is not what its name or its beginning promises, or uses something that teetotal does not support."""
