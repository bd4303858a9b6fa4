"""The embedded provider as the runner uses it: again and again, side by side, killed, as root and as anybody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from crab.environment import Environment
from crab.errors import ProviderUnavailable, UsageError
from environments.ubuntu import UBUNTU
from environments.ubuntu.sandbox.launch import KEEPER
from environments.ubuntu.sandbox.probe import probe
from environments.ubuntu.session.scratch import SERVER, SESSION, make_scratch, sweep
from tests.environments.ubuntu import host
from tests.environments.ubuntu.desktops import SEED, START_TIME
from tests.environments.ubuntu.sandbox.sandboxed import need_bubblewrap
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

PROJECT = Path(__file__).resolve().parents[4]
TRIAL = "tests.environments.ubuntu.providers.trial"
RESETS = 50
MIB = 1 << 20

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root does")


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; short, since paths of sockets have to be."""
    directory = Path(tempfile.mkdtemp(prefix="crab-test-"))
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    shutil.rmtree(directory)


def start(**options: object) -> Environment:
    """A started desktop, reset."""
    environment = UBUNTU.provider().start(options)
    environment.reset(SEED, START_TIME)
    return environment


def server_pid(scratch: Path) -> int:
    """The process in the sandbox that serves the desktop; the last of the line that started it."""
    lines = host.descendants().items()
    return [pid for pid, line in lines if "ubuntu.server" in line and str(scratch) in line and "bwrap" not in line][-1]


def count(scratch: Path) -> dict[str, int]:
    """What could pile up, seen from the host; memory in MiB."""
    server = Path("/proc", str(server_pid(scratch)))
    return {
        "processes": len(host.descendants()),
        "own descriptors": len(os.listdir("/proc/self/fd")),
        "server's descriptors": len(os.listdir(server / "fd")),
        "server's threads": len(os.listdir(server / "task")),
        "server's memory": host.memory_of([int(server.name)]) // MIB,
        "files in the sandbox": sum(
            len(files) for place in ("tmp", "run", "session") for _, _, files in os.walk(server / "root" / place)
        ),
        "files": sum(len(names) for _, _, names in os.walk(scratch)),
    }


