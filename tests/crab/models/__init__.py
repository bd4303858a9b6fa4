"""Tests of `crab.models`."""
