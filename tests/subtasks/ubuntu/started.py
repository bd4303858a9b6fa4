"""A started desktop to prove subtasks and tasks on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from crab.environment import Environment
from crab.errors import ProviderUnavailable
from environments.ubuntu import UBUNTU


@contextmanager
def started_desktop() -> Iterator[Environment]:
    """Gives a desktop of the embedded provider; where it cannot be started, tests that need it are skipped."""
    try:
        environment = UBUNTU.provider("embedded").start({})
    except ProviderUnavailable as trouble:
        pytest.skip(str(trouble))
    try:
        yield environment
    finally:
        environment.close()
