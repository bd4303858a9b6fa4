"""The Ubuntu environment: a real Linux desktop on a private X display."""
