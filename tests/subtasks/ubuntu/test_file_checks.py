"""Checks of files, folders and wallpaper on a real folder, with everything an agent may leave in it."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from subtasks.ubuntu.checks import (
    folder_exists,
    folder_holds_exactly,
    folder_still_holds,
    text_file_holds,
    wallpaper_shows,
)
from subtasks.ubuntu.pictures import landscape
from tests.subtasks.ubuntu.answers import HomeProbes, verdict

TEXT = "Meet Zoë at the pier – 9:30"
NOTE = "/home/user/note.txt"
HUGE = 1 << 33


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def symlink_to_right_file(path: Path) -> None:
    """Leaves a link to a file with the right text."""
    path.with_name("right.txt").write_text(TEXT, encoding="utf-8")
    path.symlink_to("right.txt")


def bound_socket(path: Path) -> None:
    """Leaves a socket that nobody listens on."""
    folder = os.getcwd()
    os.chdir(path.parent)  # the path may be longer than a socket's may be
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(folder)


def sparse(path: Path) -> None:
    """Leaves a file of 8 GiB without content."""
    path.touch()
    os.truncate(path, HUGE)


def text(content: str) -> Callable[[Path], object]:
    """Leaves a text."""
    return lambda path: path.write_bytes(content.encode())


def data(content: bytes) -> Callable[[Path], object]:
    """Leaves bytes."""
    return lambda path: path.write_bytes(content)


WRONG_FILES = {
    "missing": lambda path: None,
    "empty": data(b""),
    "other_text": text("Meet Zoë at the gate – 9:30"),
    "beginning_only": text(TEXT[:-1]),
    "text_twice": text(TEXT + "\n" + TEXT + "\n"),
    "other_case": text(TEXT.swapcase()),
    "blank_at_end": text(TEXT + " \n"),
    "blank_at_start": text(" " + TEXT),
    "empty_line_after": text(TEXT + "\n\n"),
    "carriage_return": text(TEXT + "\r\n"),
    "byte_order_mark": text("\ufeff" + TEXT),
    "look_alike": text(TEXT.replace("e", "е")),
    "decomposed": text(TEXT.replace("ë", "e\u0308")),
    "hyphen_for_dash": text(TEXT.replace("–", "-")),
    "other_encoding": data(TEXT.replace("–", "-").encode("latin-1")),
    "utf_16": data(TEXT.encode("utf-16")),
    "binary": data(bytes(range(256)) * 64),
    "zero_byte": text(TEXT + "\0"),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "socket": bound_socket,
    "link_to_right_file": symlink_to_right_file,
    "link_to_nothing": lambda path: path.symlink_to("nowhere"),
    "link_to_itself": lambda path: path.symlink_to(path.name),
    "link_to_endless_device": lambda path: path.symlink_to("/dev/zero"),
    "huge": sparse,
}
"""What an agent may leave where a text should be."""


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_right_text_passes_with_or_without_a_last_line_feed(home: Path, end: str) -> None:
    (home / "note.txt").write_bytes((TEXT + end).encode())

    assert verdict(text_file_holds, HomeProbes(home), path=NOTE, content=TEXT) is True
    assert verdict(text_file_holds, HomeProbes(home), path=NOTE, content=TEXT + "\n") is True


@pytest.mark.parametrize("leave", WRONG_FILES.values(), ids=WRONG_FILES)
def test_any_other_file_is_false_and_never_unknown(home: Path, leave: Callable[[Path], object]) -> None:
    leave(home / "note.txt")

    assert verdict(text_file_holds, HomeProbes(home), path=NOTE, content=TEXT) is False


def test_the_right_text_in_another_place_is_false(home: Path) -> None:
    for name in ("Note.txt", "note.txt~", ".note.txt", "note.txt.txt"):
        (home / name).write_text(TEXT, encoding="utf-8")

    assert verdict(text_file_holds, HomeProbes(home), path=NOTE, content=TEXT) is False


def test_a_folder_that_leads_elsewhere_is_false(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A link in place of a folder above the file is not followed."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "note.txt").write_text(TEXT, encoding="utf-8")
    (home / "sub").symlink_to(elsewhere)

    assert verdict(text_file_holds, HomeProbes(home), path="/home/user/sub/note.txt", content=TEXT) is False


FILES = {"a one.md": "first\n", "Küche.md": "second\n"}
DIGESTS = {name: hashlib.sha256(content.encode()).hexdigest() for name, content in FILES.items()}
FOLDER = "/home/user/kept"


@pytest.fixture
def kept(home: Path) -> Path:
    """A folder as it should be."""
    folder = home / "kept"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content.encode())
    return folder


def test_the_right_folder_passes(home: Path, kept: Path) -> None:
    probes = HomeProbes(home)

    assert verdict(folder_exists, probes, path=FOLDER) is True
    assert verdict(folder_holds_exactly, probes, path=FOLDER, files=DIGESTS) is True
    assert verdict(folder_still_holds, probes, path=FOLDER, files=DIGESTS) is True


def remove_all(folder: Path) -> None:
    """Leaves the folder empty."""
    for path in folder.iterdir():
        path.unlink()


def replace_by(name: str, leave: Callable[[Path], object]) -> Callable[[Path], None]:
    """Leaves something else under a file's name."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        leave(folder / name)

    return change


