"""Starting and ending the outer sandbox: as root, as an ordinary user, from closed directories, and by ``kill -9``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.errors import ProviderUnavailable
from environments.ubuntu.sandbox.launch import KEEPER, launch_outer, wait_for
from environments.ubuntu.session.scratch import sweep
from tests.environments.ubuntu.sandbox.sandboxed import need_bubblewrap, sandboxed
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

PROJECT = Path(__file__).resolve().parents[4]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root does")

# Starts a session in a sandbox from wherever it runs, and says from where the sandbox took its code.
TRIAL = """
import json, sys, tempfile
from pathlib import Path
from environments.ubuntu.sandbox.launch import launch_outer, wait_for
inside = '''
import json, os, sys
from pathlib import Path
import environments.ubuntu.session.embedded as module
session = module.EmbeddedSession()
handle = session.start(1)
facts = {"file": module.__file__, "health": session.health(), "uid": os.getuid(), "pid": os.getpid()}
facts["python"] = sys.executable
facts["socket"] = f"/tmp/.X11-unix/X{handle.display[1:]}"
part = Path(sys.argv[1], "facts.new")
part.write_text(json.dumps(facts))
part.rename(Path(sys.argv[1], "facts"))
sys.stdin.read()
import time
time.sleep(600)
'''
directory = Path(tempfile.mkdtemp())
with launch_outer([sys.executable, "-c", inside, str(directory)], socket_directory=directory) as sandbox:
    wait_for(sandbox, directory / "facts", 30)
    print((directory / "facts").read_text(), flush=True)
    if "--stay" in sys.argv:
        sys.stdin.read()
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A private directory to share with a sandbox."""
    with tempfile.TemporaryDirectory(prefix="crab-test-") as name:
        yield Path(name)


@pytest.fixture
def closed_clone(tmp_path: Path) -> Path:
    """The project copied as under umask 077: nobody but the owner can read any of it."""
    clone = tmp_path / "clone"
    for name in ("crab", "environments"):
        shutil.copytree(PROJECT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder, _, files in os.walk(clone):
        os.chmod(folder, 0o700)
        for file in files:
            os.chmod(Path(folder, file), 0o600)
    return clone


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def hosts_processes(word: str) -> list[int]:
    """Ids of the host's processes that carry ``word`` on their command line, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_program_sees_its_packages_and_shares_the_directory(directory: Path) -> None:
    """The interpreter, what is installed for it and the project are there, at their own paths."""
    need_bubblewrap()
    code = "import PIL, Xlib, crab, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(crab.__file__)"
    with launch_outer(python(code, str(directory / "out")), socket_directory=directory) as sandbox:
        wait_for(sandbox, directory / "out", 20)
        until(lambda: not sandbox.alive(), "the program's end")
    assert (directory / "out").read_text() == str(PROJECT / "crab" / "__init__.py")


def test_last_words_are_kept(directory: Path) -> None:
    """What the program wrote to standard error stays readable after it has died and after close."""
    need_bubblewrap()
    sandbox = launch_outer(python("raise SystemExit('out of milk')"), socket_directory=directory)
    until(lambda: not sandbox.alive(), "the program's end")
    assert "out of milk" in sandbox.stderr_tail()
    sandbox.close()
    sandbox.close()
    assert "out of milk" in sandbox.stderr_tail()


def test_readable_files_are_shown_and_others_are_not(directory: Path, tmp_path: Path) -> None:
    need_bubblewrap()
    (tmp_path / "shown").write_text("yes")
    (tmp_path / "hidden").write_text("no")
    code = f"""
import os
from pathlib import Path
seen = [Path({str(tmp_path / "shown")!r}).read_text(), str(os.path.exists({str(tmp_path / "hidden")!r}))]
Path({str(directory)!r}, "new").write_text(" ".join(seen))
os.rename({str(directory / "new")!r}, {str(directory / "out")!r})
"""
    with launch_outer(python(code), socket_directory=directory, readable=[tmp_path / "shown"]) as sandbox:
        wait_for(sandbox, directory / "out", 20)
    assert (directory / "out").read_text() == "yes False"


