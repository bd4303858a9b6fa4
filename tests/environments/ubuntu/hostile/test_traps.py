"""Traps for checkers: whatever lies in HOME, a probe answers in its time and tells of nothing outside HOME."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from crab.environment import PROBE_SECONDS
from tests.environments.ubuntu.hostile.agent import HostileAgent
from tests.environments.ubuntu.hostile.conftest import Runner
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

PROBES = ("file_stat", "file_read", "file_hash", "file_list")

# Targets that exist where the server is: its own environment holds this word.
SERVER_WORD = "PYTHONPATH"

TRAPS = r"""
cd ~
mkdir traps && cd traps
ln -s /etc/passwd passwd
ln -s /proc/self/environ environ
ln -s /proc/1/environ first
ln -s /session session
ln -s /session/home home
ln -s / root
ln -s ../../../.. up
ln -s /dev/zero zero
ln -s /dev/tty tty
ln -s loop loop
ln -s nowhere nowhere
mkfifo fifo
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
truncate -s 1T sparse
touch closed && chmod 000 closed
mkdir shut && touch shut/x && chmod 000 shut
printf '\xff\xfe\x00bad' >binary
printf 'x' >"$(printf 'odd\377name')"
(flock -x 9; sleep 600) 9>locked &
ln -s traps ../way
ln ~/.bashrc hard
"""

SWAP = """
import os, sys, time
os.chdir(os.path.expanduser("~"))
os.makedirs("real/deep", exist_ok=True)
for name in ("real/deep/environ", "plain"):
    open(name, "w").write("harmless")
os.symlink("/proc/self", "link")
os.symlink("/proc/self/environ", "other")
open(".done", "w").close()
end = time.time() + 5
turn = 0
while time.time() < end:
    # What leads to a harmless file leads to the server's environment the next moment.
    for fair, trap, seen in (("real/deep", "link", "walked"), ("plain", "other", "read")):
        source = trap if turn % 2 else fair
        try:
            os.rename(seen, ".kept" + seen)
            os.rename(".kept" + seen, fair if not os.path.islink(".kept" + seen) else trap)
        except OSError:
            pass
        try:
            os.rename(source, seen)
        except OSError:
            pass
    turn += 1
"""

GROWING = """
import os, time
os.chdir(os.path.expanduser("~"))
out = open("growing", "wb", 0)
open(".done", "w").close()
end = time.time() + 5
while time.time() < end:
    out.write(b"z" * 100000)
    if out.tell() > 100 << 20:
        out.truncate(0)
        out.seek(0)
"""

LONG_NAMES = r"""
import os
os.chdir(os.path.expanduser("~"))
os.mkdir("long")
os.chdir("long")
for depth in range(40):
    for number in range(40):
        os.close(os.open(b"\xff" * 200 + b"%03d" % number, os.O_CREAT))
    name = b"\xfe" * 250
    os.mkdir(name)
    os.chdir(name)
