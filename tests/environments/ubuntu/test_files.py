"""Answers about files: right for files, and an answer for whatever else an agent leaves behind."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from stat import S_IXOTH
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.errors import EnvironmentFailure, InvalidArguments
from environments.ubuntu.files import HomeFiles, components

NOBODY = 65534

HOLD_LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
descriptor = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def files(home: Path) -> HomeFiles:
    return HomeFiles(home)


@pytest.fixture
def ordinary_user(home: Path) -> Iterator[None]:
    """Lets the test run as somebody whom permissions bind."""
    if os.geteuid() != 0:
        yield
        return
    # However deep the test runner put our folder, everybody may enter it.
    for folder in (home, *home.parents):
        if not folder.stat().st_mode & S_IXOTH:
            folder.chmod(0o755)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def answers(files: HomeFiles, path: str) -> dict[str, Any]:
    """Asks everything about a path, checks that the answers agree and are JSON, and returns them as one."""
    every = [
        files.stat(path),
        files.read(path),
        files.read(path, encoding="base64"),
        files.hash(path),
        files.list(path),
    ]
    json.dumps(every)
    assert len({(answer["exists"], answer["kind"]) for answer in every}) == 1
    return {**every[0], "content": every[1]["content"], "sha256": every[3]["sha256"], "entries": every[4]["entries"]}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("~", ()),
        ("~/", ()),
        ("/home/user", ()),
        ("~/a", ("a",)),
        ("/home/user/a/./b//c/", ("a", "b", "c")),
        ("~/~", ("~",)),
    ],
)
def test_paths_lead_from_home(path: str, names: tuple[str, ...]) -> None:
    assert components(path) == names


@pytest.mark.parametrize(
    "path", ["", "a", "/etc/passwd", "/home/userx", "~a/b", "~/../x", "~/a/../../x", "~/a\0", "~/\ud800"]
)
def test_paths_out_of_home_are_refused(path: str) -> None:
    with pytest.raises(InvalidArguments):
        components(path)


@given(st.text(max_size=40))
def test_any_text_is_a_path_beneath_home_or_is_refused(path: str) -> None:
    try:
        names = components(path)
    except InvalidArguments:
        return
    assert all(name not in ("", ".", "..") and "/" not in name and "\0" not in name for name in names)


def test_a_file_is_described_read_and_hashed(files: HomeFiles, home: Path) -> None:
    (home / "a").mkdir()
    data = "héllo 中文\n".encode()
    (home / "a" / "b.txt").write_bytes(data)
    (home / "a" / "b.txt").chmod(0o640)
    found = answers(files, "~/a/b.txt")
    assert (found["exists"], found["kind"], found["size"], found["mode"]) == (True, "file", len(data), "640")
    assert found["content"] == data.decode()
    assert found["sha256"] == hashlib.sha256(data).hexdigest()
    assert found["entries"] is None
    assert files.read("~/a/b.txt", encoding="base64")["content"] == base64.b64encode(data).decode()


def test_nothing_is_an_answer(files: HomeFiles) -> None:
    found = answers(files, "~/no/such/file")
    assert (found["exists"], found["kind"], found["content"], found["sha256"]) == (False, None, None, None)


def test_a_name_longer_than_any_file_s_is_nothing(files: HomeFiles) -> None:
    assert not answers(files, "~/" + "x" * 5000)["exists"]


def test_a_file_in_place_of_a_folder_leads_nowhere(files: HomeFiles, home: Path) -> None:
    (home / "a").write_text("x")
    assert not answers(files, "~/a/b")["exists"]


def test_binary_content_is_no_text_but_can_be_had(files: HomeFiles, home: Path) -> None:
    (home / "b").write_bytes(b"\xff\xfe\0")
    assert answers(files, "~/b")["content"] is None
    assert files.read("~/b", encoding="base64")["content"] == base64.b64encode(b"\xff\xfe\0").decode()


def test_reading_stops_at_the_limit_between_characters(files: HomeFiles, home: Path) -> None:
    (home / "long").write_text("é" * 1000, encoding="utf-8")
    found = files.read("~/long", limit=5)
    assert (found["content"], found["truncated"], found["size"]) == ("éé", True, 2000)
    assert not files.read("~/long", limit=2000)["truncated"]


def test_a_huge_file_is_neither_read_whole_nor_hashed(files: HomeFiles, home: Path) -> None:
    with (home / "huge").open("wb") as opened:
        opened.truncate(1 << 40)
    found = answers(files, "~/huge")
    assert (found["size"], found["sha256"]) == (1 << 40, None)
    assert len(files.read("~/huge", limit=1000)["content"]) == 1000


@pytest.mark.parametrize("target", ["/etc/passwd", "real", "loop", "missing"])
def test_a_symbolic_link_is_a_link_and_is_not_followed(files: HomeFiles, home: Path, target: str) -> None:
    (home / "real").write_text("x")
    (home / "loop").symlink_to("loop")
    (home / "link").symlink_to(target)
    found = answers(files, "~/link")
    assert (found["exists"], found["kind"], found["content"], found["sha256"]) == (True, "symlink", None, None)


def test_a_link_in_the_way_leads_nowhere(files: HomeFiles, home: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    (home / "folder").symlink_to(tmp_path / "outside")
    assert not answers(files, "~/folder/secret")["exists"]
    with pytest.raises(EnvironmentFailure):
        files.write("~/folder/planted", b"x")
    assert not (tmp_path / "outside" / "planted").exists()


def test_a_pipe_is_a_pipe_and_does_not_hang(files: HomeFiles, home: Path) -> None:
    os.mkfifo(home / "pipe")
    found = answers(files, "~/pipe")
    assert (found["kind"], found["content"], found["sha256"]) == ("fifo", None, None)


def test_a_socket_is_a_socket(files: HomeFiles, home: Path) -> None:
    before = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(home)
        try:
            listener.bind("door")
        finally:
            os.chdir(before)
        assert answers(files, "~/door")["kind"] == "socket"


def test_a_file_nobody_may_read_has_no_content(files: HomeFiles, home: Path, ordinary_user: None) -> None:
    os.umask(0o022)
    locked = home / "locked"
    if os.geteuid() == NOBODY:
        os.seteuid(0)
        locked.write_text("x")
        locked.chmod(0)
        os.seteuid(NOBODY)
    else:
        locked.write_text("x")
        locked.chmod(0)
    found = answers(files, "~/locked")
    assert (found["kind"], found["size"], found["content"], found["sha256"]) == ("file", 1, None, None)


def test_a_folder_nobody_may_enter_has_no_entries(files: HomeFiles, home: Path, ordinary_user: None) -> None:
    if os.geteuid() == NOBODY:
        os.seteuid(0)
    (home / "closed").mkdir()
    (home / "closed" / "file").write_text("x")
    (home / "closed").chmod(0)
    if os.getuid() == 0:
        os.seteuid(NOBODY)
    try:
        assert answers(files, "~/closed")["entries"] is None
        assert not answers(files, "~/closed/file")["exists"]
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        (home / "closed").chmod(0o755)


def test_a_leased_file_does_not_hang_the_reader(files: HomeFiles, home: Path) -> None:
    """The holder of a lease makes an ordinary open wait for 45 seconds."""
    leased = home / "leased"
    leased.write_text("x")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_LEASE, str(leased)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        found = answers(files, "~/leased")
        holder.kill()
    assert (found["kind"], found["size"], found["content"], found["sha256"]) == ("file", 1, None, None)


def test_a_file_locked_by_a_program_is_read_all_the_same(files: HomeFiles, home: Path) -> None:
    with (home / "f").open("w") as opened:
        opened.write("x")
        opened.flush()
        fcntl.flock(opened, fcntl.LOCK_EX)
        assert answers(files, "~/f")["content"] == "x"


def test_a_folder_is_listed_in_order_to_the_depth_asked(files: HomeFiles, home: Path) -> None:
    (home / "b" / "deep").mkdir(parents=True)
    (home / "b" / "deep" / "f").write_text("1234")
    (home / ".a").write_text("")
    flat = files.list("~")
    assert [(entry["path"], entry["kind"]) for entry in flat["entries"]] == [(".a", "file"), ("b", "directory")]
    deep = files.list("~", depth=3)
    assert [entry["path"] for entry in deep["entries"]] == [".a", "b", "b/deep", "b/deep/f"]
    assert deep["entries"][3]["size"] == 4


def test_a_listing_stops_at_the_limit_and_at_links(files: HomeFiles, home: Path) -> None:
    for number in range(30):
        (home / f"f{number:02}").write_text("")
    (home / "loop").symlink_to(".")
    cut = files.list("~", limit=10)
    assert (len(cut["entries"]), cut["truncated"]) == (10, True)
    whole = files.list("~", depth=9)
    assert (len(whole["entries"]), whole["truncated"]) == (31, False)


def test_a_name_that_is_no_text_is_escaped(files: HomeFiles, home: Path) -> None:
    (home / os.fsdecode(b"caf\xe9")).write_text("")
    assert [entry["path"] for entry in answers(files, "~")["entries"]] == ["caf\\xe9"]


def test_home_itself_can_be_asked_about(files: HomeFiles) -> None:
    assert answers(files, "~")["kind"] == "directory"


def test_writing_creates_the_folders_above_and_sets_the_mode(files: HomeFiles, home: Path) -> None:
    files.write("~/a/b/c.sh", b"#!/bin/sh\n", 0o755)
    assert (home / "a/b/c.sh").read_bytes() == b"#!/bin/sh\n"
    assert files.stat("~/a/b/c.sh")["mode"] == "755"
    files.write("~/a/b/c.sh", b"shorter", 0o644)
    assert (home / "a/b/c.sh").read_bytes() == b"shorter"


def test_writing_over_something_else_is_an_error(files: HomeFiles, home: Path) -> None:
    (home / "dir").mkdir()
    (home / "link").symlink_to("/etc/passwd")
    os.mkfifo(home / "pipe")
    for name in ("dir", "link", "pipe"):
        with pytest.raises(EnvironmentFailure, match=name):
            files.write(f"~/{name}", b"x")
    with pytest.raises(InvalidArguments):
        files.write("~", b"x")


def test_making_a_folder_twice_is_fine(files: HomeFiles, home: Path) -> None:
    files.make_directory("~/x/y")
    files.make_directory("~/x/y")
    assert (home / "x/y").is_dir()
