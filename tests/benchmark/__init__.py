"""Tests of benchmark/."""
