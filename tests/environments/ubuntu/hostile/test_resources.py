"""Eating processes, memory, disk space and file numbers: the host keeps its own, and a reset gives everything back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.ubuntu import UBUNTU
from environments.ubuntu.warden import FILES
from tests.environments.ubuntu import host
from tests.environments.ubuntu.hostile.agent import HostileAgent
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

MEMORY_MIB = 768

FORKS = """
import os, sys, time
count = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        count += 1
    except OSError as trouble:
        print(count, trouble.strerror)
        break
"""

MEMORY = {
    "one large program": """
blocks = []
while True:
    blocks.append(bytearray(b"x") * (16 << 20))
""",
    "many programs": """
import os, time
for _ in range(12):
    if os.fork() == 0:
        block = bytearray(b"x") * (150 << 20)
        time.sleep(600)
time.sleep(600)
""",
    "shared memory": """
import mmap, time
blocks = []
while True:
    blocks.append(mmap.mmap(-1, 16 << 20))
    blocks[-1].write(b"x" * (16 << 20))
""",
}

NAMELESS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
try:
    os.memfd_create("hidden")
    print("memfd")
except OSError:
    pass
libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
if libc.shmget(0, 1 << 30, 0o1600) >= 0:
    print("shmget")
print("tried")
"""

MANY_FILES = """
import os, sys
folder = os.path.expanduser(sys.argv[1])
for number in range(3_000_000):
    if number % 1000 == 0:
        os.makedirs(f"{folder}/many/{number}")
        os.chdir(f"{folder}/many/{number}")
    os.close(os.open(str(number), os.O_CREAT))
print("all")
"""


@pytest.fixture(scope="module")
def small_agent() -> Iterator[HostileAgent]:
    """An agent on a desktop with little memory."""
    environment = UBUNTU.provider().start({"memory": MEMORY_MIB})
    agent = HostileAgent(environment)
    yield agent
    agent.assert_recovers()
    environment.close()


@pytest.mark.parametrize("namespace", ["", "unshare --user --map-root-user --pid --fork "])
def test_a_fork_bomb_ends_at_the_limit(agent: HostileAgent, namespace: str) -> None:
    """In a namespace of its own as well; the host counts no more than the limit, and a reset clears them away."""
    agent.begin({"forks.py": FORKS})
    before = len(host.descendants())
    output = agent.output(f"{namespace}python3 ~/forks.py")
    assert int(output.split()[0]) <= 1024
    assert len(host.descendants()) <= before + 1024
    agent.assert_answers()
    agent.assert_recovers()
    assert len(host.descendants()) <= before + 10


@pytest.mark.parametrize("kind", MEMORY)
def test_a_memory_bomb_is_ended_before_the_host_is_short(small_agent: HostileAgent, kind: str) -> None:
    """All programs together stay at the limit, give or take what is written between two looks; the shell lives."""
    small_agent.begin({"memory.py": MEMORY[kind]})
    peak = 0

    def over() -> bool:
        nonlocal peak
        peak = max(peak, host.memory_of(host.descendants()))
        names = [found["name"] for found in small_agent.probe("processes")]
        return small_agent.exists("ended") or (kind == "many programs" and 1 < names.count("python3") < 6)

    small_agent.type("python3 ~/memory.py; echo $? >~/ended")
    until(over, "the end of the largest programs", 60)
    assert peak < (MEMORY_MIB + 1024) << 20
    small_agent.assert_answers()


def test_memory_that_no_limit_counts_is_not_to_be_had(agent: HostileAgent) -> None:
    """Files without a name, and segments nobody is attached to."""
    agent.begin({"nameless.py": NAMELESS})
    assert agent.output("python3 ~/nameless.py").split() == ["tried"]
    agent.assert_usable()


def test_full_disks_are_the_agent_s_own(agent: HostileAgent) -> None:
    """Every place it can write to ends; they lie in memory and not on the host's disks, and take a bounded share."""
    agent.begin()
    places = ["/dev/shm", "/tmp", "/var/tmp", "/run/session", "/home/user"]
    kinds = agent.output(f"stat --file-system --format=%T {' '.join(places)}")
    assert set(kinds.split()) == {"tmpfs"}
    for place in places:
        agent.type(f"dd if=/dev/zero of={place}/fill bs=1M; stat --format=%s {place}/fill >/dev/shm/../shm/size 2>&1")
    # With HOME full nothing can be told through it; the sizes are looked at from outside.
    until(lambda: (agent.probe("file_stat", path="~/fill")["size"] or 0) > 500 << 20, "a full HOME", 60)
    assert agent.probe("file_stat", path="~/fill")["size"] <= 512 << 20
    agent.assert_answers()
    agent.assert_recovers()
    sizes = agent.output(f"df --output=size -B1 {' '.join(places)} | tail -n +2").split()
    assert sum(map(int, sizes)) <= 5 << 28
    assert agent.output(f"ls {' '.join(f'{place}/fill' for place in places)} 2>/dev/null | wc -l").strip() == "0"


@pytest.mark.parametrize("place", ["~", "/tmp"])
def test_more_files_than_anybody_needs_end_their_maker(agent: HostileAgent, place: str) -> None:
    """Empty files take no space that a disk's size counts, but each takes the host's memory."""
    agent.begin({"files.py": MANY_FILES})
    status, output = agent.run(f"python3 ~/files.py {place}", 60)
    assert status == 128 + 9
    assert "all" not in output
    assert int(agent.output(f"df --output=iused {place} | tail -1")) < 4 * FILES
    agent.assert_answers()


def test_a_sparse_file_larger_than_everything_is_no_harm(agent: HostileAgent) -> None:
    free = os.statvfs(tempfile.gettempdir()).f_bavail
    agent.begin()
    agent.output("truncate -s 1T ~/huge /tmp/huge")
    assert agent.probe("file_stat", path="~/huge")["size"] == 1 << 40
    assert agent.probe("file_hash", path="~/huge")["sha256"] is None
    assert agent.probe("file_read", path="~/huge")["truncated"]
    assert Path(tempfile.gettempdir()).exists()
    assert os.statvfs(tempfile.gettempdir()).f_bavail > free // 2
    agent.assert_usable()
