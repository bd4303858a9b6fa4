"""Fixtures of the desktop's tests: one session for all, reset before each test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crab.hosting import HostedEnvironment
from environments.ubuntu.desktop import Controls, Desktop
from tests.environments.ubuntu.desktops import SEED, START_TIME, hosted, make_session
from tests.environments.ubuntu.plain_session import missing_programs


@pytest.fixture(scope="session")
def running_desktop() -> Iterator[Desktop]:
    missing = missing_programs()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    desktop = Desktop(make_session())
    yield desktop
    desktop.close()


@pytest.fixture
def desktop(running_desktop: Desktop) -> Desktop:
    """A desktop as a reset leaves it: nothing runs but the window manager."""
    running_desktop.reset(SEED, START_TIME)
    return running_desktop


@pytest.fixture
def controls(desktop: Desktop) -> Controls:
    """What drives and reads that desktop."""
    return desktop.controls


@pytest.fixture
def environment(running_desktop: Desktop) -> HostedEnvironment:
    """That desktop behind the verbs of an environment."""
    return hosted(running_desktop)
