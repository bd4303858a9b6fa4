"""The rules of the environment contract, one function each; `RULES` is their order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from crab.environment import ActResult, OperationDescription
from crab.errors import (
    ActionFailed,
    EnvironmentFailure,
    InfrastructureError,
    InvalidArguments,
    ProbeFailure,
    UnknownAction,
    UsageError,
)
from crab.operation import is_name
from crab.testing.bench import SEED, START_TIME, Bench
from crab.testing.environment_looking import LOOKING_RULES, NO_SUCH, require_json, wait_seconds
from crab.testing.rules import Rule, given, refuses, require
from crab.testing.schemas import schema_problem


def names_are_distinct(bench: Bench) -> None:
    """Names are identifiers without ``__``, and no two actions, probes or preparations share one."""
    about = bench.reset().describe()
    require(is_name(about.kind) and about.kind != "root", f"the kind is called {about.kind!r}")
    groups = (about.actions + about.extra_actions, about.probes, about.preparations)
    for group in groups:
        names = [operation.name for operation in group]
        for name in names:
            require(is_name(name), f"an operation is called {name!r}")
            require(names.count(name) == 1, f"two operations are called {name!r}")


def schemas_are_valid(bench: Bench) -> None:
    """Every schema is a JSON schema in the OpenAI function form, named and described, without references."""
    about = bench.reset().describe()
    for operation in about.actions + about.extra_actions + about.probes + about.preparations:
        problem = schema_problem(operation.schema, operation.name)
        require(not problem, f"schema of {operation.name}: {problem}")


def durations_are_declared(bench: Bench) -> None:
    """An action's duration is at least 0 seconds, or the name of a number among its parameters."""
    about = bench.reset().describe()
    for action in about.actions + about.extra_actions:
        if isinstance(action.duration, str):
            parameter = _properties(action).get(action.duration, {})
            require(parameter.get("type") in ("number", "integer"), f"{action.name}: {action.duration!r} is no number")
        else:
            require(action.duration >= 0, f"{action.name} takes {action.duration} s")


def description_is_stable(bench: Bench) -> None:
    """What an environment says of itself stays the same through reset and act."""
    environment = bench.reset()
    before = environment.describe()
    bench.act(environment)
    require(environment.describe() == before, "describe() changed after an action")
    require(before.description.strip(), "the description is empty")
    require(before.provider.name, "the provider has no name")
    require(before.provider.reset in ("total", "best_effort"), f"provider.reset is {before.provider.reset!r}")
    require(before.provider.time in ("stepped", "real"), f"provider.time is {before.provider.time!r}")


def verbs_wait_for_the_first_reset(bench: Bench) -> None:
    """Before the first reset every verb but describe, reset and close is refused."""
    environment, samples = bench.new(), bench.samples
    question = samples.probes[0]
    refuses("act before reset", lambda: bench.act(environment), UsageError)
    refuses("observe before reset", environment.observe, UsageError)
    refuses("advance before reset", lambda: environment.advance(1.0), UsageError)
    refuses(
        "probe before reset", lambda: environment.probe(question.name, question.arguments), UsageError, ProbeFailure
    )
    if samples.preparation is not None:
        example = samples.preparation
        refuses("prepare before reset", lambda: environment.prepare(example.name, example.arguments), UsageError)


def preparations_change_the_state(bench: Bench) -> None:
    """A preparation changes what probes answer."""
    example = given(bench.samples.preparation, "a preparation")
    environment = bench.reset()
    before = bench.state(environment)
    environment.prepare(example.name, example.arguments)
    require(bench.state(environment) != before, f"{example.name} changed no answer")


def preparations_end_with_the_first_act(bench: Bench) -> None:
    """Preparations are accepted between reset and the first act, looking and probing included, and never after."""
    example = given(bench.samples.preparation, "a preparation")
    environment = bench.reset()
    environment.observe()
    bench.state(environment)
    environment.prepare(example.name, example.arguments)
    bench.act(environment)
    refuses("prepare after an act", lambda: environment.prepare(example.name, example.arguments), UsageError)


def preparations_are_checked(bench: Bench) -> None:
    """An unknown preparation, and arguments that do not fit, are refused and change nothing."""
    environment = bench.reset()
    before = bench.state(environment)
    refuses("an unknown preparation", lambda: environment.prepare(NO_SUCH, {}), UsageError)
    if bench.samples.preparation is not None:
        name, arguments = bench.samples.preparation.name, bench.samples.preparation.arguments
        wrong = {**arguments, NO_SUCH: 1}
        refuses("a preparation with an unknown argument", lambda: environment.prepare(name, wrong), InvalidArguments)
    require(bench.state(environment) == before, "a refused preparation changed the state")


def actions_change_the_state(bench: Bench) -> None:
    """The sample action changes what probes answer: otherwise the other rules would prove nothing."""
    environment = bench.reset()
    before = bench.state(environment)
    bench.act(environment)
    require(bench.state(environment) != before, f"{bench.samples.action.name} changed no answer")


def results_are_as_declared(bench: Bench) -> None:
    """An action returns JSON, its declared duration in seconds, and how it settled."""
    environment, example = bench.reset(), bench.samples.action
    result: object = environment.act(example.name, example.arguments)
    if not isinstance(result, ActResult):
        raise TypeError(f"act returned {type(result).__name__}, not ActResult")
    require_json(result.value, example.name)
    action = next(action for action in environment.describe().actions if action.name == example.name)
    declared = example.arguments.get(action.duration) if isinstance(action.duration, str) else action.duration
    require(declared is None or result.duration == declared, f"{result.duration} s instead of {declared} s")
    require(result.settle_seconds >= 0 and isinstance(result.settled, bool), f"settled: {result}")


