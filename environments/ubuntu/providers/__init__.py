"""Ways to get a desktop."""
