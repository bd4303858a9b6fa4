"""The list of programs: descendants only, under the names and numbers their users know."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.ubuntu.processes import Process, processes_below
from tests.environments.ubuntu.waiting import until

PARENT = """
import subprocess, sys
child = subprocess.Popen(["sleep", "1000"])
done = subprocess.Popen(["true"])
print(child.pid, done.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
done.wait()
"""


@pytest.fixture
def parent() -> Iterator[tuple[int, int, int]]:
    """A process with a running child and a zombie: the numbers of all three."""
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    child, zombie = (int(word) for word in process.stdout.readline().split())
    yield process.pid, child, zombie
    process.communicate(timeout=20)


def find(root: int, pid: int) -> Process | None:
    return next((found for found in processes_below(root) if found.pid == pid), None)


def test_descendants_are_listed_and_strangers_are_not(parent: tuple[int, int, int]) -> None:
    root, child, _ = parent
    found = until(lambda: find(root, child), "the child")
    assert found is not None
    assert (found.name, found.argv) == ("sleep", ("sleep", "1000"))
    assert found.elapsed >= 0
    assert [process.pid for process in processes_below(root)] == [child]
    assert find(os.getpid(), child) is not None
    assert find(root, os.getpid()) is None


def test_zombies_are_left_out(parent: tuple[int, int, int]) -> None:
    root, _, zombie = parent
    until(lambda: Path(f"/proc/{zombie}/stat").read_text(encoding="ascii").split()[2] == "Z", "the zombie")
    assert find(root, zombie) is None


def test_a_name_with_parentheses_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a) b (c"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "1000"])
    try:
        found = until(lambda: find(os.getpid(), process.pid), "the program")
        assert found is not None
        assert until(lambda: (find(os.getpid(), process.pid) or found).name == "a) b (c", "its name")
    finally:
        process.kill()
        process.wait()


def test_a_process_that_is_not_there_has_no_descendants() -> None:
    assert processes_below(2**22 + 1) == ()