"""


def ask(agent: HostileAgent, probe: str, **arguments: Any) -> Any:
    """Asks, and fails when the answer takes half the time a checker has."""
    began = time.monotonic()
    answer = agent.probe(probe, **arguments)
    assert time.monotonic() - began < PROBE_SECONDS / 2 + 1, (probe, arguments)
    return answer


def test_links_pipes_devices_and_giants_are_answers(agent: HostileAgent, runner: Runner) -> None:
    agent.begin({"traps.sh": TRAPS})
    agent.output("bash ~/traps.sh")
    listed = ask(agent, "file_list", path="~/traps", depth=32)
    names = {entry["path"]: entry["kind"] for entry in listed["entries"]}
    assert names["passwd"] == names["root"] == names["up"] == names["loop"] == "symlink"
    assert (names["fifo"], names["socket"], names["sparse"]) == ("fifo", "socket", "file")
    assert not any(name.startswith(("root/", "home/", "up/")) for name in names)
    told = []
    for name in sorted(names):
        paths = [f"~/traps/{name}", f"~/way/{name}", f"~/traps/{name}/etc/passwd", f"~/traps/{name}/environ"]
        told += [ask(agent, probe, path=path) for probe in PROBES for path in paths]
    told += [ask(agent, "file_read", path="~/traps/sparse", limit=1 << 20)]
    text = json.dumps(told)
    for word in ("root:x:0:0", SERVER_WORD, runner.directory.name, "server.sock"):
        assert word not in text
    for name in ("passwd", "environ", "fifo", "socket", "closed"):
        assert ask(agent, "file_read", path=f"~/traps/{name}")["content"] is None
    assert ask(agent, "file_hash", path="~/traps/sparse")["sha256"] is None
    agent.assert_usable()


@pytest.mark.parametrize("path", ["/etc/passwd", "~/../../etc/passwd", "/home/user/../../etc/passwd", "~root", "", "x"])
def test_a_path_outside_home_is_no_question(agent: HostileAgent, path: str) -> None:
    from crab.errors import ProbeFailure

    agent.environment.reset(1, "2026-01-05T09:00:00Z")
    for probe in PROBES:
        with pytest.raises(ProbeFailure, match="InvalidArguments"):
            agent.environment.probe(probe, {"path": path})


def test_folders_and_files_swapped_for_links_while_they_are_read(agent: HostileAgent) -> None:
    """A race between looking and opening, run for seconds: never is anything else than the harmless file read."""
    agent.begin({"swap.py": SWAP})
    agent.unleash("swap.py")
    contents = set()
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        for path in ("~/walked/environ", "~/read", "~/walked/cmdline", "~/walked/root/etc/passwd"):
            contents.add(agent.probe("file_read", path=path)["content"])
        listed = agent.probe("file_list", path="~/walked")["entries"] or []
        contents.update(entry["path"] for entry in listed)
    assert contents <= {None, "", "harmless", "environ", "deep"}
    assert "harmless" in contents
    agent.assert_usable()


def test_a_file_that_changes_while_it_is_read(agent: HostileAgent) -> None:
    agent.begin({"growing.py": GROWING})
    agent.unleash("growing.py")
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        content = ask(agent, "file_read", path="~/growing")["content"]
        assert content is None or set(content) <= {"z", "\0"}
        digest = ask(agent, "file_hash", path="~/growing")["sha256"]
        assert digest is None or len(digest) == 64
    agent.assert_usable()


def test_endless_names_are_cut(agent: HostileAgent) -> None:
    """Forty folders deep, names of a thousand characters as they are told: the answer stays small."""
    agent.begin({"long.py": LONG_NAMES})
    agent.output("python3 ~/long.py")
    answer = ask(agent, "file_list", path="~/long", depth=32, limit=20_000)
    assert answer["truncated"]
    assert len(json.dumps(answer)) < 20 << 20
    agent.assert_usable()


def test_programs_with_strange_names_and_endless_arguments(agent: HostileAgent) -> None:
    script = r"""
import os, subprocess, time
name = os.path.expanduser("~/) R 1 (x\n")
os.symlink("/bin/sleep", name)
for number in range(40):
    subprocess.Popen([name, "600", *["\xff" * 1000 + "a" * 100000] * 1][:2])
    subprocess.Popen(["python3", "-c", "import time; time.sleep(600)", *["a" * 100_000] * 15])
open(os.path.expanduser("~/.done"), "w").close()
"""
    agent.begin({"names.py": script})
    agent.unleash("names.py")
    found = until(lambda: [p for p in ask(agent, "processes") if p["name"].startswith(") R 1 (")], "the programs")
    assert len(found) <= 40
    assert all(len(json.dumps(process["argv"])) < 60_000 for process in ask(agent, "processes"))
    agent.assert_usable()


def test_settings_made_of_nonsense(agent: HostileAgent) -> None:
    """Files of settings that are pipes, links, folders, binary or endless mean that nothing is set."""
    agent.begin()
    agent.output(
        "cd ~/.config && rm -rf pcmanfm gtk-3.0 mimeapps.list glib-2.0/settings && mkfifo mimeapps.list && "
        "ln -s / pcmanfm && mkdir -p gtk-3.0/settings.ini glib-2.0/settings && "
        "head -c 3000000 /dev/urandom >glib-2.0/settings/keyfile"
    )
    for name in ("wallpaper", "wallpaper_mode", "theme", "icon_theme", "cursor_theme", "font"):
        assert ask(agent, "setting", name=name) is None
    assert ask(agent, "setting", name="default_application", key="text/plain") is None
    assert ask(agent, "setting", name="gsettings", key="org.example one") is None
    agent.assert_usable()


def test_the_server_s_word_is_worth_looking_for() -> None:
    """The server's environment does hold it, so a leak would show."""
    from environments.ubuntu.sandbox import launch

    assert SERVER_WORD in Path(launch.__file__).read_text()
