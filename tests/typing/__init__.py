"""What type checkers see: files that are checked by mypy and never run."""
