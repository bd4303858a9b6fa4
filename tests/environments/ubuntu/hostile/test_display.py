"""Turning the X server against the device: cutting, grabbing, remapping, resizing, filling and never answering."""

from __future__ import annotations

import pytest

from crab.errors import CrabError
from environments.ubuntu.providers.embedded import EmbeddedEnvironment
from tests.environments.ubuntu.hostile.agent import X_PRELUDE, HostileAgent
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

CUT = """
def cut_everybody():
    own = d.display.info.resource_id_base
    for base in range(0, 1 << 29, 1 << 21):
        if base != own:
            for offset in range(12):
                request.KillClient(display=d.display, onerror=lambda *_: True, resource=base + offset)
"""

ATTACKS = {
    "every client cut, the device's among them": CUT + "cut_everybody()\ndone()",
    "every client cut, again and again": CUT
    + "done()\nend = time.time() + 4\nwhile time.time() < end: cut_everybody()",
    "pointer and keyboard grabbed, events frozen": """
root.grab_pointer(True, 0, X.GrabModeSync, X.GrabModeSync, 0, 0, X.CurrentTime)
root.grab_keyboard(True, X.GrabModeSync, X.GrabModeSync, X.CurrentTime)
done()
time.sleep(600)
""",
    "everybody cut, then the server grabbed": CUT + "cut_everybody()\nd.grab_server()\ndone()\ntime.sleep(600)",
    "server grabbed by whoever is started anew": """
for _ in range(200):
    child = os.fork()
    if child == 0:
        d = display.Display()
        d.grab_server()
        done()
        time.sleep(600)
    os.waitpid(child, 0)
""",
    "another screen size": """
for size in ((320, 200), (32767, 32767), (800, 600)):
    randr.set_screen_size(root, *size, 100, 100)
    d.sync()
done()
time.sleep(600)
""",
    "clipboard of 100 MB": """
owner = root.create_window(0, 0, 1, 1, 0, 0)
owner.set_selection_owner(d.intern_atom("CLIPBOARD"), X.CurrentTime)
done()
block = b"x" * 200000
while True:
    event = d.next_event()
    if event.type == X.SelectionRequest:
        for _ in range(500):
            event.requestor.change_property(event.property, event.target, 8, block, X.PropModeAppend)
        from Xlib.protocol import event as events
        event.requestor.send_event(events.SelectionNotify(time=event.time, requestor=event.requestor,
            selection=event.selection, target=event.target, property=event.property))
        d.flush()
""",
    "clipboard that never ends": """
owner = root.create_window(0, 0, 1, 1, 0, 0)
owner.set_selection_owner(d.intern_atom("CLIPBOARD"), X.CurrentTime)
done()
from Xlib.protocol import event as events
while True:
    event = d.next_event()
    if event.type == X.SelectionRequest:
        event.requestor.change_property(event.property, d.intern_atom("INCR"), 32, [1 << 30])
        event.requestor.send_event(events.SelectionNotify(time=event.time, requestor=event.requestor,
            selection=event.selection, target=event.target, property=event.property))
        for _ in range(20):
            event.requestor.change_property(event.property, event.target, 8, b"y" * 100000)
            d.sync()
            time.sleep(0.05)
""",
    "windows with monstrous properties": """
big = b"n" * 200000
atoms = [d.intern_atom("S" * 60000 + str(number)) for number in range(30)]
for number in range(60):
    window = root.create_window(0, 0, 50, 50, 0, d.screen().root_depth)
    for _ in range(20 if number == 59 else 1):
        for name in ("_NET_WM_NAME", "WM_NAME", "WM_CLASS", "_NET_WM_PID"):
            window.change_property(d.intern_atom(name), Xatom.STRING, 8, big, X.PropModeAppend)
    window.change_property(d.intern_atom("_NET_WM_STATE"), Xatom.ATOM, 32, atoms)
    window.change_property(d.intern_atom("_NET_WM_WINDOW_TYPE"), Xatom.ATOM, 32, atoms)
    for _ in range(50 if number == 59 else 1):
        window.change_property(d.intern_atom("WM_PROTOCOLS"), Xatom.ATOM, 32, [1] * 50000, X.PropModeAppend)
    window.map()
d.sync()
# Whatever the window manager makes of them: they are said to be all the windows there are, and one has the focus.
window.set_input_focus(X.RevertToParent, X.CurrentTime)
done()
time.sleep(600)
""",
    "a list of windows that lies": """
numbers = [root.id, 1, 0xFFFFFFFF, *range(1 << 21, (1 << 21) + 3000)]
root.change_property(d.intern_atom("_NET_CLIENT_LIST"), Xatom.WINDOW, 32, numbers)
root.change_property(d.intern_atom("_NET_ACTIVE_WINDOW"), Xatom.WINDOW, 32, [0xDEADBEEF])
done()
time.sleep(600)
""",
    "memory of the X server taken": """
kept = []
try:
    for _ in range(200):
        kept.append(root.create_pixmap(4000, 4000, 24))
        kept[-1].fill_rectangle(root.create_gc(foreground=1), 0, 0, 4000, 4000)
        d.sync()
except error.XError as trouble:
    print(trouble)
done()
time.sleep(600)
""",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_device_answers_and_recovers(agent: HostileAgent, name: str) -> None:
    """Every question is answered in its time, and every action ends in its own; the next reset is checked to help."""
    agent.begin({"attack.py": X_PRELUDE + ATTACKS[name]}, packages=("Xlib",))
    agent.unleash("attack.py")
    agent.assert_answers()
    for action, arguments in (("click", {"x": 600, "y": 400}), ("key_press", {"key": "a"}), ("move", {"x": 5, "y": 5})):
        agent.environment.act(action, arguments)
    agent.assert_answers()


def test_a_scrambled_keyboard_map_types_nothing_wrong(agent: HostileAgent) -> None:
    """With every key made the same one, text is typed right or the action says that it cannot be."""
    scramble = """
rows = 256 - 8
d.change_keyboard_mapping(8, [[ord("x")] * 4] * rows)
done()
time.sleep(600)
"""
    agent.begin({"attack.py": X_PRELUDE + scramble}, packages=("Xlib",))
    agent.unleash("attack.py")
    with pytest.raises(CrabError, match="keyboard map"):
        agent.environment.act("write_text", {"text": "touch ~/typed\n"})
    assert not agent.exists("typed")
    agent.assert_answers()


def test_a_keyboard_map_without_keys_is_no_obstacle(agent: HostileAgent) -> None:
    """Text is typed on keys lent for it."""
    agent.begin(
        {"attack.py": X_PRELUDE + "d.change_keyboard_mapping(8, [[0] * 4] * 248)\ndone()\ntime.sleep(600)"}, ("Xlib",)
    )
    agent.unleash("attack.py")
    assert agent.run("echo typed") == (0, "typed\n")


def test_a_program_that_holds_the_display_is_ended_and_no_other(agent: HostileAgent) -> None:
    """The shell it was started from lives on: what was started last goes first."""
    agent.begin({"attack.py": X_PRELUDE + "d.grab_server()\ndone()\ntime.sleep(600)"}, packages=("Xlib",))
    agent.unleash("attack.py")
    agent.environment.observe()
    until(lambda: "python3" not in {found["name"] for found in agent.probe("processes")}, "the end of the attack")
    assert agent.run("echo alive") == (0, "alive\n")
    assert isinstance(agent.environment, EmbeddedEnvironment)
    assert agent.environment.health() is None
