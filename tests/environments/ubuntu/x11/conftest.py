"""Fixtures of the tests on a bare X display."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from environments.ubuntu.desktop import Controls
from tests.environments.ubuntu.x11.spy import Spy


@pytest.fixture
def spy(controls: Controls) -> Iterator[Spy]:
    """A window over the whole screen that has the keyboard and notes what arrives."""
    spy = Spy(controls)
    yield spy
    spy.close()
