"""The papers' tables, made again: one module per table, each with ``TITLE``, ``COLUMNS``, ``rows()`` and
perhaps ``NOTES``, and ``plots(rows)``. Where a table is made of samples, ``rows`` takes how many.

A row is what the paper says beside what we measure now. docs/explanation/c-runtime.md says why they differ.
"""

TABLES = {
    "tacas13": "Linden, Wolper (TACAS 2013), Table 1: fences for PSO, unbounded buffers",
    "tacas11": "Burnim, Sen, Stergiou (TACAS 2011), Tables 1 and 2: all interleavings with 1 and 2 preemptions",
    "tr2010": "the same authors' report UCB/EECS-2010-31, Table 1: 1,000 random executions",
    "sober": "Burckhardt, Musuvathi (MSR-TR-2008-12), Fig. 4: borderline executions by bound on preemptions",
    "netys20": "Zennou et al. (NETYS 2020), section 6: kernel coverage, and Figs 6 to 9: seconds by engine",
}
SAMPLED = ("netys20",)
"""Tables that are made of samples."""
