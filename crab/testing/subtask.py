"""Proof of subtasks and composed tasks on started environments.

A task is proven when a fresh state scores 0, its oracle 1, every near miss fails exactly where it says, a reset brings
the start state back, and the same seed and actions give the same result.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import Link, Review, SubtaskDocument, TaskDocument
from crab.environment import Environment, Finding
from crab.errors import CrabError
from crab.evaluator import ROOT
from crab.graph import CheckpointGraph
from crab.record.schema import LimitsSpec, Reason, Result
from crab.task import Needs, Subtask, Values
from crab.testing.rules import LeftOut, Rule, RuleBroken, check, require
from crab.testing.stage import Idle, Stage, Trial

NEAR_MISSES = 2
"""A subtask brings at least this many wrong solutions."""


@dataclass(frozen=True)
class Proof:
    """What was found out about one subtask or task.

    Attributes:
        subject: Reference of the subtask, or id of the task.
        findings: One for each thing that was tried, in order.
    """

    subject: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it should be."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """What is not as it should be."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def __str__(self) -> str:
        """One line for each failure, or one that says that all is well."""
        if self.ok:
            return f"{self.subject}: proven by {len(self.findings)} findings"
        return "\n".join(f"{self.subject}: {finding.name}: {finding.detail}" for finding in self.failures)


def task_of(subtask: Subtask, values: Values) -> ComposedTask:
    """Returns the task that consists of one subtask with these values; the instance has the subtask's id.

    Raises:
        DefinitionError: The values do not fit.
        CompositionError: Nor does anything else.
    """
    subtask.check(values)
    instance = subtask.id.lower()
    document = TaskDocument(
        schema_version=1,
        id=instance.replace("_", "-").strip("-"),
        version=subtask.version,
        description=subtask.describe(values),
        environments=dict(subtask.environments),
        subtasks=(SubtaskDocument(id=instance, template=subtask.reference, parameters=dict(values)),),
        tags=subtask.tags,
        review=Review(author="crab"),
    )
    return compose(document, Catalogue([subtask]))


def prove_subtask(
    subtask: Subtask,
    environments: Mapping[str, Environment],
    *,
    seed: int = 0,
    limits: LimitsSpec | None = None,
    directory: Path | None = None,
) -> Proof:
    """Proves one subtask with values drawn from its pools.

    Args:
        subtask: The template.
        environments: A started environment for each of its roles; they are reset, and not closed.
        seed: Of the values and of the environments.
        limits: What an oracle may take.
        directory: Where the trials' records are kept; None keeps none.

    Returns:
        The proof; trouble of any kind is a failed finding.
    """
    findings = [check(rule, subtask) for rule in TEMPLATE_RULES]
    try:
        composed = task_of(subtask, subtask.draw(seed))
    except CrabError as error:
        return Proof(subtask.reference, (*findings, Finding("it_composes", ok=False, detail=str(error))))
    proof = prove_task(composed, environments, seed=seed, limits=limits, directory=directory)
    return Proof(subtask.reference, (*findings, *proof.findings))


def prove_task(
    composed: ComposedTask,
    environments: Mapping[str, Environment],
    *,
    seed: int = 0,
    limits: LimitsSpec | None = None,
    directory: Path | None = None,
) -> Proof:
    """Proves one composed task; see `prove_subtask` for the arguments."""
    with tempfile.TemporaryDirectory(prefix="crab-proof-") as temporary:
        stage = Stage(composed, environments, seed, limits or LimitsSpec(), directory or Path(temporary))
        findings = [check(rule, stage) for rule in STATIC_RULES]
        if all(finding.ok for finding in findings):
            findings += [check(rule, stage) for rule in TRIAL_RULES]
            findings += [_near_miss(stage, position, number) for position, number in _wrong_solutions(composed)]
            findings += [check(rule, stage) for rule in LAST_RULES]
    return Proof(composed.task.id, tuple(findings))


def same_seed_same_values(subtask: Subtask) -> None:
    """The same seed draws the same values, and every one of them fits its parameter."""
    for seed in range(5):
        values = subtask.draw(seed)
        subtask.check(values)
        require(subtask.draw(seed) == values, f"seed {seed} draws {values} and {subtask.draw(seed)}")


def description_names_its_blanks(subtask: Subtask) -> None:
    """The description names the value of every parameter, so that the task can be done from its words."""
    values = subtask.draw(0)
    require_named(subtask.describe(values), values)
    if subtask.clause:
        require_named(subtask.clause.format_map(values), values)


