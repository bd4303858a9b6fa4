"""Tests of the subtask templates."""
