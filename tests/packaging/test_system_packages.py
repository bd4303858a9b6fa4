"""The script behind ``make setup`` installs the system packages that are missing, and touches nothing when none is.

The package tools are stand-ins, so that the tests change no machine.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "install-packages"

DPKG_QUERY = """#!/bin/sh
for last; do :; done
case " $INSTALLED " in *" $last "*) printf installed ;; *) exit 1 ;; esac
"""
APT_CACHE = """#!/bin/sh
for last; do :; done
case " $AVAILABLE " in *" $last "*) ;; *) exit 1 ;; esac
"""
APT_GET = """#!/bin/sh
while [ "$1" != update ] && [ "$1" != install ]; do shift; done
echo "$@" >> "$LOG"
"""
SUDO = '#!/bin/sh\nexec "$@"\n'


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder of stand-ins for the package tools."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, text in (("dpkg-query", DPKG_QUERY), ("apt-cache", APT_CACHE), ("apt-get", APT_GET), ("sudo", SUDO)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def install(tools: Path, *lists: str, installed: str = "", available: str = "") -> list[str]:
    """What apt-get is asked to do for package lists with these contents."""
    log = tools / "log"
    files = []
    for number, text in enumerate(lists):
        files.append(tools / f"list{number}.txt")
        files[-1].write_text(text, encoding="utf-8")
    done = subprocess.run(
        [SCRIPT, *files],
        env={
            "PATH": f"{tools}{os.pathsep}{os.defpath}",
            "LOG": str(log),
            "INSTALLED": installed,
            "AVAILABLE": available,
        },
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_nothing_missing_asks_for_nothing(tools: Path) -> None:
    assert install(tools, "xvfb\nmake # builds\n", installed="xvfb make") == []


def test_missing_packages_of_all_lists_are_installed_at_once(tools: Path) -> None:
    asked = install(tools, "# displays\nxvfb\n\nmake\n", "chromium\n", installed="make", available="xvfb chromium")

    assert asked == ["update", "install -y --no-install-recommends xvfb chromium"]


@pytest.mark.parametrize(("available", "chosen"), [("driver-a driver-b", "driver-a"), ("driver-b", "driver-b")])
def test_first_alternative_on_offer_is_taken(tools: Path, available: str, chosen: str) -> None:
    asked = install(tools, "driver-a | driver-b\n", available=available)

    assert asked[-1] == f"install -y --no-install-recommends {chosen}"


def test_any_installed_alternative_will_do(tools: Path) -> None:
    assert install(tools, "driver-a | driver-b\n", installed="driver-b", available="driver-a") == []
