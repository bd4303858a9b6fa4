"""Tests of the task documents."""
