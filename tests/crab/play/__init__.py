"""Tests of playing a task as a person."""
