"""``crab run``: from words on the command line to a suite, its table and its report."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crab.cli.progress import make_watcher
from crab.errors import UsageError
from crab.loading import find_project
from crab.observation import ACCESSIBILITY_TRACK
from crab.record.schema import LimitsSpec, Result
from crab.run.build import RunOptions, agent_name, build_agent, load_tasks, make_spec
from crab.run.lock import make_lock
from crab.run.suite import Suite, collect_results

SECRETS = ("api_key", "apikey", "password", "secret", "_token")
"""Settings of agents that end like this would hold a secret."""


@dataclass(frozen=True)
class RunRequest:
    """What was asked for; see ``crab run --help``."""

    agents: Sequence[str]
    tasks: Sequence[str] | None
    suite: Path | None
    seeds: int
    jobs: int
    out: Path
    max_actions: int
    max_seconds: float
    max_invalid: int
    providers: Sequence[str]
    options: Sequence[str]
    agent_options: Sequence[str]
    accessibility: bool
    frames_per_second: float | None
    report: bool
    project: Path | None


def run_command(request: RunRequest) -> int:
    """Runs everything asked for, prints the table, writes the report.

    Returns:
        0 when every trial is valid, else 1.

    Raises:
        CrabError: Before any device is started, when something asked for is not there.
    """
    from rich.console import Console

    project = find_project(explicit=request.project)
    options = run_options(request)
    composed = load_tasks(project, task_names(request))
    trials = [
        (make_spec(project, task, agent.strip(), seed, options), task)
        for agent in request.agents
        for task in composed
        for seed in range(request.seeds)
    ]
    specs = [spec for spec, _ in trials]
    # An agent that refuses its settings does so before anything is written or started.
    for spec, task in {spec.agent.reference: (spec, task) for spec, task in trials}.values():
        build_agent(project, spec.agent, task).close()
    # Colours and width follow the terminal; a pipe gets plain lines.
    console = Console()
    suite = Suite(
        directory=request.out,
        specs=specs,
        lock=make_lock(project, trials),
        config=_config(request, project.name),
        jobs=request.jobs,
        watcher=make_watcher(console),
    )
    results = suite.run()
    _conclude(console, request, results)
    return 0 if all(result.valid for result in results) else 1


def task_names(request: RunRequest) -> list[str]:
    """Returns the names of the tasks asked for.

    Raises:
        UsageError: Both tasks and a suite are named, or the suite is not well formed.
    """
    if request.suite is None:
        return [name.strip() for name in request.tasks or ["all"] if name.strip()]
    if request.tasks is not None:
        raise UsageError("name either --tasks or --suite")
    try:
        suite = tomllib.loads(request.suite.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{request.suite}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{request.suite}: not a TOML document: {error}") from error
    names = suite.get("tasks")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{request.suite}: it needs a list `tasks` of task ids")
    return names


def run_options(request: RunRequest) -> RunOptions:
    """Reads the options of a request.

    Raises:
        UsageError: A ``NAME=VALUE`` is not of that form, or an agent cannot have it.
    """
    return RunOptions(
        limits=LimitsSpec(actions=request.max_actions, seconds=request.max_seconds, invalid_calls=request.max_invalid),
        providers=assignments(request.providers, "--provider"),
        provider_options=provider_options(request.options),
        agent_settings=agent_settings(request),
        tracks=(ACCESSIBILITY_TRACK,) if request.accessibility else (),
        frames_per_second=request.frames_per_second,
    )


def provider_options(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Reads the options of providers, by role or kind.

    Raises:
        UsageError: One is not of the form ``ROLE.KEY=VALUE``.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, value in assignments(texts, "--option").items():
        owner, dot, key = name.partition(".")
        if not dot or not key:
            raise UsageError(f"--option {name}={value}: write ROLE.KEY=VALUE or KIND.KEY=VALUE")
        found.setdefault(owner, {})[key] = literal(value)
    return found


def agent_settings(request: RunRequest) -> dict[str, dict[str, Any]]:
    """Reads the settings of a request's agents, by agent id.

    Raises:
        UsageError: One is not of the form ``AGENT.KEY=VALUE``, names an agent that does not run, or looks like a
            secret, which settings must not be: they are recorded.
    """
    running = [agent_name(agent.strip()) for agent in request.agents]
    found: dict[str, dict[str, Any]] = {}
    for text in request.agent_options:
        # What is refused is not repeated behind the equals sign, where a key may stand.
        name, equals, value = text.partition("=")
        owner, dot, key = name.partition(".")
        if not (equals and dot and key):
            raise UsageError(f"--agent-option {name}: write AGENT.KEY=VALUE")
        if owner not in running:
            raise UsageError(f"--agent-option {name}: no such agent runs here; there is: {', '.join(running)}")
        if key.lower().endswith(SECRETS):
            raise UsageError(
                f"--agent-option {name}: settings are recorded, so they hold no secret; "
                f"put it into an environment variable and name that, for example {owner}.api_key_env=NAME"
            )
        found.setdefault(owner, {})[key] = literal(value)
    return found


def assignments(texts: Iterable[str], option: str) -> dict[str, str]:
    """Reads ``NAME=VALUE`` texts.

    Raises:
        UsageError: One is not of that form.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"{option} {text}: write NAME=VALUE")
        found[name] = value
    return found


def literal(text: str) -> Any:
    """Returns an option's value: JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _config(request: RunRequest, project: str) -> dict[str, Any]:
    fields: Mapping[str, Any] = request.__dict__
    shown = {name: value for name, value in fields.items() if name not in ("project", "out", "report", "suite")}
    return {**shown, "suite": str(request.suite) if request.suite else None, "project": project}


def _conclude(console: Any, request: RunRequest, results: Sequence[Result]) -> None:
    from crab.report.tables import results_table

    # A continued run shows all of its directory, not only what was asked for now.
    console.print(results_table(collect_results(request.out)))
    invalid = [result for result in results if not result.valid]
    for result in invalid:
        console.print(f"invalid: {result.agent} on {result.task}, seed {result.seed}: {result.error}", style="yellow")
    if request.report:
        from crab.report.html import write_report

        path = write_report(request.out)
        console.print(f"report: {path}", soft_wrap=True)
