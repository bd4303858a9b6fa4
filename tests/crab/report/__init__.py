"""Tests of crab.report."""
