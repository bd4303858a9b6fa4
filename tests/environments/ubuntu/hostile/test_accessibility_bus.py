"""Lying on the accessibility bus: endless, huge and frozen applications, and an impostor in place of the bus."""

from __future__ import annotations

import time

import pytest

from crab.observation import AccessibilityNode, ObservationRequest
from tests.environments.ubuntu import host
from tests.environments.ubuntu.hostile.agent import HostileAgent

pytestmark = pytest.mark.desktop

APPLICATION = """
import asyncio, os, sys, time
sys.path.insert(0, os.path.expanduser("~/dbus_fast.zip"))
from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus
PREFIX = "/org/a11y/atspi/accessible/"
KIND = "KIND_HERE"

def answer(own, message):
    node, member = message.path.removeprefix(PREFIX), message.member
    if member == "GetChildren":
        if KIND == "million":
            count = 200000 if node == "root" else 50
            return "a(so)", [[[own, f"{PREFIX}{node}_{number}"] for number in range(count)]]
        count = 1 if node == "root" else 40 if node.count("_") < 3 else 0
        return "a(so)", [[[own, f"{PREFIX}{node}_{number}"] for number in range(count)]]
    size = 20_000_000 if KIND == "huge" else 900
    return {
        "GetState": ("au", [[1 << 25, 0]]),
        "GetRoleName": ("s", ["r" * size]),
        "GetInterfaces": ("as", [["org.a11y.atspi.Component", "org.a11y.atspi.Text"]]),
        "GetText": ("s", ["t" * size]),
        "Get": ("v", [Variant("s", "n" * size)]),
        "GetExtents": ("(iiii)", [[-2**31, -2**31, 2**31 - 1, 2**31 - 1]]),
    }.get(member)

def handler(own):
    def handle(message):
        if message.message_type is not MessageType.METHOD_CALL or not message.path.startswith(PREFIX):
            return None
        found = answer(own, message)
        if found is None:
            return Message.new_error(message, "org.example.No", "no")
        return Message.new_method_return(message, *found)
    return handle

async def main():
    session = await MessageBus(bus_address=os.environ["DBUS_SESSION_BUS_ADDRESS"]).connect()
    reply = await session.call(Message(destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus",
                                       member="GetAddress"))
    for _ in range(8 if KIND == "many" else 1):
        bus = await MessageBus(bus_address=reply.body[0]).connect()
        own = bus.unique_name
        bus.add_message_handler(handler(own))
        await bus.call(Message(destination="org.a11y.atspi.Registry", path=PREFIX + "root",
                               interface="org.a11y.atspi.Socket", member="Embed", signature="(so)",
                               body=[[own, PREFIX + "root"]]))
    open(os.path.expanduser("~/.done"), "w").close()
    if KIND == "frozen":
        time.sleep(600)
    await asyncio.sleep(600)

asyncio.run(main())
"""

IMPOSTOR = """
import glob, os, signal, socket, struct, threading, time
for entry in glob.glob("/proc/[0-9]*/comm"):
    try:
        if open(entry).read().strip() in ("dbus-daemon", "at-spi-bus-laun", "at-spi2-registr"):
            os.kill(int(entry.split("/")[2]), signal.SIGKILL)
    except OSError:
        continue
time.sleep(0.2)
path = os.environ["XDG_RUNTIME_DIR"] + "/bus"
if os.path.exists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
open(os.path.expanduser("~/.done"), "w").close()

def serve(caller):
    data = caller.recv(4096)
    while b"AUTH" in data or b"NEGOTIATE" in data:
        caller.sendall(b"OK 0123456789abcdef0123456789abcdef\\r\\n" if b"AUTH" in data else b"AGREE_UNIX_FD\\r\\n")
        data = caller.recv(4096)
    MODE
    time.sleep(600)

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],)).start()
"""

IMPOSTURES = {
    "silent": "pass",
    "garbage": "caller.sendall(os.urandom(1 << 20))",
    "a message without end": """
    caller.sendall(struct.pack("<cBBBIII", b"l", 2, 0, 1, 127 << 20, 1, 0))
    while True:
        caller.sendall(bytes(1 << 20))
""",
    "closing": "caller.close()",
}


def look(agent: HostileAgent) -> AccessibilityNode:
    """The tree as an agent is shown it, within the time of an observation; the desktop's own memory stays small."""
    began = time.monotonic()
    tree = agent.environment.observe(ObservationRequest(accessibility=True)).accessibility
    assert tree is not None
    assert time.monotonic() - began < 15
    nodes = list(tree.walk())
    assert len(nodes) <= 10_000
    assert sum(len(node.name) + len(node.text or "") + len(node.role) for node in nodes) <= 3_000_000
    servers = [pid for pid, line in host.descendants().items() if "ubuntu.server" in line]
    assert host.memory_of(servers) < 700 << 20
    return tree


@pytest.mark.parametrize("kind", ["million", "huge", "many", "frozen"])
def test_lying_applications_are_cut_short(agent: HostileAgent, kind: str) -> None:
    """The tree comes in time and within its limits; a checker's question is answered too."""
    agent.begin({"lie.py": APPLICATION.replace("KIND_HERE", kind)}, packages=("dbus_fast",))
    agent.unleash("lie.py")
    assert look(agent).role == "desktop frame"
    assert agent.probe("accessibility")["role"] == "desktop frame"
    agent.environment.act("click", {"x": 600, "y": 400})
    assert agent.run("echo alive") == (0, "alive\n")


@pytest.mark.parametrize("kind", IMPOSTURES)
def test_an_impostor_in_place_of_the_bus_shows_an_empty_tree(agent: HostileAgent, kind: str) -> None:
    agent.begin({"impostor.py": IMPOSTOR.replace("MODE", IMPOSTURES[kind].strip())})
    agent.unleash("impostor.py")
    assert look(agent) == AccessibilityNode("desktop frame", "main")
    assert agent.run("echo alive") == (0, "alive\n")


def test_a_dead_bus_is_an_empty_tree_and_no_failure(agent: HostileAgent) -> None:
    agent.begin()
    assert look(agent).children
    agent.run("pkill dbus-daemon")
    assert look(agent) == AccessibilityNode("desktop frame", "main")
    assert agent.probe("accessibility")["children"] == []
    agent.assert_answers()
