"""Tests of crab.run."""
