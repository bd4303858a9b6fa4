"""What of the embedded desktop works on this machine: each capability tried by itself, each failure with its fix."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crab.environment import Finding

_NOBODY = 65534
_SECONDS = 20

PACKAGES = {
    "bwrap": "bubblewrap",
    "Xvfb": "xvfb",
    "dbus-daemon": "dbus",
    "openbox": "openbox",
    "tint2": "tint2",
    "rofi": "rofi",
    "pcmanfm": "pcmanfm",
    "lxterminal": "lxterminal",
    "mousepad": "mousepad",
    "viewnior": "viewnior",
    "galculator": "galculator",
    "prlimit": "util-linux",
    "setsid": "util-linux",
}
_FILES = {
    "/usr/libexec/at-spi-bus-launcher": "at-spi2-core",
    "/usr/share/themes/Arc-Lighter": "arc-theme",
    "/usr/share/icons/Papirus": "papirus-icon-theme",
    "/usr/share/fonts/truetype/dejavu": "fonts-dejavu-core",
}

_SANDBOX = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/")
_NESTED = ("--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc")  # noqa: S108 - mount points inside the sandbox


@dataclass(frozen=True)
class Host:
    """Facts about this machine that decide which fix applies.

    Attributes:
        container: Whether this runs in a container (Docker, Podman).
        apparmor: Whether AppArmor keeps unprivileged programs from user namespaces (Ubuntu 23.10 and later).
        namespaces: ``user.max_user_namespaces``; None when the kernel does not say.
        allowed: ``kernel.unprivileged_userns_clone`` of Debian kernels; None when the kernel has no such switch.
    """

    container: bool
    apparmor: bool
    namespaces: int | None
    allowed: int | None


def look() -> Host:
    """Read the facts from ``/proc`` and the markers that container engines leave."""
    return Host(
        container=Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(),
        apparmor=_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1,
        namespaces=_number("/proc/sys/user/max_user_namespaces"),
        allowed=_number("/proc/sys/kernel/unprivileged_userns_clone"),
    )


def probe() -> tuple[Finding, ...]:
    """Try everything the embedded desktop needs; takes well under a second where it works.

    Returns:
        One finding per capability, in the order in which they build on each other. Without user namespaces the later
        ones fail as well, each with the fix that its own failure calls for.
    """
    host = look()
    findings = [_program(name, package) for name, package in PACKAGES.items()]
    findings += [_file(path, package) for path, package in _FILES.items()]
    if os.geteuid() == 0:
        findings.append(
            _tried(
                "private mounts",
                ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/tmp"],  # noqa: S108
                host,
                as_nobody=False,
            )
        )
    tries = (
        ("user namespaces", ["unshare", "--user", "--map-root-user", "true"]),
        ("sandbox", [*_SANDBOX, "true"]),
        ("proc in the sandbox", [*_SANDBOX, "--proc", "/proc", "--dev", "/dev", "true"]),
        ("sandbox in the sandbox", [*_SANDBOX, *_NESTED, "--", *_SANDBOX, *_NESTED, "--", "true"]),
    )
    findings += [_tried(name, argv, host, as_nobody=os.geteuid() == 0) for name, argv in tries]
    return tuple(findings)


def fix_for(capability: str, host: Host) -> str:
    """The exact remedy when ``capability`` (a finding's name) failed on a machine like ``host``."""
    if capability == "private mounts":
        return "run as an ordinary user, or in a container add --cap-add SYS_ADMIN"
    if host.container:
        options = "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
        return f"docker run {options} --security-opt systempaths=unconfined ..., or choose isolation 'process' by name"
    if host.namespaces == 0:
        return "sudo sysctl -w user.max_user_namespaces=10000"
    if host.allowed == 0:
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if host.apparmor and capability == "sandbox in the sandbox":
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    if host.apparmor:
        profile = "bwrap-userns-restrict"
        return (
            f"sudo apt install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/{profile}"
            f" /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/{profile}"
        )
    return "sudo apt install bubblewrap util-linux, then look at the kernel's log for what refused it (dmesg)"


def _program(name: str, package: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path is not None, path or "not installed", "" if path else f"sudo apt install {package}")


def _file(path: str, package: str) -> Finding:
    found = Path(path).exists()
    return Finding(path, found, "there" if found else "missing", "" if found else f"sudo apt install {package}")


def _tried(name: str, argv: Sequence[str], host: Host, *, as_nobody: bool) -> Finding:
    """Run ``argv``, as the user nobody if so asked, since root's own sandboxes behave otherwise."""
    identity = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if as_nobody else {}
    try:
        done = subprocess.run(  # type: ignore[call-overload]
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            cwd="/",
            check=False,
            **identity,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, str(error), fix_for(name, host))
    if done.returncode == 0:
        return Finding(name, True, "works")
    words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return Finding(name, False, words[-1], fix_for(name, host))


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
