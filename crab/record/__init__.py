"""Trial records: what is written while a trial runs, and how it is read back."""
