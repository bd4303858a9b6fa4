"""Agents: things that decide. One module or folder each."""
