"""What the agent's world is made of, seen from inside the real sandboxes; attacks on it are in ``hostile``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.environments.ubuntu.sandbox.sandboxed import Sandboxed

pytestmark = pytest.mark.desktop

PROJECT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("kind", ["pid", "mnt", "net", "ipc", "uts", "user"])
def test_the_world_has_namespaces_of_its_own(world: Sandboxed, kind: str) -> None:
    """Fails where the sandbox would work but was left out: inner, outer and host are three different worlds."""
    inner = world.output("readlink", f"/proc/self/ns/{kind}")
    _, outer = world.call("outside", argv=["readlink", f"/proc/self/ns/{kind}"])
    assert len({inner, outer.strip(), os.readlink(f"/proc/self/ns/{kind}")}) == 3


def test_the_table_of_mounts_does_not_tell_where_the_project_lies(world: Sandboxed) -> None:
    table = world.output("cat", "/proc/self/mountinfo")
    assert str(PROJECT) not in table
    assert "crab" not in table


def test_own_loopback_is_up(world: Sandboxed) -> None:
    """A refused connection is an answer; without loopback the network would be unreachable."""
    assert "refused" in world.inside("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9")[1]


def test_the_user_is_an_ordinary_one(world: Sandboxed) -> None:
    """Named in passwd with a real shell: without it the session bus and the terminals refuse to start."""
    assert world.output("id", "-un") == "user"
    assert world.output("id", "-u") == "1000"
    assert world.output("sh", "-c", "echo $HOME $SHELL $USER") == "/home/user /bin/bash user"
    capabilities = dict(line.split() for line in world.output("grep", "^Cap", "/proc/self/status").splitlines())
    assert int(capabilities["CapEff:"], 16) == 0
    assert world.output("grep", "NoNewPrivs", "/proc/self/status").split()[1] == "1"


def test_passwd_and_group_are_the_sandboxs_own(world: Sandboxed) -> None:
    names = {line.partition(":")[0] for line in world.output("cat", "/etc/passwd").splitlines()}
    assert names == {"root", "user", "nobody"}


def test_no_descriptor_of_the_server_is_inherited(world: Sandboxed) -> None:
    listed = [line.split()[-3:] for line in world.output("ls", "-l", "/proc/self/fd").splitlines()[1:]]
    # The program's own look into the folder is one, too.
    assert {number for number, _, target in listed if not target.startswith("/proc/")} == {"0", "1", "2"}


def test_every_writable_file_system_has_a_size(world: Sandboxed) -> None:
    lines = world.output("cat", "/proc/self/mountinfo").splitlines()
    for line in lines:
        before, _, after = line.partition(" - ")
        options, (kind, _, superblock) = before.split()[5], after.split()[:3]
        if kind == "tmpfs" and options.startswith("rw"):
            assert "size=" in superblock, line


def test_core_files_are_off_and_open_files_limited(world: Sandboxed) -> None:
    assert world.output("sh", "-c", "ulimit -c") == "0"
    assert world.output("sh", "-c", "ulimit -n") == "4096"
