"""The walls: nested bubblewrap sandboxes, staging for root, and a probe of what works."""
