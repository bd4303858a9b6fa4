"""One model that sees all screens and calls all tools."""

from agents.single.agent import SingleAgent

__all__ = ["SingleAgent"]