def test_fifty_resets_pile_up_nothing(scratch: Path) -> None:
    """Processes, descriptors, threads, memory and files stay level, each time with something left behind."""
    need_bubblewrap()
    environment = start()
    try:
        counts = []
        for number in range(RESETS):
            environment.reset(number, START_TIME)
            counts.append(count(scratch))
            environment.prepare("write_file", {"path": f"~/left/{number}", "content": "x" * 10_000})
            environment.prepare("set_clipboard", {"text": str(number)})
            if number % 10 == 0:
                environment.act("open_application", {"application": "text editor"})
                environment.act("write_text", {"text": "left behind"})
                environment.probe("accessibility", {})
    finally:
        environment.close()
    for what in counts[0]:
        early, late = (max(found[what] for found in half) for half in (counts[: RESETS // 2], counts[RESETS // 2 :]))
        assert late <= early + (8 if what == "server's memory" else 2), (what, [found[what] for found in counts])


def test_four_side_by_side_do_not_meet(scratch: Path) -> None:
    """Each has its own files, clipboard, windows and programs, and the end of one is no end of another."""
    need_bubblewrap()
    with ExitStack() as stack, ThreadPoolExecutor(4) as pool:
        desktops = list(pool.map(lambda _: start(), range(4)))
        for desktop in desktops:
            stack.callback(desktop.close)
        applications = ("calculator", "text editor", "file manager", "terminal")
        for number, desktop in enumerate(desktops):
            desktop.prepare("write_file", {"path": "~/number", "content": str(number)})
            desktop.prepare("set_clipboard", {"text": str(number)})
        for desktop, application in zip(desktops, applications, strict=True):
            desktop.act("open_application", {"application": application})
        classes = set()
        for number, desktop in enumerate(desktops):
            assert desktop.probe("file_read", {"path": "~/number"})["content"] == str(number)
            assert desktop.probe("clipboard", {}) == str(number)
            assert len(desktop.probe("windows", {})) == 3
            classes.add(desktop.probe("focused_window", {})["class"])
        assert len(classes) == 4
        desktops[0].close()
        for desktop in desktops[1:]:
            assert desktop.probe("processes", {})
            desktop.observe()


@pytest.mark.parametrize("isolation", ["bubblewrap", "process"])
def test_killing_the_holder_leaves_nothing(isolation: str, scratch: Path) -> None:
    """After kill -9 of the trial: no process and no mount; its files are gone with the next start."""
    if isolation == "bubblewrap":
        need_bubblewrap()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "TMPDIR": str(scratch)}
    argv = [sys.executable, "-m", TRIAL, json.dumps({"isolation": isolation}), "stay"]
    trial = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=environment, text=True)
    with trial:
        assert trial.stdout is not None
        facts = json.loads(trial.stdout.readline())
        servers = host.running(str(scratch))
        trial.kill()
    assert facts["isolation"] == isolation
    assert facts["window"]["class"] == "Galculator"
    assert servers
    # Without walls the session's files lie among the host's, named after the server.
    sessions = [f"{SESSION}{pid}-" for pid in servers]
    until(lambda: not any(host.running(word) for word in (str(scratch), *sessions)), "the end of all processes")
    assert not [line for line in host.mounts() if scratch.name in line]
    assert len(list(scratch.iterdir())) == 1

    def swept() -> bool:
        # What every start begins with; a server that is not quite dead keeps its directory until the next.
        make_scratch(SERVER).rmdir()
        return not list(scratch.iterdir())

    until(swept, "a sweep of the server's directory")

    def cleared() -> bool:
        tempfile.tempdir = "/tmp"
        sweep()
        return not [path for word in sessions for path in Path("/tmp").glob(f"{word}*")]

    until(cleared, "a sweep of the session's directory")


def test_a_sweep_leaves_what_others_use(scratch: Path) -> None:
    need_bubblewrap()
    environment = start()
    try:
        (directory,) = scratch.iterdir()
        # As if its owner were dead, while the server still answers.
        stolen = directory.with_name(f"{SERVER}{2**22 + 1}-x")
        directory.rename(stolen)
        sweep(SERVER)
        assert stolen.exists()
        stolen.rename(directory)
    finally:
        environment.close()
    assert list(scratch.iterdir()) == []


@as_root
def test_root_works_from_a_clone_only_root_can_read(tmp_path: Path) -> None:
    """The code comes from the clone itself, and nothing in the sandbox runs as root."""
    need_bubblewrap()
    clone = tmp_path / "clone"
    for name in ("crab", "environments", "tests/environments/ubuntu/providers"):
        shutil.copytree(PROJECT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    module = clone / "environments/ubuntu/__init__.py"
    module.write_text(module.read_text().replace("A Linux desktop", "A cloned desktop"))
    for folder, _, files in os.walk(clone):
        os.chmod(folder, 0o700)
        for file in files:
            os.chmod(Path(folder, file), 0o600)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(clone), "PYTHONSAFEPATH": "1"}
    argv = [sys.executable, str(clone / "tests/environments/ubuntu/providers/trial.py"), "{}", "stay"]
    # Desktops of other tests of this process may run as root beside it.
    others = set(host.descendants())
    trial = subprocess.Popen(argv, cwd="/", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with trial:
        assert trial.stdout is not None
        facts = json.loads(trial.stdout.readline())
        started = set(host.descendants()) - others - {trial.pid}
        owners = {Path(f"/proc/{pid}").stat().st_uid for pid in started}
    assert facts["description"].startswith("A cloned desktop")
    assert facts["isolation"] == "bubblewrap"
    assert 0 not in owners
    assert trial.returncode == 0


@as_root
def test_an_ordinary_user_needs_no_root(tmp_path: Path) -> None:
    """The whole of it as an unprivileged user id without an account, from readable copies of everything."""
    need_bubblewrap()
    uid = 12345
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    os.chown(scratch, uid, uid)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    # A staged interpreter may lack its shared library, which is where only root can read it; the system's does not.
    system = Path(f"/usr/bin/python{version}")
    interpreter = str(system) if system.exists() else f"/tmp/0/bin/python{version}"
    site = Path(sys.prefix, "lib", f"python{version}", "site-packages")
    order = {
        "uid": uid,
        "stage": [sys.base_prefix, str(PROJECT), str(site), str(scratch)],
        "writable": [str(scratch)],
        "info_fd": None,
        "input_fd": None,
        "argv": [interpreter, "-m", TRIAL, "{}"],
        "environment": {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/tmp/1:/tmp/2", "TMPDIR": "/tmp/3"},
    }
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(KEEPER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        assert keeper.stderr is not None
        keeper.stdin.write(json.dumps(order).encode() + b"\n")
        keeper.stdin.flush()
        line = keeper.stdout.readline()
        assert line, keeper.stderr.read().decode()
        assert keeper.wait(20) == 0
    facts = json.loads(line)
    assert facts["isolation"] == "bubblewrap"
    assert facts["window"]["class"] == "Galculator"
    assert list(scratch.iterdir()) == []


def test_everything_runs_in_bubblewrap_wherever_it_works(scratch: Path) -> None:
    """Fails where the walls would stand but were left out; where they cannot, nothing weaker is started unasked."""
    works = all(found.ok for found in probe() if found.name.endswith("sandbox") or found.name == "bwrap")
    if not works:
        with pytest.raises(ProviderUnavailable):
            start()
        return
    before = set(host.descendants())
    environment = start()
    try:
        assert environment.describe().provider.isolation == "bubblewrap"
        names: dict[str, set[str]] = {}
        for pid in set(host.descendants()) - before:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            names.setdefault(name, set()).add(namespaces(pid))
        own = namespaces(os.getpid())
        server = {namespaces(server_pid(scratch))}
        assert own not in names["Xvfb"] == server
        for part in ("openbox", "pcmanfm", "tint2", "dbus-daemon"):
            assert names[part].isdisjoint({own, *server}), part
    finally:
        environment.close()


def namespaces(pid: int) -> str:
    """The namespaces a process is in."""
    return " ".join(os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("user", "pid", "mnt", "net", "ipc", "uts"))


@pytest.mark.parametrize("options", [{"memory": 1}, {"memory": "much"}, {"isolation": "none"}, {"root": True}])
def test_wrong_options_are_refused(options: dict[str, object], scratch: Path) -> None:
    with pytest.raises(UsageError, match="ubuntu/embedded"):
        UBUNTU.provider().start(options)
    assert list(scratch.iterdir()) == []
