"""Starting and ending the outer sandbox: as root, as an ordinary user, from closed directories, and by ``kill -9``."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.errors import ProviderUnavailable
from environments.ubuntu.sandbox.launch import launch_outer, wait_for
from tests.environments.ubuntu.sandbox.sandboxed import need_bubblewrap, sandboxed
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

PROJECT = Path(__file__).resolve().parents[4]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root does")


@pytest.fixture
def directory() -> Iterator[Path]:
    """A private directory to share with a sandbox."""
    with tempfile.TemporaryDirectory(prefix="crab-test-") as name:
        yield Path(name)


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
