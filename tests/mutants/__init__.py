"""Faults planted on purpose, each with the test that must notice it: ``make mutants``, described in tests/README.md."""
