"""Tests of what drives an X display, on a real one."""
