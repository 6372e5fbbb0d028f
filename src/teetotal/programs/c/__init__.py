"""C and C++ programs, unmodified, under the user's own compiler.

``build`` makes a shared object of the sources, instrumented by the compiler's own ``-fsanitize=thread``; ``runtime``
loads it into the ``teetotal-runtime`` executable (runtime/ in the source tree) and drives it; ``symbols`` gives names
back to addresses; ``events`` turns what happened into the vocabulary of ``teetotal.events``; ``check`` answers.
docs/explanation/c-runtime.md has the whole story.
"""

from teetotal.programs.c.build import SUFFIXES, Source

__all__ = ["SUFFIXES", "Source"]