def output_has_its_type(subtask: Subtask) -> None:
    """The output's value is of the type it declares and follows from the parameters alone."""
    if subtask.output is None:
        raise LeftOut("it has no output")
    values = subtask.draw(0)
    output = subtask.output.value(values)
    wanted = subtask.output.type.python_type
    require(type(output) is wanted, f"{output!r} is no {wanted.__name__} ({subtask.output.type.name})")
    require(subtask.output.value(values) == output, "two askings, two outputs")
    subtask.output.phrase.format_map(values)


def parts_are_built_alike(subtask: Subtask) -> None:
    """Set-up and graph follow from the values alone, and leave the values as they are."""
    values = subtask.draw(0)
    before = dict(values)
    random.seed(1)
    first = (list(subtask.setup(values)), _shape(subtask.checkpoints(values)))
    random.seed(2)
    second = (list(subtask.setup(values)), _shape(subtask.checkpoints(values)))
    require(first == second, "building it twice gives two set-ups or graphs")
    require(values == before, "building it changed the values")


def near_misses_are_named(subtask: Subtask) -> None:
    """There are at least two near misses with different names, and each names a checkpoint of the graph."""
    names = [miss.name for miss in subtask.near_misses]
    require(len(names) >= NEAR_MISSES, f"{len(names)} near misses; there should be at least {NEAR_MISSES}")
    require(len(set(names)) == len(names), f"two near misses share a name: {names}")
    graph = subtask.checkpoints(subtask.draw(0))
    for miss in subtask.near_misses:
        require(miss.checkpoint in graph, f"near miss {miss.name}: there is no checkpoint {miss.checkpoint!r}")


def task_names_its_values(stage: Stage) -> None:
    """The description names every literal parameter value of the document."""
    for part in stage.composed.document.subtasks:
        literals = {name: value for name, value in part.parameters.items() if not isinstance(value, Link)}
        require_named(stage.composed.task.description, literals)


def environments_meet_its_needs(stage: Stage) -> None:
    """Each environment is of the right kind and offers the probes, roles, preparations and extra actions needed."""
    task = stage.composed.task
    for role, kind in task.environments.items():
        require(role in stage.environments, f"no environment was given for role {role!r}")
        about = stage.environments[role].describe()
        require(about.kind == kind, f"{role} is {about.kind!r}, the task wants {kind!r}")
        needs = task.needs.get(role, Needs())
        preparations = [call.name for call in task.setup if call.environment == role]
        _require_all(role, "probe", needs.probes, {probe.name for probe in about.probes})
        _require_all(role, "application role", needs.roles, set(about.provider.applications))
        _require_all(role, "preparation", preparations, {item.name for item in about.preparations})
        extra = task.extra_actions.get(role, ())
        _require_all(role, "extra action", extra, {action.name for action in about.extra_actions})


def doing_nothing_scores_0(stage: Stage) -> None:
    """On a fresh state no first checkpoint is true, and an agent that does nothing reaches nothing."""
    _require_nothing(stage.trial("idle", Idle()))


def oracle_scores_1(stage: Stage) -> None:
    """The reference solution passes every checkpoint without an invalid or failed call, within the limits."""
    trial = stage.solve("oracle")
    stage.oracle = trial
    require(trial.result.success, f"the oracle ended by {trial.story}")
    require(trial.result.invalid_calls == 0, f"the oracle made {trial.result.invalid_calls} invalid calls")
    errors = [event["error"] for event in trial.events if event["event"] == "action" and event["error"]]
    require(not errors, f"an action of the oracle failed: {errors[:1]}")


def needs_are_complete(stage: Stage) -> None:
    """Every probe that a checkpoint asks is among the needs, so that a run can be refused before it starts."""
    trial = stage.oracle or stage.solve("oracle")
    for event in trial.events:
        if event["event"] == "probe" and event["environment"] != ROOT:
            role, name = event["environment"], event["name"]
            needs = stage.composed.task.needs.get(role, Needs())
            require(name in needs.probes, f"{event['checkpoint']} asks {role} for {name!r}, which needs do not list")


def reset_brings_0_back(stage: Stage) -> None:
    """After all these trials a reset brings back the start state: doing nothing reaches nothing again."""
    if stage.latest is None or not stage.latest.passed:
        stage.solve("oracle_before_reset")
    _require_nothing(stage.trial("idle_after_reset", Idle()))


