"""Tests of the framework; they mirror its tree."""
