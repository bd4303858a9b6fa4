"""Tests of the single agent."""
