"""Tests of `crab.perception`."""
