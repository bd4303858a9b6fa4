"""Argument lists for the two nested bubblewrap sandboxes; nothing is started, only which host paths exist is read.

The *outer* sandbox is the boundary of the environment: our server and the X server run in it. The *inner* one, started
by the server, is the agent's world: window manager, session bus, applications, shells. Only its HOME, its runtime
directory and the X socket are bound from the outer one, so an agent's shell can neither see the server nor read what
the server knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

USER = "user"
UID = 1000
HOST_NAME = "ubuntu"
HOME = Path("/home/user")

# Places of the outer sandbox that no path of the host is likely to be bound over or under, unlike /home or /run/user.
HOME_OUTSIDE = Path("/session/home")
WORK = Path("/session")
# The same inside and outside, because the accessibility bus hands out addresses below it.
RUNTIME = Path("/run/session")
OWN_PLACES = (Path("/tmp/.X11-unix"), Path("/dev/shm"), Path("/var/cache"), Path("/etc/passwd"), HOME_OUTSIDE, RUNTIME)  # noqa: S108
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

OWN_ETC = Path(__file__).parent / "etc"

# Only these; all of /etc would show the host's accounts, keys and services.
_HOST_ETC = (
    "X11",
    "alternatives",
    "ca-certificates",
    "chromium",
    "chromium.d",
    "dbus-1",
    "fonts",
    "gtk-2.0",
    "gtk-3.0",
    "host.conf",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "shells",
    "ssl/certs",
    "terminfo",
    "vim",
    "xdg",
)

# Without usrmerge these are real directories; with it, links into /usr.
_TOP_LEVEL = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

# Prebuilt caches: rebuilding the font cache costs every reset more than everything else together.
_HOST_CACHES = (Path("/var/cache/fontconfig"),)


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use; sizes in bytes, counts per sandbox.

    Attributes:
        home: Size of the file system that holds HOME.
        temporary: Size of each other writable file system: ``/tmp``, ``/run``, ``/var``, ``/dev/shm`` and the like.
        processes: Processes and threads of the agent's world.
        open_files: Open files per process in the agent's world.
    """

    home: int = 512 << 20
    temporary: int = 128 << 20
    processes: int = 1024
    open_files: int = 4096


@dataclass(frozen=True)
class Bind:
    """A host path to show in the sandbox at the same path.

    Attributes:
        path: Absolute path, inside as outside.
        writable: Whether the sandbox may write there.
    """

    path: Path
    writable: bool = False


@dataclass(frozen=True)
class InnerWorld:
    """What the inner sandbox is built around.

    Attributes:
        home: Directory of the outer sandbox to show as ``/home/user``.
        runtime: Directory of the outer sandbox to show, at the same path, as ``XDG_RUNTIME_DIR``.
        x_socket: The X server's socket in the outer sandbox.
        etc: Directory with the world's own files of ``/etc``: a copy of ``OWN_ETC``, since the table of mounts inside
            would tell where on the host the original lies.
        applications: Directory of desktop entries to show as ``/usr/share/applications``; None keeps the host's.
        environment: Environment variables of every process inside.
        limits: What the agent's world may use.
    """

    home: Path
    runtime: Path
    x_socket: Path
    etc: Path
    applications: Path | None
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


def _namespaces() -> list[str]:
    return [
        "--unshare-all",
        "--new-session",
        "--clearenv",
        *("--uid", str(UID), "--gid", str(UID)),
        *("--hostname", HOST_NAME),
    ]


def _system(exists: Callable[[Path], bool]) -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _TOP_LEVEL:
        top = Path("/", name)
        if top.is_symlink():
            arguments += ["--symlink", str(top.readlink()), str(top)]
        elif exists(top):
            arguments += ["--ro-bind", str(top), str(top)]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    return arguments


def _etc(own: Path, source: Callable[[Path], Path]) -> list[str]:
    """Show the listed entries of the host's /etc, and the files of the directory ``own``."""
    names = [name for name in _HOST_ETC if Path("/etc", name).exists()]
    arguments = [word for name in names for word in ("--ro-bind", f"/etc/{name}", f"/etc/{name}")]
    for file in sorted(own.iterdir()):
        arguments += ["--ro-bind", str(source(file)), f"/etc/{file.name}"]
    return arguments


def _tmpfs(path: Path | str, size: int, mode: str = "0755") -> list[str]:
    return ["--perms", mode, "--size", str(size), "--tmpfs", str(path)]


