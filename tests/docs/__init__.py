"""Everything that the pages show is run, and everything they point to is there."""
