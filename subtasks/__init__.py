"""Subtask templates: what tasks are made of, each with its oracle and its near misses."""
