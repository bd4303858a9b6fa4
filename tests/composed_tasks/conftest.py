"""Fixtures of the documents' tests: one desktop for all, which every trial resets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crab.environment import Environment
from tests.subtasks.ubuntu.started import started_desktop


@pytest.fixture(scope="package")
def desktop() -> Iterator[Environment]:
    with started_desktop() as environment:
        yield environment
