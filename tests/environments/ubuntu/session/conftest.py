"""One started session for all tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.environments.ubuntu.sandbox.sandboxed import Sandboxed, sandboxed


@pytest.fixture(scope="module")
def running() -> Iterator[Sandboxed]:
    """A sandbox for the whole module."""
    with sandboxed() as world:
        yield world


@pytest.fixture
def fresh(running: Sandboxed) -> Sandboxed:
    """That sandbox with its session started anew."""
    running.call("start")
    return running