def swap(folder: Path) -> None:
    """Leaves each file with the content of the other."""
    first, second = (folder / name for name in FILES)
    first.rename(folder / "x")
    second.rename(first)
    (folder / "x").rename(second)


def rename(name: str, other: str) -> Callable[[Path], object]:
    """Leaves a file under another name."""
    return lambda folder: (folder / name).rename(folder / other)


LACKING = {
    "nothing_copied": remove_all,
    "one_missing": lambda folder: (folder / "a one.md").unlink(),
    "one_empty": lambda folder: (folder / "a one.md").write_bytes(b""),
    "one_changed": lambda folder: (folder / "a one.md").write_bytes(b"First\n"),
    "one_longer": lambda folder: (folder / "a one.md").write_bytes(b"first\n\n"),
    "contents_swapped": swap,
    "name_in_other_case": rename("a one.md", "A one.md"),
    "name_with_look_alike": rename("a one.md", "а one.md"),
    "name_decomposed": rename("Küche.md", "Ku\u0308che.md"),
    "name_with_blank": rename("a one.md", "a one.md "),
    "link_in_place_of_file": replace_by("a one.md", lambda path: path.symlink_to("Küche.md")),
    "folder_in_place_of_file": replace_by("a one.md", lambda path: path.mkdir()),
    "pipe_in_place_of_file": replace_by("a one.md", os.mkfifo),
    "huge_in_place_of_file": replace_by("a one.md", sparse),
}
"""Folders in which a wanted file is not as it should be."""


TOO_MUCH = {
    "decoy_too": lambda folder: (folder / "b.MD").write_bytes(b"x"),
    "hidden_file_too": lambda folder: (folder / ".a.md").write_bytes(b"x"),
    "folder_too": lambda folder: (folder / "old.md").mkdir(),
    "pipe_too": lambda folder: os.mkfifo(folder / "p"),
    "name_that_is_no_text_too": lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch(),
    "many_too": lambda folder: [(folder / f"{number}.txt").touch() for number in range(300)],
}
"""Folders in which the wanted files are right, but not alone."""


@pytest.mark.parametrize("change", LACKING.values(), ids=LACKING)
def test_a_folder_with_a_wrong_file_is_false(home: Path, kept: Path, change: Callable[[Path], object]) -> None:
    change(kept)
    probes = HomeProbes(home)

    assert verdict(folder_holds_exactly, probes, path=FOLDER, files=DIGESTS) is False
    assert verdict(folder_still_holds, probes, path=FOLDER, files=DIGESTS) is False


