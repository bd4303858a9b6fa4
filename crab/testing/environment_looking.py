"""Rules of the environment contract about what is seen: observations, time, probes."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import Any

from crab.environment import Environment
from crab.errors import DeadlineExceeded, ProbeFailure
from crab.observation import ObservationRequest
from crab.testing.bench import START_TIME, Bench
from crab.testing.rules import Rule, given, refuses, require

NO_SUCH = "no_such_operation"
"""A name that no environment should offer."""

REAL_SECONDS = 0.3
"""How long the rules wait where time is real."""

CLOCK_TOLERANCE = 0.05
"""Seconds by which a real clock may fall short of a wait: timers are that coarse."""


def observations_are_pictures(bench: Bench) -> None:
    """An observation has at least one frame, which can be decoded and has the size and type it says."""
    from PIL import Image

    observation = bench.reset().observe()
    require(observation.frames, "an observation without a frame")
    for frame in observation.frames:
        require(type(frame.data) is bytes, f"a frame's data is {type(frame.data).__name__}, which may change later")
        with Image.open(io.BytesIO(frame.data)) as image:
            image.load()
            require(
                image.size == (frame.width, frame.height), f"{image.size} px, but says {frame.width}×{frame.height}"
            )
            require(Image.MIME[str(image.format)] == frame.media_type, f"{image.format}, but says {frame.media_type}")


def the_default_is_one_frame(bench: Bench) -> None:
    """Without a request an observation is the present frame alone, without the accessibility tree."""
    environment = bench.reset()
    bench.act(environment)
    observation = environment.observe()
    require(len(observation.frames) == 1, f"{len(observation.frames)} frames")
    require(observation.accessibility is None, "the accessibility tree came without being asked for")


def accessibility_comes_when_asked(bench: Bench) -> None:
    """The accessibility tree comes when it is asked for."""
    given(bench.samples.accessibility or None, "an accessibility tree")
    tree = bench.reset().observe(ObservationRequest(accessibility=True)).accessibility
    require(tree is not None, "no accessibility tree")


def frames_are_in_order(bench: Bench) -> None:
    """Frames are ordered by time, and the last one is now."""
    environment = bench.reset()
    before = environment.observe().now.time
    bench.act(environment)
    seconds = wait_seconds(environment)
    environment.advance(seconds)
    frames = environment.observe(ObservationRequest(frames_per_second=2)).frames
    times = [frame.time for frame in frames]
    require(times == sorted(times), f"frames at {times} s")
    require(times[0] >= 0, f"a frame at {times[0]} s, before the reset")
    require(times[-1] >= before + seconds - CLOCK_TOLERANCE, f"the last frame is of {times[-1]} s, not of now")
    if bench.samples.same_pixels:
        require(environment.observe().now.sha256 == frames[-1].sha256, "the last frame is not what is to be seen now")


def time_passes(bench: Bench) -> None:
    """``advance`` moves the environment's clock by as much, and a reset sets it back to the start."""
    environment = bench.reset()
    start, seconds = environment.observe().now.time, wait_seconds(environment)
    environment.advance(seconds)
    passed = environment.observe().now.time - start
    require(passed >= seconds - CLOCK_TOLERANCE, f"advance({seconds}) moved the clock by {passed} s")
    if environment.describe().provider.time == "stepped":
        require(abs(passed - seconds) < CLOCK_TOLERANCE, f"advance({seconds}) moved the clock by {passed} s")
        require(bench.reset().observe().now.time == start, "a reset does not set the clock back")


def the_clock_shows_the_start_time(bench: Bench) -> None:
    """The device's clock shows the start time after a reset."""
    example = given(bench.samples.clock, "a probe of the clock")
    shown = datetime.fromisoformat(bench.reset().probe(example.name, example.arguments))
    off = abs((shown - datetime.fromisoformat(START_TIME)).total_seconds())
    require(off < 60, f"it shows {shown.isoformat()} instead of {START_TIME}")


def pausing_keeps_it_usable(bench: Bench) -> None:
    """A paused environment answers probes and observations; pausing and resuming twice does no harm."""
    environment = bench.reset()
    environment.pause()
    environment.pause()
    before = bench.state(environment)
    environment.observe()
    environment.resume()
    environment.resume()
    require(bench.state(environment) == before, "pausing changed the state")
    bench.act(environment)
    require(bench.state(environment) != before, "after a pause, actions have no effect")


def probes_only_read(bench: Bench) -> None:
    """Probing changes nothing: the same question twice has the same answer, and nothing else changes."""
    environment = bench.reset()
    bench.act(environment)
    first = bench.state(environment)
    for _ in range(5):
        require(bench.state(environment) == first, "the same questions have other answers the second time")


def unknown_probes_are_refused(bench: Bench) -> None:
    """An unknown probe, and arguments that do not fit, are a `ProbeFailure`."""
    environment, example = bench.reset(), bench.samples.probes[0]
    wrong = {**example.arguments, NO_SUCH: 1}
    refuses("an unknown probe", lambda: environment.probe(NO_SUCH, {}), ProbeFailure)
    refuses("a probe with an unknown argument", lambda: environment.probe(example.name, wrong), ProbeFailure)


def answers_are_json(bench: Bench) -> None:
    """Every answer is a JSON value: finite numbers, lists, objects with text keys."""
    environment = bench.reset()
    bench.act(environment)
    for example in bench.samples.probes:
        require_json(environment.probe(example.name, example.arguments), example.name)


def answers_belong_to_the_caller(bench: Bench) -> None:
    """Changing an answer changes nothing on the device."""
    environment = bench.reset()
    if bench.samples.preparation is not None:
        environment.prepare(bench.samples.preparation.name, bench.samples.preparation.arguments)
    bench.act(environment)
    before = bench.state(environment)
    for example in bench.samples.probes:
        answer = environment.probe(example.name, example.arguments)
        if isinstance(answer, list | dict):
            answer.clear()
    require(bench.state(environment) == before, "changing an answer changed the device")


def deadlines_are_kept(bench: Bench) -> None:
    """A probe whose time is over is a `DeadlineExceeded`, and the next one is answered."""
    environment, example = bench.reset(), bench.samples.probes[0]
    late = lambda: environment.probe(example.name, example.arguments, seconds=0.0)  # noqa: E731  one expression
    refuses("a probe with no time left", late, DeadlineExceeded)
    environment.probe(example.name, example.arguments)


def observations_stay(bench: Bench) -> None:
    """An observation that was handed out does not change when the device does."""
    environment = bench.reset()
    frame = environment.observe().now
    before = bytes(frame.data)
    bench.act(environment)
    environment.observe()
    require(frame.data == before, "an earlier observation changed with the device")


def require_json(value: Any, name: str) -> None:
    """Breaks the rule unless a value is JSON as it stands."""
    try:
        copy = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        require(False, f"{name} gave {value!r}: {error}")
    else:
        require(copy == value, f"{name} gave {value!r}, which JSON makes {copy!r}")


def wait_seconds(environment: Environment) -> float:
    """Returns how long the rules wait: long where it costs nothing."""
    return 5.0 if environment.describe().provider.time == "stepped" else REAL_SECONDS


LOOKING_RULES: tuple[Rule[Bench], ...] = (
    observations_are_pictures,
    the_default_is_one_frame,
    accessibility_comes_when_asked,
    frames_are_in_order,
    time_passes,
    the_clock_shows_the_start_time,
    pausing_keeps_it_usable,
    probes_only_read,
    unknown_probes_are_refused,
    answers_are_json,
    answers_belong_to_the_caller,
    deadlines_are_kept,
    observations_stay,
)
"""These rules, in the order in which they are tried."""
