"""The budgets of the framework, measured: ``python -m tests.benchmarks``, or ``make bench``."""
