"""HOME, its removal, the wallpaper and the scratch directories: plain files, tried without a display."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from environments.ubuntu.session import scratch
from environments.ubuntu.session.home import FOLDERS, empty, seed
from environments.ubuntu.session.themes import COLOURS, Theme
from environments.ubuntu.session.wallpaper import draw
from tests.environments.ubuntu.waiting import until

THEMES: tuple[Theme, ...] = ("light", "dark")
TEMPLATE = Path(scratch.__file__).with_name("template")


def seeded(directory: Path, theme: Theme = "light") -> dict[str, bytes]:
    """Path below HOME → content, after seeding."""
    directory.mkdir()
    seed(directory, inside=Path("/home/user"), applications=Path("/usr/share/applications"), theme=theme)
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.mark.parametrize("theme", THEMES)
def test_home_is_the_same_every_time_and_holds_no_open_marks(tmp_path: Path, theme: Theme) -> None:
    first = seeded(tmp_path / "one", theme)
    assert first == seeded(tmp_path / "two", theme)
    for name, content in first.items():
        if not name.endswith(".png"):
            assert not re.findall(rb"@[a-z_]+@", content), name
            assert str(tmp_path).encode() not in content, name


def test_home_has_the_usual_folders_and_they_are_empty(tmp_path: Path) -> None:
    seeded(tmp_path / "home")
    for name in FOLDERS:
        assert list((tmp_path / "home" / name).iterdir()) == []


def test_light_and_dark_name_the_same_colours() -> None:
    assert set(COLOURS["light"]) == set(COLOURS["dark"])


@pytest.mark.parametrize("theme", THEMES)
def test_wallpaper_is_what_the_formula_draws(theme: Theme) -> None:
    """The picture in the template is our own, and can be made again."""
    with Image.open(TEMPLATE / f"wallpaper-{theme}.png") as stored:
        assert stored.convert("RGB").tobytes() == draw(theme).tobytes()


def test_emptying_removes_what_its_owner_closed(tmp_path: Path) -> None:
    """Folders without permissions, links to elsewhere, sockets and odd names; what links point to stays."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    home = tmp_path / "home"
    (home / "closed/deeper").mkdir(parents=True)
    (home / "closed/deeper/file\n").write_text("x")
    (home / "link").symlink_to(elsewhere)
    (home / "closed/link").symlink_to(elsewhere)
    (home / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(home / "pipe")
    (home / "closed/deeper").chmod(0o000)
    (home / "closed").chmod(0o000)
    home.chmod(0o000)
    code = (
        "import sys; from pathlib import Path; from environments.ubuntu.session.home import empty; empty(Path('home'))"
    )
    identity = {"user": 12345, "group": 12345, "extra_groups": []} if os.geteuid() == 0 else {}
    if os.geteuid() == 0:
        for folder, names, files in os.walk(tmp_path):
            for name in [".", *names, *files]:
                os.lchown(Path(folder, name), 12345, 12345)
        descriptor = os.open(tmp_path, os.O_RDONLY)
        # As the owner, not as root, to whom no folder is closed; loaded first, while root can read the project.
        code = (
            "import os; from pathlib import Path; from environments.ubuntu.session.home import empty;"
            f"os.fchdir({descriptor}); os.setgroups([]); os.setgid(12345); os.setuid(12345); empty(Path('home'))"
        )
        subprocess.run([sys.executable, "-c", code], check=True, pass_fds=(descriptor,), timeout=30)
        os.close(descriptor)
    else:
        assert not identity
        subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=30)
    assert list(home.iterdir()) == []
    assert (elsewhere / "kept").read_text() == "x"


def test_emptying_removes_what_is_nested_without_end(tmp_path: Path) -> None:
    """Deeper than the longest path, and than any recursion goes; and wide."""
    home = tmp_path / "home"
    (home / "wide").mkdir(parents=True)
    for number in range(300):
        (home / "wide" / str(number)).mkdir()
    before = os.open(home, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("n" * 200, dir_fd=before)
        after = os.open("n" * 200, os.O_RDONLY, dir_fd=before)
        os.close(before)
        before = after
    os.close(os.open("file", os.O_CREAT, dir_fd=before))
    os.close(before)
    empty(home)
    assert list(home.iterdir()) == []


def test_emptying_makes_what_is_missing(tmp_path: Path) -> None:
    empty(tmp_path / "new")
    assert (tmp_path / "new").is_dir()


def test_sweep_removes_what_the_dead_left_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Directories of killed processes go; those of living ones, and strangers' files, stay."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = subprocess.Popen(["sleep", "600"])
    process.kill()
    # Not waited for: a zombie is as dead.
    until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", "its death")
    dead = tmp_path / f"desktop-session-{process.pid}-abc"
    (dead / "home").mkdir(parents=True)
    stranger = tmp_path / "desktop-session-notes-abc"
    stranger.mkdir()
    mine = scratch.make_scratch()
    assert not dead.exists()
    assert stranger.exists()
    assert mine.stat().st_mode & 0o777 == 0o700
    scratch.sweep()
    assert mine.exists()
    process.wait()
