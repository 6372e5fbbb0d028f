"""The vocabulary of questions and answers: events, options, verdicts, violations, and one answer type per verb.

Depends on nothing else of teetotal. Values here are plain: they serialise to JSON, cross process boundaries, and the
answers about parts of the work add up with ``+``.
"""
