"""The embedded session: ready when it says so, whole, and wholly new after each start."""

from __future__ import annotations

from pathlib import Path

import pytest

from crab.errors import ProviderUnavailable
from environments.ubuntu.session.embedded import EmbeddedSession
from tests.environments.ubuntu.sandbox.sandboxed import DriverError, Sandboxed, sandboxed
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

KILL = 'for entry in /proc/[0-9]*; do [ "$(cat $entry/comm)" = "$1" ] && kill -9 ${entry#/proc/}; done; true'


def test_ready_means_ready(fresh: Sandboxed) -> None:
    """When start returns: windows are managed, desktop and panel are there, wallpaper is set, both buses answer."""
    root = fresh.xprop("-root")
    assert "_XROOTPMAP_ID(PIXMAP)" in root
    assert sorted(fresh.window_classes()) == ["Pcmanfm", "Tint2"]
    assert fresh.call("health") is None
    call = "gdbus call --session --dest org.a11y.Bus --object-path /org/a11y/bus"
    assert "unix:path=/run/session/at-spi/bus" in fresh.output(*call.split(), "--method", "org.a11y.Bus.GetAddress")
    enabled = [*call.split(), "--method", "org.freedesktop.DBus.Properties.Get", "org.a11y.Status", "IsEnabled"]
    assert "true" in fresh.output(*enabled)


def test_the_handle_tells_where_things_are() -> None:
    """Screen as asked for, HOME as the server sees it, and the top process over all of the agent's."""
    with sandboxed(screen=[1024, 768]) as world:
        handle = world.call("start")
        assert handle["screen"] == [1024, 768]
        assert "1024x768" in world.call("outside", argv=["xwininfo", "-root"])[1].replace("+0+0", "")
        world.output("sh", "-c", "echo found >$HOME/here")
        assert world.call("outside", argv=["cat", f"{handle['home']}/here"])[1] == "found\n"
        _, tree = world.call("outside", argv=["ps", "-o", "comm=", "--ppid", str(handle["root_pid"])])
        assert {"openbox", "tint2", "pcmanfm", "dbus-daemon"} <= set(tree.split())


def test_a_server_on_the_outside_can_use_the_session_bus(fresh: Sandboxed) -> None:
    handle = fresh.call("start")
    address = handle["dbus_address"]
    argv = ["gdbus", "call", "--address", address, "--dest", "org.freedesktop.DBus", "--object-path", "/"]
    status, output = fresh.call("outside", argv=[*argv, "--method", "org.freedesktop.DBus.ListNames"])
    assert status == 0, output
    assert "org.a11y.Bus" in output


