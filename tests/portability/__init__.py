"""``make portability``: the demo, the tests, the wheel and a sample of the battery on other systems than this machine's.

``systems`` lists them, ``chroots`` makes them of Debian's packages, ``stages`` says what is done in each, ``record`` keeps
the results and writes the tables of docs/reference/platforms.md.
"""
