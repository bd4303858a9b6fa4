"""Figures over results: pure functions, no files, no devices."""
