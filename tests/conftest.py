"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run, on every machine, however slow: a red run can be repeated, and nothing is left behind.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
