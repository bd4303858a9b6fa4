"""An application on the accessibility bus that answers nonsense: run with the session bus's address.

Its one frame has children that are each wrong in another way. It prints a line once it is registered.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

PREFIX = "/org/a11y/atspi/accessible/"
SHOWING = [1 << 25, 0]
DEFUNCT = [1 << 25 | 1 << 6, 0]
ACCESSIBLE = "org.a11y.atspi.Accessible"
COMPONENT = "org.a11y.atspi.Component"

CHILDREN = {
    "root": ["frame"],
    "frame": ["good", "unnamed", "defunct", "silent", "wrong_state", "wrong_role", "wrong_bounds", "endless", "frame"],
    "endless": ["endless0"],
}


def answer(node: str, member: str) -> tuple[str, list[Any]] | None:
    """Returns signature and body of the reply to a question about a node; None is an error."""
    if node == "silent" or (node == "wrong_role" and member == "GetRoleName"):
        return None
    if member == "GetChildren":
        children = CHILDREN.get(node, [])
        if node.startswith("endless"):
            children = [f"endless{int(node.removeprefix('endless') or 0) + 1}"] * 3
        return "a(so)", [[[OWN_NAME[0], PREFIX + child] for child in children]]
    if member == "GetState":
        if node == "wrong_state":
            return "s", ["showing"]
        return "au", [DEFUNCT if node == "defunct" else SHOWING]
    replies: dict[str, tuple[str, list[Any]]] = {
        "GetRoleName": ("s", ["Push Button"]),
        "GetInterfaces": ("as", [[ACCESSIBLE, COMPONENT]]),
        "Get": ("v", [Variant("i", 0) if node == "unnamed" else Variant("s", node)]),
        "GetExtents": ("s", ["nowhere"]) if node == "wrong_bounds" else ("(iiii)", [[1, 2, 30, 40]]),
    }
    return replies.get(member)


OWN_NAME = [""]


async def main() -> None:
    """Registers and serves until standard input ends."""
    session = await MessageBus(bus_address=sys.argv[1]).connect()
    reply = await session.call(
        Message(destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus", member="GetAddress")
    )
    bus = await MessageBus(bus_address=reply.body[0]).connect()
    OWN_NAME[0] = str(bus.unique_name)

    def handle(message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL or not str(message.path).startswith(PREFIX):
            return None
        reply = answer(str(message.path).removeprefix(PREFIX), str(message.member))
        if reply is None:
            return Message.new_error(message, "org.example.No", "no")
        return Message.new_method_return(message, *reply)

    bus.add_message_handler(handle)
    await bus.call(
        Message(
            destination="org.a11y.atspi.Registry",
            path=PREFIX + "root",
            interface="org.a11y.atspi.Socket",
            member="Embed",
            signature="(so)",
            body=[[OWN_NAME[0], PREFIX + "root"]],
        )
    )
    sys.stdout.write("registered\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
