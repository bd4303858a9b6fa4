"""Tests of what people install: the wheel, alone, in an environment of its own."""
