"""Conformance suites for every contract, and an in-memory toy desktop and phone that have every feature."""
