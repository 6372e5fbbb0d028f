"""C and C++ as the compiler knew them: hooks are put into the text of LLVM's IR, before any code is generated.

``reading`` makes records of the text, ``types`` knows sizes, ``seeing`` finds what no other thread can reach and what is
live, ``writing`` puts the hooks in, ``names`` says what a program calls what it accesses, ``audit`` checks the result.
docs/explanation/seeing.md explains the rules and why they are enough.
"""
