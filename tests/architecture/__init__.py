"""Tests of the house itself: what lies where, and what may know what."""
