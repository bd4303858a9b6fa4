"""Suites and configurations as data; no logic lives here."""
