"""What runs on the display: the X server, the agent's world inside it, and its home folder."""