def same_seed_same_result(stage: Stage) -> None:
    """The same seed gives the same result, and in stepped time down to the step at which each checkpoint passed.

    In real time a program may answer just before or just after a step ends, and an oracle waits as long as it takes:
    there the same checkpoints pass in the same way, whatever the steps.
    """
    again = stage.solve("oracle")
    first = stage.oracle or stage.solve("oracle")
    stepped = all(each.describe().provider.time == "stepped" for each in stage.environments.values())
    results = [_comparable(trial.result, steps=stepped) for trial in (first, again)]
    require(results[0] == results[1], f"{first.story}; the second time {again.story}")


def _comparable(result: Result, *, steps: bool) -> dict[str, Any]:
    canonical = result.canonical()
    if steps:
        return canonical
    for name in ("actions", "turns", "execution_efficiency"):
        del canonical[name]
    canonical["checkpoints"] = [(item["id"], item["passed"]) for item in canonical["checkpoints"]]
    return canonical


def _near_miss(stage: Stage, position: int, number: int) -> Finding:
    instance = stage.composed.instances[position]
    miss = instance.subtask.near_misses[number]

    def near_miss(stage: Stage) -> None:
        """The checkpoint it names fails, and all before it pass."""
        # Whoever comes later in the task has no part in it, and might hide that it failed.
        name = f"{instance.id}.{miss.name}"
        trial = stage.solve(name, {instance.id: miss.solve}, instances=position + 1)
        target = f"{instance.id}.{miss.checkpoint}"
        require(target not in trial.passed, f"{target} passed although the solution is wrong ({trial.story})")
        missing = sorted(ancestors(stage.composed.task.graph, target) - trial.passed)
        require(not missing, f"{missing[:1]} should pass before {target} fails ({trial.story})")
        ended = trial.result.valid and trial.result.reason is Reason.AGENT_COMPLETE
        require(ended, f"the wrong solution was not carried out to its end: {trial.story}")

    return replace(check(near_miss, stage), name=f"near_miss {instance.id}.{miss.name}")


def _wrong_solutions(composed: ComposedTask) -> list[tuple[int, int]]:
    return [
        (position, number)
        for position, instance in enumerate(composed.instances)
        for number in range(len(instance.subtask.near_misses))
    ]


def ancestors(graph: CheckpointGraph, id: str) -> frozenset[str]:
    """Returns the ids of all checkpoints that come before one, directly or not; way-checks are left out.

    A way-check need not pass: another way is as good.
    """
    found: set[str] = set()
    pending = list(graph.predecessors(id))
    while pending:
        current = pending.pop()
        if current not in found:
            found.add(current)
            pending.extend(graph.predecessors(current))
    return frozenset(before for before in found if not graph[before].transient)


def require_named(description: str, values: Mapping[str, Any]) -> None:
    """Breaks the rule unless every value stands in the description."""
    for name, value in values.items():
        require(str(value) in description, f"the description does not name {value!r}, the value of {name!r}")


def _require_nothing(trial: Trial) -> None:
    require(trial.result.valid, f"the start state is not sound: {trial.story}")
    require(not trial.passed, f"{sorted(trial.passed)} passed without anything being done")
    require(trial.result.reason is Reason.AGENT_COMPLETE, f"doing nothing ended by {trial.story}")


def _require_all(role: str, what: str, wanted: Iterable[str], offered: set[str]) -> None:
    for name in wanted:
        if name not in offered:
            raise RuleBroken(f"{role} offers no {what} {name!r}; it offers {sorted(offered)}")


def _shape(graph: CheckpointGraph) -> str:
    nodes = [[node.id, node.evaluator.name, node.transient, node.label] for node in graph.checkpoints]
    return json.dumps([nodes, graph.edges])


TEMPLATE_RULES: tuple[Rule[Subtask], ...] = (
    same_seed_same_values,
    description_names_its_blanks,
    output_has_its_type,
    parts_are_built_alike,
    near_misses_are_named,
)
"""Rules of a template that need no device."""

STATIC_RULES: tuple[Rule[Stage], ...] = (task_names_its_values, environments_meet_its_needs)
"""Rules of a task that need no trial; while one is broken, no trial is run."""

TRIAL_RULES: tuple[Rule[Stage], ...] = (doing_nothing_scores_0, oracle_scores_1, needs_are_complete)
"""Rules that run trials, before the near misses."""

LAST_RULES: tuple[Rule[Stage], ...] = (same_seed_same_result, reset_brings_0_back)
"""Rules that run trials, after the near misses."""
