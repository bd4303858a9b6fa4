"""What the agent's world can and cannot reach. Every promise is tried from inside the real sandboxes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments.ubuntu.sandbox.sandboxed import Sandboxed, sandboxed
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

PROJECT = Path(__file__).resolve().parents[4]


@pytest.fixture
def host_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the host with a name that is easy to find."""
    process = subprocess.Popen(["sleep", "987654"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("kind", ["pid", "mnt", "net", "ipc", "uts", "user"])
def test_the_world_has_namespaces_of_its_own(world: Sandboxed, kind: str) -> None:
    """Fails where the sandbox would work but was left out: inner, outer and host are three different worlds."""
    inner = world.output("readlink", f"/proc/self/ns/{kind}")
    _, outer = world.call("outside", argv=["readlink", f"/proc/self/ns/{kind}"])
    assert len({inner, outer.strip(), os.readlink(f"/proc/self/ns/{kind}")}) == 3


@pytest.mark.parametrize("path", ["/root", str(PROJECT), sys.prefix, "/etc/shadow", "/session"])
def test_host_project_and_server_files_are_absent(world: Sandboxed, path: str) -> None:
    if Path(path).resolve().is_relative_to("/usr"):
        pytest.skip("the interpreter is the system's own, which the world may use")
    status, output = world.inside("ls", path)
    assert status != 0
    assert "No such file" in output


def test_server_socket_is_out_of_reach(world: Sandboxed) -> None:
    assert world.inside("ls", str(world.directory))[0] != 0
    listed = {Path(line).name for line in world.output("find", "/run", "/tmp", "/home", "-type", "s").splitlines()}
    assert "bus" in listed
    assert world.directory.name not in world.output("find", "/", "-xdev", "-name", world.directory.name)
    assert "driver" not in listed


def test_the_table_of_mounts_does_not_tell_where_the_project_lies(world: Sandboxed) -> None:
    table = world.output("cat", "/proc/self/mountinfo")
    assert str(PROJECT) not in table
    assert "crab" not in table


def test_no_way_out_of_the_network(world: Sandboxed) -> None:
    devices = [line.partition(":")[0].strip() for line in world.output("cat", "/proc/net/dev").splitlines()[2:]]
    assert devices == ["lo"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert world.inside("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}")[0] != 0
    assert world.inside("bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80")[0] != 0


def test_own_loopback_is_up(world: Sandboxed) -> None:
    """A refused connection is an answer; without loopback the network would be unreachable."""
    assert "refused" in world.inside("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9")[1]


def test_abstract_sockets_of_host_and_server_are_out_of_reach(world: Sandboxed) -> None:
    listed = world.output("cat", "/proc/net/unix")
    assert "@" not in listed


def test_host_and_server_processes_are_invisible(world: Sandboxed, host_process: subprocess.Popen[bytes]) -> None:
    names = world.output("sh", "-c", "cat /proc/[0-9]*/comm").split()
    assert "openbox" in names
    assert not {name for name in names if name.startswith(("python", "Xvfb"))}
    lines = world.output("sh", "-c", "tr '\\0' ' ' </proc/1/cmdline; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "987654" not in lines
    assert "/session" not in lines.replace("/run/session", "")


def test_nothing_outside_can_be_killed(world: Sandboxed, host_process: subprocess.Popen[bytes]) -> None:
    """Their process ids mean nothing inside, and the server answers as before."""
    status, _ = world.inside("sh", "-c", f"kill -9 {host_process.pid}; kill -9 {world.sandbox.pid}")
    assert status != 0
    assert host_process.poll() is None
    assert world.sandbox.alive()
    assert world.call("health") is None


@pytest.mark.parametrize("path", ["/usr/x", "/usr/bin/x", "/etc/x", "/x", "/dev/x", "/usr/share/applications/x"])
def test_the_system_is_read_only(world: Sandboxed, path: str) -> None:
    status, output = world.inside("touch", path)
    assert status != 0
    assert "Read-only" in output or "denied" in output


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
    numbers = world.output("bash", "-c", "ls -l /proc/$$/fd | sed -n 's/.* \\([0-9]*\\) -> .*/\\1/p'").split()
    assert set(numbers) <= {"0", "1", "2", "255"}


def test_environment_carries_nothing_of_the_host(world: Sandboxed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's variables, with keys and tokens among them, end at the outer wall."""
    monkeypatch.setenv("SECRET_TOKEN", "x" * 20)
    with sandboxed() as other:
        other.call("start")
        names = {line.partition("=")[0] for line in other.output("env").splitlines()}
        _, outer = other.call("outside", argv=["env"])
    assert "SECRET_TOKEN" not in names
    assert "SECRET_TOKEN" not in outer
    assert not {name for name in names if name.startswith("PYTHON")}


@pytest.mark.parametrize("directory", ["/home/user", "/tmp", "/run/session", "/dev/shm", "/var/tmp"])
def test_filling_a_disk_ends_in_no_space(directory: str) -> None:
    """Every writable place has an end, and a reset gives the room back."""
    with sandboxed(limits={"home": 24 << 20, "temporary": 24 << 20}) as small:
        small.call("start")
        _mount_sizes_are_bounded(small)
        fill = ["dd", "if=/dev/zero", f"of={directory}/fill", "bs=1M", "count=600"]
        results = "runtime" if directory == "/home/user" else "home"
        status, output = small.call("inside", argv=fill, results=results)
        assert status != 0
        assert "No space" in output
        small.call("start")
        assert small.call("health") is None
        assert small.inside(*fill[:-1], "count=4")[0] == 0


def _mount_sizes_are_bounded(world: Sandboxed) -> None:
    lines = world.output("cat", "/proc/self/mountinfo").splitlines()
    for line in lines:
        before, _, after = line.partition(" - ")
        options, (kind, _, superblock) = before.split()[5], after.split()[:3]
        if kind == "tmpfs" and options.startswith("rw"):
            assert "size=" in superblock, line


def test_a_fork_bomb_stops_at_the_limit() -> None:
    """Starting processes without end fails inside, and the session can still be reset."""
    with sandboxed(limits={"processes": 120}) as crowded:
        crowded.call("start")
        bomb = "i=0; while [ $i -lt 400 ]; do sleep 600 & i=$((i+1)); done"
        status, output = crowded.inside("sh", "-c", bomb)
        assert status != 0
        assert "fork" in output.lower()
        crowded.call("start")
        assert crowded.call("health") is None
        assert crowded.call("count")["processes"] < 30


def test_core_files_are_off_and_open_files_limited(world: Sandboxed) -> None:
    assert world.output("sh", "-c", "ulimit -c") == "0"
    assert world.output("sh", "-c", "ulimit -n") == "4096"


def test_closing_ends_every_process() -> None:
    with sandboxed() as short:
        short.call("start")
        short.call("spawn", argv=["sleep", "876543"])
        until(lambda: _hosts_process("876543"), "the process")
    assert not _hosts_process("876543")


def _hosts_process(word: str) -> bool:
    """Whether some process of the host has ``word`` on its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if word.encode() in (entry / "cmdline").read_bytes():
                    return True
            except OSError:
                continue
    return False
