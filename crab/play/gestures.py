"""What a person does on the page, and the action of the environment that does the same.

An environment is known by its tools alone, so the way from a gesture to an action goes by names and parameters:
``click`` or ``tap`` for a click, ``drag`` or ``swipe`` for a drag, and so on. What no tool can do is refused, so that a
person's record holds nothing an agent could not have done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from crab.agent import Call, Tool
from crab.errors import UsageError

HOLD_SECONDS = 1.0
"""How long a held click lasts on a device whose click has a duration."""

ENDS = (("x", "y", "to_x", "to_y"), ("x1", "y1", "x2", "y2"), ("start_x", "start_y", "end_x", "end_y"))
"""What the two ends of a drag may be called."""

Pixel = Annotated[int, Field(ge=0, le=100_000)]
Button = Literal["left", "middle", "right"]


class _Gesture(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Click(_Gesture):
    """A click with any button, once or twice, or held; in pixels of the device's screen."""

    kind: Literal["click", "double_click", "hold"]
    environment: str
    x: Pixel
    y: Pixel
    button: Button = "left"


class Drag(_Gesture):
    """A drag from one point to another."""

    kind: Literal["drag"]
    environment: str
    x: Pixel
    y: Pixel
    to_x: Pixel
    to_y: Pixel
    button: Button = "left"


class Scroll(_Gesture):
    """A turn of the wheel, in notches; positive shows what is further down, or right."""

    kind: Literal["scroll"]
    environment: str
    x: Pixel
    y: Pixel
    down: int = Field(default=0, ge=-100, le=100)
    right: int = Field(default=0, ge=-100, le=100)


class Text(_Gesture):
    """Text typed in one go."""

    kind: Literal["text"]
    environment: str
    text: str = Field(min_length=1, max_length=20_000)


class Keys(_Gesture):
    """One key, or several together with the modifiers first."""

    kind: Literal["keys"]
    environment: str
    keys: tuple[str, ...] = Field(min_length=1, max_length=6)


class UseTool(_Gesture):
    """Any tool by its name, for what has no gesture of its own."""

    kind: Literal["tool"]
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


Gesture = Click | Drag | Scroll | Text | Keys | UseTool

_GESTURE: TypeAdapter[Gesture] = TypeAdapter(Annotated[Gesture, Field(discriminator="kind")])


def read_gesture(data: bytes) -> Gesture:
    """Reads a gesture from JSON.

    Raises:
        UsageError: It is none.
    """
    try:
        return _GESTURE.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise UsageError(f"no gesture: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def call_for(gesture: Gesture, tools: Iterable[Tool]) -> Call:
    """Returns the call that does what a gesture means.

    Args:
        gesture: What the person did.
        tools: All tools of the task.

    Raises:
        UsageError: The environment offers nothing that does it.
    """
    if isinstance(gesture, UseTool):
        if all(tool.name != gesture.name for tool in tools):
            raise UsageError(f"there is no tool {gesture.name!r}")
        return Call(gesture.name, gesture.arguments)
    own = {tool.action: tool for tool in tools if tool.environment == gesture.environment}
    for action, arguments in _ways(gesture):
        tool = own.get(action)
        if tool is not None and _fits(tool, arguments):
            return Call(tool.name, arguments)
    raise UsageError(f"{gesture.environment} offers no action for this: {_words(gesture)}")


def offered(environment: str, tools: Sequence[Tool]) -> list[str]:
    """Returns the kinds of gesture an environment can be given, so that the page waits for none that is not there."""
    point: dict[str, Any] = {"environment": environment, "x": 0, "y": 0}
    samples: Mapping[str, Gesture] = {
        "click": Click(kind="click", **point),
        "double_click": Click(kind="double_click", **point),
        "right_click": Click(kind="click", button="right", **point),
        "hold": Click(kind="hold", **point),
        "drag": Drag(kind="drag", to_x=0, to_y=0, **point),
        "scroll": Scroll(kind="scroll", down=1, **point),
        "text": Text(kind="text", environment=environment, text="a"),
        "key": Keys(kind="keys", environment=environment, keys=("enter",)),
        "hotkey": Keys(kind="keys", environment=environment, keys=("ctrl", "a")),
    }
    return [kind for kind, sample in samples.items() if _possible(sample, tools)]


def _possible(gesture: Gesture, tools: Sequence[Tool]) -> bool:
    try:
        call_for(gesture, tools)
    except UsageError:
        return False
    return True


def _ways(gesture: Click | Drag | Scroll | Text | Keys) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields actions that would do, the most fitting first, with their arguments."""
    match gesture:
        case Click():
            yield from _ways_to_click(gesture)
        case Drag():
            places = (gesture.x, gesture.y, gesture.to_x, gesture.to_y)
            button = {} if gesture.button == "left" else {"button": gesture.button}
            for action in ("drag", "swipe"):
                for names in ENDS:
                    yield action, {**dict(zip(names, places, strict=True)), **button}
        case Scroll():
            notches = {"down": gesture.down, "right": gesture.right}
            yield "scroll", {"x": gesture.x, "y": gesture.y, **{name: n for name, n in notches.items() if n}}
        case Text():
            yield "write_text", {"text": gesture.text}
        case Keys():
            if len(gesture.keys) == 1:
                yield "key_press", {"key": gesture.keys[0]}
            yield "press_hotkey", {"keys": list(gesture.keys)}


def _ways_to_click(gesture: Click) -> Iterator[tuple[str, dict[str, Any]]]:
    point = {"x": gesture.x, "y": gesture.y}
    button = {} if gesture.button == "left" else {"button": gesture.button}
    if gesture.kind == "double_click":
        yield "double_click", {**point, **button}
        yield "double_tap", {**point, **button}
    elif gesture.kind == "hold":
        yield "long_press", {**point, **button}
        yield "long_tap", {**point, **button}
        yield "click", {**point, **button, "duration": HOLD_SECONDS}
        yield "tap", {**point, **button, "duration": HOLD_SECONDS}
    else:
        if gesture.button == "right":
            yield "right_click", point
        yield "click", {**point, **button}
        yield "tap", {**point, **button}


def _fits(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool takes all these arguments and asks for no other."""
    schema = tool.schema["function"]["parameters"]
    return set(schema.get("required", ())) <= set(arguments) <= set(schema.get("properties", ()))


def _words(gesture: Click | Drag | Scroll | Text | Keys) -> str:
    if isinstance(gesture, Keys):
        return f"key {'+'.join(gesture.keys)}"
    button = getattr(gesture, "button", "left")
    return ("" if button == "left" else f"{button} ") + gesture.kind.replace("_", " ")
