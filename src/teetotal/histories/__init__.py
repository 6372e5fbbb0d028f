"""Histories: is what was observed SC, TSO or PSO?

``readers`` reads files into ``history.History``; ``check.check`` decides; ``witness`` and ``explain`` give the evidence;
``sat.kernel`` the SC-kernel; ``generate`` and ``hard`` make histories; ``specification`` says what is right.
"""
