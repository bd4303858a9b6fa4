"""The conformance suites, proven on the toys and on things that break one rule each."""
