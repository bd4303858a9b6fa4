"""Tests of reading and writing task files of CRAB v0."""
