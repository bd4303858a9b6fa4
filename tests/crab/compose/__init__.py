"""Task documents, and the tasks composed from them."""