def unknown_actions_are_refused(bench: Bench) -> None:
    """An action that is not there is refused as unknown and changes nothing."""
    environment = bench.reset()
    before = bench.state(environment)
    refuses("an unknown action", lambda: environment.act(NO_SUCH, {}), UnknownAction)
    require(bench.state(environment) == before, "a refused action changed the state")


def arguments_are_checked(bench: Bench) -> None:
    """Missing, unknown and mistyped arguments are refused, and nothing is done."""
    environment, example = bench.reset(), bench.samples.action
    before = bench.state(environment)
    action = next(action for action in environment.describe().actions if action.name == example.name)
    wrong: dict[str, dict[str, Any]] = {"an unknown argument": {**example.arguments, NO_SUCH: 1}}
    for name in action.schema["function"]["parameters"].get("required", ()):
        wrong[f"{name} missing"] = {key: value for key, value in example.arguments.items() if key != name}
    for name, schema in _properties(action).items():
        wrong[f"{name} of the wrong type"] = {**example.arguments, name: _misfit(schema)}
    for what, arguments in wrong.items():
        refuses(f"{example.name} with {what}", partial(environment.act, example.name, arguments), InvalidArguments)
        require(bench.state(environment) == before, f"{example.name} with {what} was refused, yet did something")


def failed_actions_leave_it_usable(bench: Bench) -> None:
    """Where the device answers no, that is an `ActionFailed`, and the next action works."""
    example = given(bench.samples.failing, "an action that fails")
    environment = bench.reset()
    refuses(example.name, lambda: environment.act(example.name, example.arguments), ActionFailed)
    bench.act(environment)


def extra_actions_are_asked_for(bench: Bench) -> None:
    """An extra action is there only after a reset that names it, and gone with the next one."""
    environment = bench.reset()
    refuses("an unknown extra action", lambda: bench.reset(extra_actions=[NO_SUCH]), UsageError)
    example = given(bench.samples.extra_action, "an extra action")
    environment = bench.reset()
    refuses("an extra action", lambda: environment.act(example.name, example.arguments), UnknownAction)
    bench.reset(extra_actions=[example.name]).act(example.name, example.arguments)
    environment = bench.reset()
    refuses("an extra action after a reset", lambda: environment.act(example.name, example.arguments), UnknownAction)


def reset_is_total(bench: Bench) -> None:
    """After a reset nothing is left of preparations and actions."""
    # A device that was never used before: on another one, what a reset leaves behind might be there from the start.
    environment = bench.new() if bench.samples.several else bench.reset()
    environment.reset(SEED, START_TIME)
    fresh = bench.state(environment)
    if bench.samples.preparation is not None:
        environment.prepare(bench.samples.preparation.name, bench.samples.preparation.arguments)
    bench.act(environment)
    environment.advance(wait_seconds(environment))
    environment.reset(SEED, START_TIME)
    again = bench.state(environment)
    changed = [name for name in fresh if again[name] != fresh[name]]
    require(not changed, f"after a reset, {', '.join(changed)} is not as it was")


def same_seed_same_state(bench: Bench) -> None:
    """Same seed and actions give the same answers, and the same pictures where that is promised."""
    states = []
    for _ in range(2):
        environment = bench.reset(seed=11)
        bench.act(environment)
        states.append(bench.state(environment))
    require(states[0] == states[1], f"two runs with one seed differ: {states[0]} and {states[1]}")


def environments_are_apart(bench: Bench) -> None:
    """What is done to one environment does not reach another of its kind."""
    if not bench.samples.several:
        given(None, "a second environment")
    first, second = bench.reset(), bench.new()
    second.reset(SEED, START_TIME)
    before = bench.state(second)
    bench.act(first)
    require(bench.state(second) == before, "an action on one environment changed another")


def close_is_final(bench: Bench) -> None:
    """Closing twice does no harm; after it everything is an `EnvironmentFailure`."""
    environment, example = bench.new(), bench.samples.probes[0]
    environment.reset(SEED, START_TIME)
    environment.close()
    environment.close()
    refuses("observe after close", environment.observe, EnvironmentFailure)
    refuses("act after close", lambda: bench.act(environment), EnvironmentFailure)
    refuses("reset after close", lambda: environment.reset(SEED, START_TIME), EnvironmentFailure)
    refuses("probe after close", lambda: environment.probe(example.name, example.arguments), InfrastructureError)


def _properties(operation: OperationDescription) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = operation.schema["function"]["parameters"].get("properties", {})
    return properties


def _misfit(schema: Mapping[str, Any]) -> Any:
    """Returns a value that has none of the types of a schema."""
    types = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))}
    return {NO_SUCH: []} if "object" not in types else 0.5


RULES: tuple[Rule[Bench], ...] = (
    names_are_distinct,
    schemas_are_valid,
    durations_are_declared,
    description_is_stable,
    verbs_wait_for_the_first_reset,
    preparations_change_the_state,
    preparations_end_with_the_first_act,
    preparations_are_checked,
    actions_change_the_state,
    results_are_as_declared,
    unknown_actions_are_refused,
    arguments_are_checked,
    failed_actions_leave_it_usable,
    extra_actions_are_asked_for,
    reset_is_total,
    same_seed_same_state,
    environments_are_apart,
    *LOOKING_RULES,
    close_is_final,
)
"""All rules, in the order in which they are tried."""
