"""Getting out: writing to the system, becoming root, mounting, kernel and terminal tricks, the network."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from tests.environments.ubuntu import host
from tests.environments.ubuntu.hostile.agent import HostileAgent
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

AS_ROOT_OF_ITS_OWN = [
    "mount -t tmpfs none /tmp",
    "mount --bind /tmp /usr",
    "mount -t proc none /proc",
    "mount -o remount,rw /usr",
    "umount /etc/passwd",
    "umount -l /home/user",
    "pivot_root /tmp /tmp",
    "touch /usr/escaped",
    "mknod /tmp/disk b 254 0",
    "cat /etc/shadow",
    "chown 12345 /home/user",
    "nsenter -t 1 -m true",
    "swapon /tmp/x",
]
"""What a namespace of its own, in which it is called root, does not make possible."""

ESCAPES = [
    "touch /usr/bin/x",
    "touch /etc/x",
    "touch /x",
    "touch /dev/x",
    "mkdir /sys",
    "cat /dev/kmsg",
    "cat /proc/kmsg",
    "dmesg",
    "cat /proc/kcore",
    "cat /dev/mem",
    "ls /dev/vda /dev/sda /dev/kvm /dev/fuse /dev/input",
    "echo b >/proc/sysrq-trigger",
    "echo x >/proc/sys/kernel/core_pattern",
    "echo x >/proc/sys/kernel/hostname",
    "echo -1000 >/proc/self/oom_score_adj",
    "ls /proc/1/root/root",
    "ls /proc/1/cwd/../../root",
    "chroot / true",
    "su -c true",
    "sudo -n true",
    "nice -n -5 true | grep -q x",
    "strace -V && false",
    "ulimit -n 100000",
    "ulimit -u 100000",
]

TERMINAL = """
import fcntl, os, termios
for path in ("/dev/tty", "/dev/console", *("/dev/pts/" + name for name in os.listdir("/dev/pts"))):
    try:
        terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
        for letter in b"touch ~/injected\\n":
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([letter]))
        print("injected into", path)
    except OSError as trouble:
        print(path, trouble.strerror)
"""


def test_nothing_of_the_system_can_be_changed_or_escaped_to(agent: HostileAgent) -> None:
    agent.begin(
        {"try.sh": "\n".join(f"( {line} ) >/dev/null 2>&1 && echo 'done: {line}'" for line in ESCAPES) + "\ntrue"}
    )
    assert agent.output("bash ~/try.sh") == ""
    agent.assert_usable()


def test_a_namespace_of_its_own_makes_it_root_of_nothing(agent: HostileAgent) -> None:
    """User namespaces are allowed, as browsers need them; mounting is not, so that no memory hides in file systems."""
    attempts = "\n".join(f"( {line} ) >/dev/null 2>&1 && echo 'done: {line}'" for line in AS_ROOT_OF_ITS_OWN)
    agent.begin({"try.sh": attempts + "\ntrue"})
    assert agent.output("unshare --user --map-root-user id -u").strip() == "0"
    assert agent.output("unshare --user --map-root-user bash ~/try.sh") == ""
    assert agent.run("unshare --user --map-root-user --mount bash ~/try.sh")[0] != 0
    assert agent.output("unshare --user --map-root-user --net --pid --fork bash ~/try.sh") == ""
    agent.assert_usable()


def test_a_setuid_copy_gains_nothing(agent: HostileAgent) -> None:
    agent.begin()
    agent.output("cp /bin/bash /tmp/own; chmod 4755 /tmp/own; cp /bin/bash ~/own; chmod 6755 ~/own")
    for program in ("/tmp/own", "~/own"):
        assert agent.output(f"{program} -p -c 'id -u; grep CapEff /proc/self/status'").split() == [
            "1000",
            "CapEff:",
            "0000000000000000",
        ]
    agent.assert_usable()


def test_typing_into_other_terminals_reaches_none_of_the_host_s(agent: HostileAgent) -> None:
    """The terminals it can open are those of its own world."""
    agent.begin({"terminal.py": TERMINAL})
    output = agent.output("python3 ~/terminal.py")
    reached = {line.rpartition(" ")[2] for line in output.splitlines() if line.startswith("injected")}
    assert reached <= {"/dev/tty", "/dev/pts/0"}
    assert not Path(os.path.expanduser("~/injected")).exists()
    agent.assert_usable()


def test_there_is_no_network_but_its_own_loopback(agent: HostileAgent) -> None:
    """Only looked at, and only tried on addresses of this machine: no interface, no route, no name server."""
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - to be sure it is not reached by any address
        port = server.getsockname()[1]
        agent.begin()
        assert agent.output("tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]
        assert agent.output("tail -n +2 /proc/net/route | wc -l").strip() == "0"
        routes = agent.output("cut -d' ' -f10 /proc/net/ipv6_route 2>/dev/null | sort -u; true").split()
        assert set(routes) <= {"lo"} or all("lo" in route for route in routes)
        for address in ("127.0.0.1", *_own_addresses()):
            assert agent.run(f"timeout 5 bash -c 'exec 3<>/dev/tcp/{address}/{port}'")[0] != 0
        assert agent.run("timeout 5 getent hosts example.org")[0] != 0
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    agent.assert_usable()


def test_a_world_left_by_its_namespaces_ends_with_it(agent: HostileAgent) -> None:
    """Daemons in sessions and namespaces of their own are gone after a reset."""
    word = f"9{os.getpid()}{int(time.time()) % 1000}"
    agent.begin()
    agent.output(f"setsid -f unshare --user --pid --fork --map-root-user sleep {word}; setsid -f nohup sleep {word}")
    until(lambda: len(host.running(f"sleep {word}")) >= 2, "the daemons")
    agent.assert_recovers()
    assert host.running(f"sleep {word}") == []


def _own_addresses() -> list[str]:
    """The host's own addresses, as its kernel lists them."""
    found = set()
    for line in Path("/proc/net/fib_trie").read_text().splitlines():
        word = line.strip(" |-+").split("/")[0]
        if word.count(".") == 3 and not word.endswith((".0", ".255")):
            found.add(word)
    return sorted(found)[:4]
