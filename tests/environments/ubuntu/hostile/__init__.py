"""A hostile agent in the real embedded desktop, started as the runner starts it, acting through its terminal."""