def test_missing_bubblewrap_is_named_with_its_fix(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing weaker is started in its place."""
    monkeypatch.setenv("PATH", str(directory))
    with pytest.raises(ProviderUnavailable) as caught:
        launch_outer(python("pass"), socket_directory=directory)
    assert "apt install bubblewrap" in caught.value.fix


def test_process_isolation_kills_processes_that_hid_in_other_sessions(directory: Path) -> None:
    """Without walls, a daemon that left its parent, process group and session is still killed."""
    code = f"""
import subprocess, time, pathlib
subprocess.run(["setsid", "-f", "sleep", "765432"])
pathlib.Path({str(directory / "out")!r}).touch()
time.sleep(600)
"""
    with launch_outer(python(code), socket_directory=directory, isolation="process") as sandbox:
        wait_for(sandbox, directory / "out", 20)
        assert hosts_processes("765432")
    assert not [pid for pid in hosts_processes("765432") if Path(f"/proc/{pid}/exe").exists()]


@as_root
def test_root_works_from_a_clone_only_root_can_read(closed_clone: Path) -> None:
    """An unprivileged user takes over inside, and the code comes from the clone itself."""
    need_bubblewrap()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(closed_clone), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(python(TRIAL), cwd="/", env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert Path(facts["file"]).is_relative_to(closed_clone)
    assert facts["health"] is None
    assert facts["uid"] == 1000
    assert facts["python"] == sys.executable


@as_root
def test_root_gives_up_root(directory: Path) -> None:
    """Seen from the host, no process of the sandbox belongs to root."""
    need_bubblewrap()
    with sandboxed() as world:
        world.call("start")
        owners = {Path(f"/proc/{pid}").stat().st_uid for pid in hosts_processes(str(world.directory))}
        keeper = Path(f"/proc/{world.sandbox.pid}").stat().st_uid
    assert owners
    assert 0 not in owners
    assert keeper != 0


@as_root
def test_an_ordinary_user_needs_no_root(tmp_path: Path) -> None:
    """The whole of it as an unprivileged user id without an account, from readable copies of everything."""
    need_bubblewrap()
    uid = 12345
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    os.chown(scratch, uid, uid)
    site = Path(sys.prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")
    order = {
        "uid": uid,
        "stage": [sys.base_prefix, str(PROJECT), str(site), str(scratch)],
        "writable": [str(scratch)],
        "info_fd": None,
        "input_fd": None,
        "argv": [f"/tmp/0/bin/python{sys.version_info.major}.{sys.version_info.minor}", "-c", TRIAL],
        "environment": {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/tmp/1:/tmp/2", "TMPDIR": "/tmp/3"},
    }
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(KEEPER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    assert keeper.stderr is not None
    with keeper.stdin, keeper.stdout, keeper.stderr:
        keeper.stdin.write(json.dumps(order).encode() + b"\n")
        keeper.stdin.flush()
        line = keeper.stdout.readline()
        keeper.stdin.close()
        assert line, keeper.stderr.read().decode()
    assert keeper.wait(20) == 0
    facts = json.loads(line)
    assert facts["health"] is None
    assert facts["file"].startswith("/tmp/1/")


@pytest.mark.parametrize("isolation", ["bubblewrap", "process"])
def test_killing_the_trial_leaves_nothing(isolation: str, tmp_path: Path) -> None:
    """After kill -9 of the launching process: no process, no mount, and no file but what the trial itself made.

    Without walls the session's files are real ones; the next session clears them away.
    """
    if isolation == "bubblewrap":
        need_bubblewrap()
    mounts = Path("/proc/self/mountinfo").read_text()
    trial = TRIAL.replace("socket_directory=directory)", f"socket_directory=directory, isolation={isolation!r})")
    trial = trial.replace("EmbeddedSession()", f"EmbeddedSession(module.SessionOptions(isolation={isolation!r}))")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        python(trial, "--stay"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=environment, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            facts = json.loads(process.stdout.readline())
            words = [str(tmp_path), f"desktop-session-{facts['pid']}-"]
            assert facts["health"] is None
            assert hosts_processes(words[0])
            assert hosts_processes(words[1])
        finally:
            process.kill()
            process.wait()
    until(lambda: not hosts_processes(words[0]), "the end of all processes")
    assert Path("/proc/self/mountinfo").read_text() == mounts
    if isolation == "process":
        until(lambda: not hosts_processes(words[1]), "the end of all processes")

        def cleared() -> bool:
            sweep()
            return not list(Path("/tmp").glob(f"{words[1]}*"))

        until(cleared, "a sweep once the last process is gone")
        assert not Path(facts["socket"]).exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_killing_the_keeper_ends_the_sandbox() -> None:
    """The one process that watches over the sandbox may be killed too."""
    with sandboxed() as world:
        world.call("start")
        os.kill(world.sandbox.pid, signal.SIGKILL)
        until(lambda: not hosts_processes(str(world.directory)), "the end of all processes")
        assert not world.sandbox.alive()


def test_a_sandbox_outlives_the_thread_that_started_it(directory: Path) -> None:
    """Parent-death signals fire when a thread ends, so the sandbox must not hang on one."""
    import threading

    need_bubblewrap()
    code = f"import time, pathlib; time.sleep(0.2); pathlib.Path({str(directory / 'out')!r}).touch(); time.sleep(600)"
    started = []
    thread = threading.Thread(target=lambda: started.append(launch_outer(python(code), socket_directory=directory)))
    thread.start()
    thread.join()
    with started[0] as sandbox:
        wait_for(sandbox, directory / "out", 20)
        assert sandbox.alive()
