"""The command line: ``crab``."""
