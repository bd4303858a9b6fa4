"""The agents that come with CRAB."""
