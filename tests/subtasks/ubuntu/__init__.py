"""Tests of the templates for the Linux desktop."""
