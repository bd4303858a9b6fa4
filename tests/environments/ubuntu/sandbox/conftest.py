"""One started session for all tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.environments.ubuntu.sandbox.sandboxed import Sandboxed, sandboxed


@pytest.fixture(scope="module")
def world() -> Iterator[Sandboxed]:
    """A started session in its two sandboxes; shared, so tests leave it as they found it."""
    with sandboxed() as started:
        started.call("start")
        yield started
