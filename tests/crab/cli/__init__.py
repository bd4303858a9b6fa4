"""Tests of crab.cli."""
