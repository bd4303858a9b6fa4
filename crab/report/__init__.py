"""Shows what is in records: tables in the terminal, and a static site that opens from the file system."""
