"""Settings are read from the files they live in; a broken or missing file means not set."""

from __future__ import annotations

from pathlib import Path

import pytest

from crab.errors import InvalidArguments
from environments.ubuntu.files import HomeFiles
from environments.ubuntu.settings import SettingName, SettingValue, read_setting

PCMANFM = ".config/pcmanfm/default/desktop-items-0.conf"
GTK = ".config/gtk-3.0/settings.ini"
MIME = ".config/mimeapps.list"
KEYFILE = ".config/glib-2.0/settings/keyfile"


def put(home: Path, path: str, text: str) -> None:
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "text", "name", "key", "value"),
    [
        (PCMANFM, "[*]\nwallpaper_mode=crop\nwallpaper=/home/user/a=b.png\n", "wallpaper", "", "/home/user/a=b.png"),
        (PCMANFM, "[*]\nwallpaper_mode=crop\n", "wallpaper_mode", "", "crop"),
        (GTK, "[Settings]\ngtk-theme-name = Arc\n", "theme", "", "Arc"),
        (GTK, "[Settings]\ngtk-icon-theme-name=Papirus\n", "icon_theme", "", "Papirus"),
        (GTK, "[Settings]\ngtk-font-name=Sans 10\n", "font", "", "Sans 10"),
        (
            MIME,
            "[Default Applications]\ntext/plain=b.desktop;a.desktop\n",
            "default_application",
            "text/plain",
            "b.desktop",
        ),
        (KEYFILE, "[org/x/view]\nline-numbers=true\n", "gsettings", "org.x.view line-numbers", True),
        (KEYFILE, "[org/x/view]\nname='it\\'s'\n", "gsettings", "org.x.view name", "it's"),
        (KEYFILE, "[org/x/view]\nsize=uint32 12\n", "gsettings", "org.x.view size", 12),
        (KEYFILE, "[org/x/view]\nscale=1.5\n", "gsettings", "org.x.view scale", 1.5),
        (KEYFILE, "[org/x/view]\nlist=['a', 'b']\n", "gsettings", "org.x.view list", "['a', 'b']"),
    ],
)
def test_a_setting_is_read_from_its_file(
    tmp_path: Path, path: str, text: str, name: SettingName, key: str, value: SettingValue
) -> None:
    assert read_setting(HomeFiles(tmp_path), name, key) is None
    put(tmp_path, path, text)
    assert read_setting(HomeFiles(tmp_path), name, key) == value


def test_the_wallpaper_of_another_profile_is_found(tmp_path: Path) -> None:
    put(tmp_path, ".config/pcmanfm/LXDE/desktop-items-0.conf", "[*]\nwallpaper=/a.png\n")
    assert read_setting(HomeFiles(tmp_path), "wallpaper") == "/a.png"
    put(tmp_path, PCMANFM, "[*]\nwallpaper=/b.png\n")
    assert read_setting(HomeFiles(tmp_path), "wallpaper") == "/b.png"


@pytest.mark.parametrize("text", ["", "no section=1", "[unclosed\nwallpaper=/a", "\0\0", "[*]\nwallpaper\n=x\n[*"])
def test_a_malformed_file_means_not_set(tmp_path: Path, text: str) -> None:
    put(tmp_path, PCMANFM, text)
    assert read_setting(HomeFiles(tmp_path), "wallpaper") is None


def test_a_folder_in_place_of_the_file_means_not_set(tmp_path: Path) -> None:
    (tmp_path / GTK).mkdir(parents=True)
    assert read_setting(HomeFiles(tmp_path), "theme") is None


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("wallpaper", "x"),
        ("default_application", ""),
        ("gsettings", ""),
        ("gsettings", "org.x"),
        ("gsettings", "a b c"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(tmp_path: Path, name: SettingName, key: str) -> None:
    with pytest.raises(InvalidArguments, match=name):
        read_setting(HomeFiles(tmp_path), name, key)