def test_a_start_leaves_nothing_of_the_one_before(fresh: Sandboxed) -> None:
    """Files, folders nobody may enter, processes, windows, clipboard, root properties, settings: all gone."""
    hide = "mkdir -p $HOME/Documents/closed/deep && echo x >$HOME/marker && chmod 000 $HOME/Documents/closed"
    fresh.output("sh", "-c", hide)
    fresh.output("sh", "-c", "echo x >/tmp/marker; echo x >$XDG_RUNTIME_DIR/marker; rm $HOME/.config/openbox/rc.xml")
    fresh.output("sh", "-c", "printf secret | xclip -selection clipboard >/dev/null 2>&1")
    assert fresh.output("xclip", "-selection", "clipboard", "-o") == "secret"
    fresh.output("xprop", "-root", "-f", "LEFTOVER", "8s", "-set", "LEFTOVER", "x")
    fresh.output("gsettings", "set", "org.gnome.desktop.interface", "text-scaling-factor", "2.0")
    fresh.call("spawn", argv=["sleep", "654321"])
    fresh.call("spawn", argv=["mousepad"])
    fresh.wait_for_window("Mousepad")
    before = fresh.call("start")
    assert before["home"]
    assert fresh.output("ls", "-A", "/tmp") == ".X11-unix"
    assert "marker" not in fresh.output("find", "/home/user", "/run/session")
    assert "closed" not in fresh.output("find", "/home/user")
    assert fresh.output("ls", "/home/user/.config/openbox") == "rc.xml"
    assert fresh.inside("xclip", "-selection", "clipboard", "-o")[0] != 0
    assert "LEFTOVER" not in fresh.xprop("-root")
    assert fresh.output("gsettings", "get", "org.gnome.desktop.interface", "text-scaling-factor") == "1.0"
    assert "654321" not in fresh.output("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert sorted(fresh.window_classes()) == ["Pcmanfm", "Tint2"]


def test_it_outlives_the_thread_that_started_it(fresh: Sandboxed) -> None:
    """A server's worker threads come and go; the desktop must not go with them."""
    fresh.call("start_in_thread")
    assert fresh.output("echo", "alive") == "alive"
    assert fresh.call("health") is None


@pytest.mark.parametrize("program", ["openbox", "tint2", "pcmanfm", "dbus-daemon"])
def test_health_names_the_part_that_died(fresh: Sandboxed, program: str) -> None:
    fresh.output("sh", "-c", KILL, "sh", program)
    until(lambda: fresh.call("health"), "bad health")
    assert program in fresh.call("health")
    fresh.call("start")
    assert fresh.call("health") is None


def test_health_names_a_dead_x_server_and_a_dead_world(fresh: Sandboxed) -> None:
    fresh.call("kill_display")
    assert "X server" in until(lambda: fresh.call("health"), "bad health")
    handle = fresh.call("start")
    fresh.call("outside", argv=["kill", "-9", str(handle["root_pid"])])
    assert "world" in until(lambda: fresh.call("health"), "bad health")
    with pytest.raises(DriverError, match="EnvironmentFailure"):
        until(lambda: fresh.call("spawn", argv=["true"]), "a refusal")
    fresh.call("close")
    assert "no session" in fresh.call("health")
    with pytest.raises(DriverError, match="EnvironmentFailure"):
        fresh.call("spawn", argv=["true"])


@pytest.mark.parametrize(
    "word",
    [
        "plain",
        "two words",
        "",
        "back\\slash \\n \\101",
        "line\nbreak\n",
        "$HOME `id` $(id); rm -rf x",
        "é 中 😀",
        "-n",
        "'\"*",
    ],
)
def test_spawned_programs_get_their_words_untouched(fresh: Sandboxed, word: str) -> None:
    """No shell reads them: quotes, dollars, backslashes and line ends arrive as they were sent."""
    keep = 'printf "%s|" "$@" >$HOME/part; mv $HOME/part $HOME/words'
    fresh.call("spawn", argv=["sh", "-c", keep, "sh", word, "end"])
    until(lambda: fresh.call("read", path="words") is not None, "the words")
    assert fresh.call("read", path="words") == f"{word}|end|"


def test_impossible_words_are_refused(fresh: Sandboxed) -> None:
    for argv in ([], ["true", "a\0b"]):
        with pytest.raises(DriverError, match="ValueError"):
            fresh.call("spawn", argv=argv)


def test_ended_programs_leave_no_zombies(fresh: Sandboxed) -> None:
    for _ in range(10):
        fresh.call("spawn", argv=["true"])
    states = ["sh", "-c", "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | cut -c1"]
    until(lambda: "Z" not in fresh.output(*states), "the end of all zombies")


def test_a_missing_part_is_named_with_its_last_words(fresh: Sandboxed) -> None:
    """A start that fails says which program it was and leaves nothing running."""
    with sandboxed(screen=[1, 1]) as world:
        with pytest.raises(DriverError, match=r"EnvironmentFailure: .*(pcmanfm|tint2|openbox)"):
            world.call("start")
        assert world.call("count")["processes"] <= 3


def test_programs_that_are_not_installed_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProviderUnavailable, match="openbox") as caught:
        EmbeddedSession().start(1)
    assert {"xvfb", "openbox", "bubblewrap", "dbus"} <= set(caught.value.fix.split())


def test_walls_are_never_left_out_silently() -> None:
    """Outside the outer sandbox a session with walls is refused, and nothing is written to the host."""
    with pytest.raises(ProviderUnavailable, match="not in the outer sandbox"):
        EmbeddedSession().start(1)
    assert not Path("/session").exists()


def test_without_walls_the_same_desktop_starts_and_resets() -> None:
    """The process isolation keeps what it can keep: own HOME, own display, and all processes end with it."""
    with sandboxed("process") as world:
        first = world.call("start")
        assert world.call("health") is None
        assert world.output("sh", "-c", "echo $HOME") == first["home"]
        world.output("sh", "-c", "echo x >$HOME/marker")
        world.call("spawn", argv=["setsid", "-f", "sleep", "543219"])
        world.call("spawn", argv=["mousepad"])
        world.wait_for_window("Mousepad")
        second = world.call("start")
        assert world.call("read", path="marker") is None
        assert sorted(world.window_classes()) == ["Pcmanfm", "Tint2"]
        _, names = world.call("outside", argv=["ps", "-eo", "stat=,args="])
        assert not [line for line in names.splitlines() if line.endswith("sleep 543219") and line[0] != "Z"]
        assert second["root_pid"] != first["root_pid"]
