"""Records: what is written while a trial runs, read back, and derived."""
