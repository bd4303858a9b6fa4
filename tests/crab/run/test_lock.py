"""A continued run notices what has changed since it began."""

from __future__ import annotations

from pathlib import Path

from crab.loading import find_project
from crab.run.build import RunOptions, load_tasks, make_spec
from crab.run.lock import make_lock
from tests.toy_project import write_project

AGENT = """
from pathlib import Path

class Prompted:
    name = "prompted"
    files = (Path(__file__).with_name("prompt.txt"),)

    def start(self, view): ...
    def decide(self, observations): ...
    def close(self): ...
"""


def test_files_an_agent_lists_are_part_of_it(tmp_path: Path) -> None:
    """A prompt that was edited makes another agent; so does a setting; nothing changed, nothing differs."""
    folder = write_project(tmp_path)
    (folder / "prompted_agents.py").write_text(AGENT, encoding="utf-8")
    prompt = folder / "prompt.txt"
    prompt.write_text("Be quick.", encoding="utf-8")

    def digest(options: RunOptions = RunOptions()) -> str:  # noqa: B008  frozen, and never changed
        project = find_project(explicit=folder)
        (task,) = load_tasks(project, ["write-note"])
        spec = make_spec(project, task, "prompted_agents:Prompted", 0, options)
        return str(make_lock(project, [(spec, task)])["agents"]["Prompted"])

    before, again = digest(), digest()
    other_setting = digest(RunOptions(agent_settings={"Prompted": {"tone": "kind"}}))
    prompt.write_text("Be slow.", encoding="utf-8")

    assert before == again
    assert len({before, other_setting, digest()}) == 3