@pytest.mark.parametrize("change", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_folder_with_more_is_false_where_the_set_counts(
    home: Path, kept: Path, change: Callable[[Path], object]
) -> None:
    change(kept)
    probes = HomeProbes(home)

    assert verdict(folder_holds_exactly, probes, path=FOLDER, files=DIGESTS) is False
    assert verdict(folder_still_holds, probes, path=FOLDER, files=DIGESTS) is True


class WantedFirst(HomeProbes):
    """Lists the wanted files before all others, as a file system may."""

    def probe(self, name: str, /, **arguments: Any) -> Any:
        if name != "file_list":
            return super().probe(name, **arguments)
        answer = super().probe(name, path=arguments["path"])
        entries = sorted(answer["entries"], key=lambda entry: entry["path"] not in DIGESTS)[: arguments["limit"]]
        return answer | {"entries": sorted(entries, key=lambda entry: str(entry["path"]))}


def test_one_file_too_much_is_found_behind_all_the_others(home: Path, kept: Path) -> None:
    """The listing is asked for more than what is wanted."""
    (kept / "one more").touch()

    assert verdict(folder_holds_exactly, WantedFirst(home), path=FOLDER, files=DIGESTS) is False


@pytest.mark.parametrize("leave", WRONG_FILES.values(), ids=WRONG_FILES)
def test_what_is_no_folder_is_false(home: Path, leave: Callable[[Path], object]) -> None:
    """Whatever lies where the folder should be (an empty folder holds too little)."""
    leave(home / "kept")
    probes = HomeProbes(home)

    assert verdict(folder_exists, probes, path=FOLDER) is (home / "kept").is_dir()
    assert verdict(folder_holds_exactly, probes, path=FOLDER, files=DIGESTS) is False
    assert verdict(folder_still_holds, probes, path=FOLDER, files=DIGESTS) is False


def test_a_link_to_the_right_folder_is_false(home: Path, kept: Path) -> None:
    kept.rename(home / "other")
    (home / "kept").symlink_to("other")

    assert verdict(folder_exists, HomeProbes(home), path=FOLDER) is False
    assert verdict(folder_holds_exactly, HomeProbes(home), path=FOLDER, files=DIGESTS) is False


PICTURE = landscape("the right one")
PICTURE_DIGEST = hashlib.sha256(PICTURE).hexdigest()


def set_wallpaper(home: Path, content: bytes) -> None:
    """Writes the file in which the desktop keeps its settings."""
    folder = home / ".config/pcmanfm/default"
    folder.mkdir(parents=True)
    (folder / "desktop-items-0.conf").write_bytes(content)


def settings(path: str, mode: str = "crop") -> bytes:
    """The settings as the desktop writes them."""
    return f"[*]\nwallpaper_mode={mode}\nwallpaper_common=1\nwallpaper={path}\n".encode()


@pytest.fixture
def pictures(home: Path) -> Path:
    folder = home / "Pictures"
    folder.mkdir()
    (folder / "right one.png").write_bytes(PICTURE)
    (folder / "other.png").write_bytes(landscape("another"))
    return folder


@pytest.mark.parametrize("mode", ["crop", "fit", "stretch", "center", "tile"])
def test_the_right_picture_passes_in_every_mode_that_shows_it(home: Path, pictures: Path, mode: str) -> None:
    set_wallpaper(home, settings("/home/user/Pictures/right one.png", mode))

    assert verdict(wallpaper_shows, HomeProbes(home), sha256=PICTURE_DIGEST) is True


def test_a_copy_of_the_right_picture_passes(home: Path, pictures: Path) -> None:
    """What shows is the picture; where a program keeps it is not asked. Addresses of files are read like paths."""
    (home / "copy.png").write_bytes(PICTURE)
    set_wallpaper(home, settings("file:///home/user/copy%2Epng"))

    assert verdict(wallpaper_shows, HomeProbes(home), sha256=PICTURE_DIGEST) is True


WRONG_SETTINGS = {
    "nothing_set": b"",
    "binary": bytes(range(256)),
    "picture_missing": b"[*]\nwallpaper_mode=crop\n",
    "mode_missing": b"[*]\nwallpaper=/home/user/Pictures/right one.png\n",
    "colour_only": settings("/home/user/Pictures/right one.png", "color"),
    "other_picture": settings("/home/user/Pictures/other.png"),
    "no_such_file": settings("/home/user/Pictures/right.png"),
    "other_case": settings("/home/user/Pictures/Right one.png"),
    "folder": settings("/home/user/Pictures"),
    "home": settings("~"),
    "empty_path": settings(""),
    "relative_path": settings("Pictures/right one.png"),
    "outside_home": settings("/usr/share/pixmaps/right one.png"),
    "device": settings("/dev/zero"),
    "up_and_out": settings("/home/user/../user/Pictures/right one.png"),
    "other_address": settings("https://example.org/right one.png"),
    "zero_byte_in_address": settings("file:///home/user/%00"),
    "surrogate_in_address": settings("file:///home/user/%ED%A0%80"),
    "endless_name": settings("/home/user/" + "x" * 100_000),
}
"""What may stand in the settings although the picture is not the wallpaper."""


@pytest.mark.parametrize("content", WRONG_SETTINGS.values(), ids=WRONG_SETTINGS)
def test_any_other_setting_is_false_and_never_unknown(home: Path, pictures: Path, content: bytes) -> None:
    set_wallpaper(home, content)

    assert verdict(wallpaper_shows, HomeProbes(home), sha256=PICTURE_DIGEST) is False


@pytest.mark.parametrize(
    "leave", [data(b""), data(PICTURE[:-1]), data(PICTURE + b"\0"), os.mkfifo, sparse], ids=lambda leave: None
)
def test_a_changed_picture_is_false(home: Path, pictures: Path, leave: Callable[[Path], object]) -> None:
    """The setting points at the right place, but what lies there is no longer what the runner prepared."""
    (pictures / "right one.png").unlink()
    leave(pictures / "right one.png")
    set_wallpaper(home, settings("/home/user/Pictures/right one.png"))

    assert verdict(wallpaper_shows, HomeProbes(home), sha256=PICTURE_DIGEST) is False
