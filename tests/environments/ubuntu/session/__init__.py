"""Tests of the desktop session."""
