"""Tests of environments over the wire, on real sockets."""
