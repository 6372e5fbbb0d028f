"""C and C++ programs, unmodified, under the user's own compiler.

``build`` makes a shared object of the sources, instrumented by the compiler's own ``-fsanitize=thread``; ``assembly`` and
its companions see to what that leaves out, and audit the result; ``symbols`` gives names back to addresses. What runs the
object is ``engines.runtime``. docs/explanation/c-runtime.md has the whole story.
"""

from teetotal.programs.c.build import Source
from teetotal.programs.c.compilers import SUFFIXES

__all__ = ["SUFFIXES", "Source"]
