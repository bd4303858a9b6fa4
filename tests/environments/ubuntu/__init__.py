"""Tests of the Ubuntu environment."""
