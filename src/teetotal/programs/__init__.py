"""Front ends: everything that turns a file or a Python function into a ``Program``."""
