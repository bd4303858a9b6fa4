"""Reaching, deceiving and killing the environment's server, the X server's keeper and the host's services."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.errors import EnvironmentFailure
from tests.environments.ubuntu import host
from tests.environments.ubuntu.hostile.agent import HostileAgent
from tests.environments.ubuntu.hostile.conftest import Runner
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

# Every path and number it might think of, and every descriptor within reach.
KNOCK = """
import glob, os, socket, sys
path, abstract, port = sys.argv[1:]
REQUEST = b"POST /handshake HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
def knock(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.settimeout(2)
        try:
            caller.connect(address)
            caller.sendall(REQUEST)
            print("answer", address, caller.recv(100))
        except OSError:
            pass
for name in (path, "/proc/1/root" + path, "/proc/1/cwd/.." + path):
    knock(socket.AF_UNIX, name)
knock(socket.AF_UNIX, "\\0" + abstract)
for number in {int(port), *range(1, 10000, 7)}:
    knock(socket.AF_INET, ("127.0.0.1", number))
knock(socket.AF_INET, ("0.0.0.0", int(port)))
knock(socket.AF_INET6, ("::1", int(port)))
for entry in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        target = os.readlink(entry)
    except OSError:
        continue
    if entry.startswith("/proc/1/") or "server" in target:
        print("descriptor", target.split(":")[0].split("#")[0])
try:
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as caller:
        caller.settimeout(2)
        caller.connect((2, int(port)))
        print("answer vsock")
except OSError:
    pass
"""

KILL = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
for pid in range(1, 40000):
    if pid == 1 or not os.path.exists(f"/proc/{pid}"):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP):
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                pass
for pid in (HOST_PIDS):
    for target in ("mem", "environ", "root/etc/passwd"):
        try:
            open(f"/proc/{pid}/{target}", "rb").read(1)
            print("read", pid, target)
        except OSError:
            pass
    if libc.ptrace(16, pid, 0, 0) == 0:
        print("traced", pid)
print("survived")
"""


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the host that nobody may touch."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    assert process.poll() is None
    process.kill()
    process.wait()


def test_no_socket_of_host_or_server_answers(agent: HostileAgent, runner: Runner) -> None:
    """By path, by abstract name, by loopback port, by inherited descriptor, by vsock."""
    (directory,) = runner.directory.iterdir()
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = tcp.getsockname()[1]
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        name = f"hostile-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        agent.begin({"knock.py": KNOCK})
        output = agent.output(f"python3 ~/knock.py {directory}/server.sock {name} {port}")
        for listener in (tcp, abstract):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
    # Of bubblewrap, which is the first process: its orders, its complaints, its counter.
    assert set(output.split()) <= {"descriptor", "pipe", "anon_inode", "/dev/null"}, output
    assert str(directory) not in agent.output("find / -xdev -type s; cat /proc/net/unix")
    agent.assert_usable()


def test_killing_and_tracing_reaches_nobody_outside(
    agent: HostileAgent, runner: Runner, bystander: subprocess.Popen[bytes]
) -> None:
    pids = [os.getpid(), bystander.pid, *host.descendants()]
    before = host.descendants()
    agent.begin({"kill.py": KILL.replace("HOST_PIDS", repr([pid for pid in pids if pid > 300]))})
    assert agent.output("python3 ~/kill.py").strip() == "survived"
    servers = {pid for pid, line in before.items() if "ubuntu.server" in line}
    assert servers
    assert servers <= set(host.descendants())
    agent.assert_usable()


def test_killing_everything_is_the_agent_s_own_end(agent: HostileAgent) -> None:
    """Its world dies; looking and checking go on, and what can no longer be done fails as an action's doing."""
    agent.begin()
    agent.type("kill -9 -1")
    until(lambda: agent.probe("processes") == [], "the end of every process")
    agent.assert_answers()
    assert agent.probe("windows") == []
    agent.environment.act("click", {"x": 600, "y": 400})
    with pytest.raises(EnvironmentFailure, match="session's first process has died"):
        agent.environment.act("open_application", {"application": "terminal"})
    agent.assert_answers()


def test_stealing_and_forging_orders_to_the_first_process_hurts_only_the_thief(agent: HostileAgent) -> None:
    """The pipe by which programs are started can be reached by those inside; it starts programs inside."""
    script = """
import os
take, give = os.open("/proc/1/fd/0", os.O_RDONLY | os.O_NONBLOCK), os.open("/proc/1/fd/0", os.O_WRONLY)
for _ in range(50):
    os.write(give, b"3\\nsh\\n-c\\nid >>~/forged; ls / >>~/forged\\n")
os.write(give, b"9999999999\\n" + b"x\\n" * 20000)
open(os.path.expanduser("~/.done"), "w").close()
"""
    agent.begin({"forge.py": script})
    agent.unleash("forge.py")
    until(lambda: "uid=1000" in agent.read("forged"), "a forged order to be carried out")
    assert "work" not in agent.read("forged").split()
    agent.assert_answers()


def test_flooding_the_first_process_s_output_takes_no_room(agent: HostileAgent) -> None:
    """Its standard error is a pipe of ours: full, it stays full, and nobody waits for it."""
    flood = "timeout 1 sh -c 'yes >/proc/1/fd/2'; timeout 1 sh -c 'yes >/proc/1/fd/1'"
    agent.begin()
    agent.run(flood)
    agent.assert_usable()


def test_sockets_are_for_their_owner_only(runner: Runner, agent: HostileAgent) -> None:
    """On the host: the directory lets nobody else in, and the socket belongs to one user id."""
    (directory,) = runner.directory.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert Path(directory, "server.sock").stat().st_mode & 0o777 == 0o600