def _setenv(environment: Mapping[str, str]) -> list[str]:
    return [word for name in sorted(environment) for word in ("--setenv", name, environment[name])]


def outer_arguments(
    argv: Sequence[str],
    *,
    binds: Sequence[Bind],
    environment: Mapping[str, str],
    limits: Limits,
    info_fd: int,
    source: Callable[[Path], Path] = lambda path: path,
) -> list[str]:
    """Build the command line that runs ``argv`` in the outer sandbox.

    Args:
        argv: The program to run inside, with its arguments.
        binds: Host paths to show inside, at the same paths; parents before what lies under them.
        environment: Environment variables inside; nothing else is passed on.
        limits: Sizes of the writable file systems.
        info_fd: Descriptor on which bubblewrap reports the process id of the sandbox's top process, as JSON.
        source: Where a path to bind is found by the process that starts bubblewrap; differs from the path itself when
            it was staged because only root can read it.

    Returns:
        A complete argument list, starting with ``bwrap``.
    """
    exists = Path.exists
    arguments = ["bwrap", *_namespaces(), "--die-with-parent", "--info-fd", str(info_fd), *_system(exists)]
    for directory in ("/dev/shm", "/run", "/var"):  # noqa: S108 - mount points inside the sandbox
        arguments += _tmpfs(directory, limits.temporary)
    arguments += _tmpfs("/tmp", limits.temporary, "1777")  # noqa: S108
    # Without root, Xvfb refuses to make this directory itself.
    arguments += ["--perms", "1777", "--dir", "/tmp/.X11-unix"]  # noqa: S108
    arguments += _tmpfs(WORK, limits.temporary) + _tmpfs(HOME_OUTSIDE, limits.home)
    arguments += _tmpfs(RUNTIME, limits.temporary, "0700")
    for cache in filter(exists, _HOST_CACHES):
        arguments += ["--ro-bind", str(cache), str(cache)]
    arguments += _etc(OWN_ETC, source)
    for bind in binds:
        arguments += ["--bind" if bind.writable else "--ro-bind", str(source(bind.path)), str(bind.path)]
    # bubblewrap's own root and /dev are writable tmpfs without a size limit.
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    return [*arguments, *_setenv(environment), "--", *argv]


def inner_options(world: InnerWorld, *, info_fd: int) -> list[str]:
    """Build bubblewrap's options for the agent's world; meant to be used inside the outer sandbox.

    They are handed over on a descriptor (``--args``), so that a list of processes inside does not show them.

    Args:
        world: What to show.
        info_fd: Descriptor on which bubblewrap reports the process id of the world's top process, as JSON.

    Returns:
        The options, without ``bwrap`` and without the program to run.
    """
    exists = Path.exists
    limits = world.limits
    # No --die-with-parent: it fires when the thread that started bubblewrap ends, and a server's worker threads come
    # and go. The world ends with the outer sandbox, or when its first program sees its standard input close.
    options = [*_namespaces(), "--info-fd", str(info_fd), *_system(exists)]
    options += _etc(world.etc, lambda path: path)
    for directory, mode in (("/dev/shm", "1777"), ("/tmp", "1777"), ("/run", "0755"), ("/var", "0755")):  # noqa: S108
        options += _tmpfs(directory, limits.temporary, mode)
    options += ["--perms", "1777", "--dir", "/var/tmp", "--symlink", "/run", "/var/run"]  # noqa: S108
    for cache in filter(exists, _HOST_CACHES):
        options += ["--ro-bind", str(cache), str(cache)]
    if world.applications is not None:
        options += ["--ro-bind", str(world.applications), "/usr/share/applications"]
    options += ["--bind", str(world.home), str(HOME), "--bind", str(world.runtime), str(world.runtime)]
    options += ["--ro-bind", str(world.x_socket), str(world.x_socket)]
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(HOME), *_setenv(world.environment)]


def limited(argv: Sequence[str], limits: Limits, *, count_processes: bool = True) -> list[str]:
    """Prefix ``argv`` so that it and its descendants keep to the limits on open files and core files.

    Args:
        argv: The program and its arguments.
        limits: The limits.
        count_processes: Whether to limit processes too. The kernel counts them per user, so outside a sandbox the
            person's other programs would count.
    """
    caps = [f"--nofile={limits.open_files}", "--core=0"]
    if count_processes:
        caps.append(f"--nproc={limits.processes}")
    return ["prlimit", *caps, "--", *argv]
