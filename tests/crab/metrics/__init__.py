"""Tests of crab.metrics."""
