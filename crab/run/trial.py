"""The child process of one trial: starts environments, runs the episode, records, and cleans up."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from crab.agent import Agent
from crab.environment import Environment
from crab.errors import CrabError, InfrastructureError
from crab.loading import Project
from crab.observation import ACCESSIBILITY_TRACK, ObservationRequest
from crab.record.reader import read_document
from crab.record.schema import Reason, State, TrialSpec
from crab.record.writer import TrialWriter
from crab.run.build import build_agent, composed_from_spec, load_kind
from crab.run.channel import Channel
from crab.run.episode import Ending, Episode, EpisodeSettings

PR_SET_CHILD_SUBREAPER = 36
"""Linux ``prctl`` option: orphans below this process become its children (linux/prctl.h)."""

PR_SET_PDEATHSIG = 1
"""Linux ``prctl`` option: the signal this process gets when its parent dies (linux/prctl.h)."""

EXIT_HOPELESS = 4
"""Exit status of a trial whose trouble every other trial of its agent would meet; standard error says which."""

EXIT_INTERRUPTED = 130
"""Exit status of a trial that was interrupted."""


def run_trial(
    directory: Path,
    spec: TrialSpec,
    *,
    mirror: Callable[[dict[str, Any]], None] | None = None,
    print_to: Callable[[Path], None] | None = None,
    agent: Agent | None = None,
    started: Callable[[Mapping[str, Environment]], None] = lambda environments: None,
) -> Ending:
    """Runs one trial in this process and records it.

    Args:
        directory: The trial directory; an earlier attempt there is kept.
        spec: What to run.
        mirror: Called with every event as it is written.
        print_to: Called with the trial's log as soon as it may be written to.
        agent: Who does it, closed afterwards; made from the spec when None.
        started: Called once with the environments by role, before they are reset.

    Returns:
        How it ended; infrastructure trouble is an invalid ending, not an exception.

    Raises:
        UsageError: The spec names something that is not there.
        KeyboardInterrupt: It was interrupted; that is recorded.
    """
    project, composed = composed_from_spec(spec)
    agent = agent or build_agent(project, spec.agent, composed)
    with ExitStack() as cleanup:
        writer = cleanup.enter_context(TrialWriter(directory, spec, mirror=mirror))
        cleanup.enter_context(_logging_to(directory / "trial.log"))
        if print_to is not None:
            print_to(directory / "trial.log")
        cleanup.callback(_close_quietly, agent.close, f"agent {spec.agent.id}")
        try:
            environments = _start_environments(project, spec, writer, cleanup)
            started(environments)
        except InfrastructureError as error:
            ending = _never_started(writer, error)
        except KeyboardInterrupt:
            writer.event("trial_end", reason=Reason.INTERRUPTED, valid=False, seconds=round(writer.seconds, 4))
            writer.status(State.INTERRUPTED)
            raise
        else:
            try:
                ending = Episode(composed.task, agent, environments, writer, _settings(spec)).run()
            except KeyboardInterrupt:
                writer.status(State.INTERRUPTED)
                raise
        writer.status(State.DONE if ending.valid else State.INVALID)
    return ending


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Sends everything logged in this process to a file while the block runs."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _start_environments(
    project: Project, spec: TrialSpec, writer: TrialWriter, cleanup: ExitStack
) -> dict[str, Environment]:
    """Starts and records every environment of a trial; each one that started is closed with `cleanup`."""
    environments: dict[str, Environment] = {}
    for role, environment in spec.environments.items():
        began = time.monotonic()
        provider = load_kind(project, environment.kind).provider(environment.provider)
        environments[role] = provider.start(environment.options)
        cleanup.callback(_close_quietly, environments[role].close, f"environment {role}")
        _record_start(writer, role, environments[role], began)
    return environments


def _settings(spec: TrialSpec) -> EpisodeSettings:
    return EpisodeSettings(
        seed=spec.seed,
        start_time=spec.start_time,
        limits=spec.limits,
        request=ObservationRequest(spec.frames_per_second, ACCESSIBILITY_TRACK in spec.tracks),
    )


def _record_start(writer: TrialWriter, role: str, environment: Environment, began: float) -> None:
    provider = environment.describe().provider
    writer.event(
        "environment_start",
        environment=role,
        provider={
            "name": provider.name,
            "reset": provider.reset,
            "time": provider.time,
            "isolation": provider.isolation,
            "applications": dict(provider.applications),
            "versions": dict(provider.versions),
        },
        seconds=round(time.monotonic() - began, 4),
    )


def _never_started(writer: TrialWriter, error: InfrastructureError) -> Ending:
    writer.event("error", where="start", type=type(error).__name__, message=str(error), blame="infrastructure")
    writer.event("trial_end", reason=Reason.ENVIRONMENT_ERROR, valid=False, seconds=round(writer.seconds, 4))
    return Ending(Reason.ENVIRONMENT_ERROR, valid=False)


def _close_quietly(close: Callable[[], None], what: str) -> None:
    """Closes something although closing others may have failed; the result already stands."""
    try:
        close()
    except Exception:
        logging.getLogger(__name__).exception("closing %s failed", what)


def exec_trial(spec_file: Path, directory: Path, parent: int) -> int:
    """Runs one trial as a child process of a driver: events go to standard output, one JSON object a line.

    The process dies with its parent, ends on SIGTERM and SIGINT with a recorded interrupt, and logs to ``trial.log``.

    Args:
        spec_file: The trial's ``spec.json``-to-be.
        directory: The trial directory.
        parent: Id of the driver's process.

    Returns:
        The exit status: 0 when the trial reached an end, `EXIT_INTERRUPTED`, or with one line on standard error
        `EXIT_HOPELESS` or 1.
    """
    _die_with_parent(parent)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    directory.mkdir(parents=True, exist_ok=True)
    channel = Channel()
    try:
        spec = read_document(spec_file, TrialSpec)
        ending = run_trial(directory, spec, mirror=channel.event, print_to=channel.print_to)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except CrabError as error:
        channel.complain(f"{type(error).__name__}: {error}")
        return 1
    finally:
        _end_descendants()
    if ending.hopeless:
        channel.complain(ending.hopeless)
        return EXIT_HOPELESS
    return 0


def _die_with_parent(parent: int) -> None:
    """Asks the kernel to kill this process when its parent dies, so that a killed driver leaves nothing behind."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != parent:
        # The driver died before the call above.
        os.kill(os.getpid(), signal.SIGKILL)


def _end_descendants() -> None:
    """Kills what agents and checkers started and left behind, in whatever session it runs."""
    while children := _children():
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def _children() -> list[int]:
    """Ids of this process's children, adopted orphans included; empty where the kernel does not tell."""
    lists = Path("/proc/self/task").glob("*/children")
    return [int(child) for found in lists for child in found.read_text().split()]
