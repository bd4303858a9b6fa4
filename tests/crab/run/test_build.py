"""An agent names the privileged tracks it needs, and its trials have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from crab.errors import DefinitionError
from crab.loading import find_project
from crab.observation import ACCESSIBILITY_TRACK
from crab.run.build import ORACLE, RunOptions, agent_tracks, load_tasks, make_spec
from tests.architecture.tree import ROOT


class Reader:
    """An agent that needs what its setting says."""

    @staticmethod
    def tracks(settings: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(settings["needs"])


READER = f"{__name__}:Reader"


def test_tracks_of_an_agent_and_of_the_run_are_joined() -> None:
    """Each stands in the spec once; agents that say nothing have the run's."""
    project = find_project(explicit=ROOT)
    task = load_tasks(project, ["show-a-file-in-a-terminal"])[0]
    needs = {"Reader": {"needs": [ACCESSIBILITY_TRACK]}}
    bare, switched_on = (RunOptions(tracks=tracks, agent_settings=needs) for tracks in ((), (ACCESSIBILITY_TRACK,)))

    found = [make_spec(project, task, agent, 0, bare).tracks for agent in (READER, ORACLE, "noop")]
    assert found == [(ACCESSIBILITY_TRACK,), (ACCESSIBILITY_TRACK,), ()]
    found = [make_spec(project, task, agent, 0, switched_on).tracks for agent in (READER, ORACLE, "noop")]
    assert found == [(ACCESSIBILITY_TRACK,)] * 3


def test_a_track_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"Reader' needs the track 'sonar'; there is: accessibility"):
        agent_tracks(find_project(explicit=ROOT), READER, {"needs": ["sonar"]})
