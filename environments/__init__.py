"""Environments that CRAB drives; each folder is independent of the others."""
