"""The verbs of an environment over HTTP: a server that wraps any `Environment`, and a client that is one."""
