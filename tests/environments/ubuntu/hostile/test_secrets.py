"""Reading what is none of the agent's business: the host's files and processes, the runner's memory, the answer."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.ubuntu import UBUNTU
from tests.environments.ubuntu import host
from tests.environments.ubuntu.hostile.agent import HostileAgent
from tests.environments.ubuntu.hostile.conftest import SECRET_VARIABLE, Runner

pytestmark = pytest.mark.desktop

PROJECT = Path(__file__).resolve().parents[4]

# Everything that can be read but the system's own read-only files, which were there before the secret was.
SEARCH = r"""
pattern='answer-[0-9a-f]\{24\}'
find / \( -path /usr -o -path /proc -o -path "$HOME/.out*" \) -prune -o -type f -print0 2>/dev/null |
    xargs -0 grep -D skip -ls "$pattern"
for entry in /proc/[0-9]*; do
    tr '\0' '\n' 2>/dev/null <$entry/environ | grep -s "$pattern"
    tr '\0' '\n' 2>/dev/null <$entry/cmdline | grep -s "$pattern"
    ls -l $entry/fd $entry/cwd $entry/root 2>/dev/null | grep -s "$pattern"
done
cat /proc/self/mountinfo /proc/net/unix /proc/keys 2>/dev/null | grep -s "$pattern"
xprop -root | grep -s "$pattern"
timeout 5 xclip -selection clipboard -o 2>/dev/null | grep -s "$pattern"
gdbus introspect --session --recurse --dest org.freedesktop.DBus --object-path / 2>/dev/null | grep -s "$pattern"
python3 - <<'END'
import re, os, glob
for maps in glob.glob("/proc/[0-9]*/maps"):
    try:
        with open(maps) as ranges, open(os.path.dirname(maps) + "/mem", "rb") as memory:
            for line in ranges:
                first, last = (int(end, 16) for end in line.split()[0].split("-"))
                if "rw" in line and last - first < 1 << 26:
                    memory.seek(first)
                    try:
                        found = re.search(rb"answer-[0-9a-f]{24}", memory.read(last - first))
                    except OSError:
                        continue
                    if found:
                        print(maps, found[0])
    except OSError:
        continue
END
echo searched
"""


@pytest.fixture
def trial(runner: Runner, tmp_path: Path) -> Iterator[Path]:
    """A trial as the runner keeps it: a directory with its specification, and a process that was told the answer."""
    directory = tmp_path / "trial"
    directory.mkdir()
    (directory / "spec.json").write_text(f'{{"expected": "{runner.answer}"}}')
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", runner.answer, str(directory)])
    yield directory
    process.kill()
    process.wait()


def test_files_of_the_host_are_not_there(agent: HostileAgent, trial: Path) -> None:
    agent.begin()
    paths = [Path("/root"), Path("/etc/shadow"), Path("/etc/ssh"), Path("/home", os.environ.get("USER", "root"))]
    paths += [PROJECT, trial, trial / "spec.json", Path("/var/log"), Path("/boot"), Path("/sys"), Path("/session")]
    if not Path(sys.prefix).resolve().is_relative_to("/usr"):
        paths += [Path(sys.prefix), Path(sys.base_prefix).resolve()]
    for path in paths:
        assert agent.run(f"ls '{path}'")[0] != 0, path
    assert agent.output("ls /home").split() == ["user"]
    assert agent.output("ls /mnt /media /srv /opt /lost+found 2>/dev/null | wc -l").strip() == "0"
    agent.assert_usable()


def test_processes_of_host_and_server_cannot_be_seen(agent: HostileAgent, trial: Path, runner: Runner) -> None:
    """Neither in /proc nor through the parents of what can be seen; nor does any environment tell of them."""
    agent.begin()
    listed = agent.output("cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm 2>/dev/null | tr '\\0' ' '")
    for word in ("python", "Xvfb", "keeper", str(PROJECT), runner.directory.name, trial.name):
        assert word not in listed
    environments = agent.output("cat /proc/[0-9]*/environ | tr '\\0' '\\n'")
    for word in (SECRET_VARIABLE, "PYTHONPATH", "CRAB", str(PROJECT), str(runner.directory)):
        assert word not in environments
    servers = [pid for pid, line in host.descendants().items() if "ubuntu.server" in line]
    assert servers
    for pid in servers:
        assert SECRET_VARIABLE.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    for pid in (os.getpid(), os.getppid()):
        if pid > 500:
            assert agent.run(f"ls /proc/{pid}")[0] != 0
    assert agent.output("awk '/PPid/ {print $2}' /proc/1/status").strip() == "0"
    agent.assert_usable()


def test_the_answer_is_nowhere_to_be_found(agent: HostileAgent, trial: Path, runner: Runner) -> None:
    """Files, environments, command lines, memory, clipboard, X properties: the runner has it in all of its own."""
    agent.begin({"search.sh": SEARCH})
    # As a checker's question would bring it into the server's memory.
    agent.probe("file_read", path=f"~/{runner.answer}")
    assert runner.answer in (trial / "spec.json").read_text()
    assert agent.output("bash ~/search.sh").strip() == "searched"
    # The search is worth something: what is there, it finds.
    agent.output("echo answer-$(printf 'a%.0s' $(seq 24)) >/tmp/planted")
    assert "/tmp/planted" in agent.output("bash ~/search.sh")
    agent.assert_usable()


def test_keys_of_the_runner_s_keyring_cannot_be_read(runner: Runner) -> None:
    """Keyrings belong to no namespace: they are inherited by every child, however walled off."""
    calls = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine())
    if calls is None:
        pytest.skip("the numbers of the system calls are not known here")
    add_key, keyctl = calls
    libc = ctypes.CDLL(None, use_errno=True)
    found: list[tuple[int, str]] = []

    def try_it() -> None:
        # A session keyring is a thread's; what this thread starts inherits it.
        if libc.syscall(keyctl, 1, None) < 0:
            return
        key = libc.syscall(add_key, b"user", b"token", runner.answer.encode(), len(runner.answer), -3)
        script = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
data = ctypes.create_string_buffer(100)
print(libc.syscall({keyctl}, 11, {key}, data, 100), ctypes.get_errno(), data.value)
print(libc.syscall({keyctl}, 10, -3, b"user", b"token", 0), ctypes.get_errno())
"""
        environment = UBUNTU.provider().start({})
        try:
            agent = HostileAgent(environment)
            agent.begin({"keys.py": script})
            found.append(agent.run("cat /proc/keys; python3 ~/keys.py"))
        finally:
            environment.close()

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    if not found:
        pytest.skip("this kernel has no keyrings, or does not let us use them")
    status, output = found[0]
    assert status == 0, output
    assert runner.answer not in output
    assert "token" not in output
    assert [line.split()[:2] for line in output.splitlines()[-2:]] == [["-1", "1"], ["-1", "1"]]
