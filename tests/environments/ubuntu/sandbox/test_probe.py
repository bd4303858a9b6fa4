"""The probe names each missing part by itself, with the one remedy that fits this kind of machine."""

from __future__ import annotations

from pathlib import Path
from stat import S_IXOTH

import pytest

from environments.ubuntu.sandbox.probe import Host, fix_for, probe

PLAIN = Host(container=False, apparmor=False, namespaces=10000, allowed=None)
PACKAGES = Path(__file__).resolve().parents[4] / "environments" / "ubuntu" / "packages.txt"


def packages() -> dict[str, str]:
    """Package → reason, as the list gives them."""
    lines = [line for line in PACKAGES.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {line.split("#")[0].strip(): line.partition("#")[2].strip() for line in lines}


def test_a_finding_that_is_well_needs_no_fix_and_a_bad_one_has_one() -> None:
    for finding in probe():
        assert finding.ok == (finding.fix == ""), finding
        assert finding.detail


def test_every_capability_is_looked_at_by_itself() -> None:
    names = [finding.name for finding in probe()]
    assert len(set(names)) == len(names)
    parts = {"bwrap", "Xvfb", "dbus-daemon", "openbox", "user namespaces", "sandbox", "proc in the sandbox"}
    assert parts | {"sandbox in the sandbox"} <= set(names)


def test_missing_programs_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    findings = {finding.name: finding for finding in probe()}
    assert not findings["Xvfb"].ok
    assert findings["Xvfb"].fix == "sudo apt install xvfb"
    assert findings["openbox"].fix == "sudo apt install openbox"
    assert not findings["sandbox"].ok


def test_a_bubblewrap_that_is_refused_is_found_by_trying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That the program is there proves nothing: Ubuntu 24.04 has it and stops it."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    # However deep the test runner put our folder, everybody may enter it.
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & S_IXOTH:
            folder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    findings = {finding.name: finding for finding in probe()}
    assert findings["bwrap"].ok
    assert not findings["sandbox"].ok
    assert "denied" in findings["sandbox"].detail
    assert findings["user namespaces"].ok or findings["user namespaces"].fix


@pytest.mark.parametrize(
    ("host", "capability", "words"),
    [
        (Host(True, False, 10000, None), "user namespaces", "--security-opt seccomp=unconfined"),
        (Host(True, False, 10000, None), "proc in the sandbox", "systempaths=unconfined"),
        (Host(False, True, 10000, None), "user namespaces", "bwrap-userns-restrict"),
        (Host(False, True, 10000, None), "sandbox in the sandbox", "apparmor_restrict_unprivileged_userns=0"),
        (Host(False, False, 0, None), "user namespaces", "user.max_user_namespaces"),
        (Host(False, False, 10000, 0), "user namespaces", "kernel.unprivileged_userns_clone=1"),
        (PLAIN, "private mounts", "SYS_ADMIN"),
        (PLAIN, "sandbox", "bubblewrap"),
    ],
)
def test_the_fix_fits_the_machine(host: Host, capability: str, words: str) -> None:
    assert words in fix_for(capability, host)


def test_the_list_of_packages_has_a_reason_for_each_and_covers_what_the_probe_looks_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed = packages()
    assert all(listed.values())
    assert all(name == name.lower() and " " not in name for name in listed)
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = {finding.fix.removeprefix("sudo apt install ") for finding in probe() if "apt install" in finding.fix}
    assert {name for name in wanted if " " not in name} - {"util-linux"} <= set(listed)
