"""Conformance suite of agents, on tasks of the toy devices: every agent keeps these rules.

Call `check_agent` anywhere, or inherit `AgentConformance` in a pytest module::

    class TestMyAgent(AgentConformance):
        def make_agent(self) -> Agent:
            return MyAgent()
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import ClassVar

from crab.agent import Agent, Call, Decision, Message, TaskView, Tool, Usage
from crab.environment import Environment, Finding
from crab.errors import ActionFailed, InvalidCall
from crab.evaluator import ROOT, submitted
from crab.graph import checkpoint, parallel
from crab.observation import CallResult, ObservationRequest, Observations
from crab.run.root import RootDevice, root_environment
from crab.run.tools import ToolBox
from crab.task import Task
from crab.testing.bench import START_TIME
from crab.testing.environment import Metafunc
from crab.testing.rules import LeftOut, Rule, check, require
from crab.testing.schemas import arguments_problem
from crab.testing.toy import TOY_DESKTOP, TOY_PHONE

ENDINGS = frozenset({"complete", "declare_infeasible"})
"""Tools that end a task."""

EnvironmentMaker = Callable[[], Environment]


@dataclass(frozen=True)
class AgentSamples:
    """What the rules try an agent on.

    Attributes:
        environments: How an environment is started, by role.
        description: What the agent is told.
        turns: Decisions asked for, at most; an agent may end the task before.
        repeatable: Whether the agent promises the same decisions for the same seed and observations.
        request: What the observations hold.
    """

    environments: Mapping[str, EnvironmentMaker] = field(
        default_factory=lambda: {
            "desktop": lambda: TOY_DESKTOP.provider().start({}),
            "phone": lambda: TOY_PHONE.provider().start({}),
        }
    )
    description: str = 'Save a note called "list" with the text "bring bread" on the desktop.'
    turns: int = 6
    repeatable: bool = True
    request: ObservationRequest = field(default_factory=ObservationRequest)


@dataclass(frozen=True)
class Turn:
    """One decision of a rehearsal, with what it was made on."""

    observations: Observations
    decision: Decision


class Rehearsal:
    """Lets agents work on started environments without checkpoints, limits or records.

    Args:
        make: Makes an agent.
        samples: What it works on.
    """

    def __init__(self, make: Callable[[], Agent], samples: AgentSamples) -> None:
        self._make = make
        self.samples = samples

    @contextmanager
    def agent(self) -> Iterator[Agent]:
        """Gives a new agent and closes it afterwards."""
        agent = self._make()
        try:
            yield agent
        finally:
            agent.close()

    def play(self, agent: Agent, *, seed: int = 3, roles: tuple[str, ...] | None = None) -> Iterator[Turn]:
        """Starts a task and yields the agent's turns, until it ends the task or the turns are over."""
        environments = {role: self.samples.environments[role]() for role in roles or self.samples.environments}
        try:
            yield from self._turns(agent, environments, seed)
        finally:
            for environment in environments.values():
                environment.close()

    def view(self, environments: Mapping[str, Environment], seed: int) -> tuple[TaskView, ToolBox]:
        """Returns what an agent is told about a task on these environments, and the way back from its calls."""
        task = Task(
            id="rehearsal",
            version=1,
            description=self.samples.description,
            environments={
                role: environment.describe().kind for role, environment in environments.items() if role != ROOT
            },
            graph=parallel(checkpoint("never", submitted("never"))),
        )
        tools = ToolBox(task, {role: environment.describe() for role, environment in environments.items()})
        return tools.view(seed), tools

    def _turns(self, agent: Agent, environments: Mapping[str, Environment], seed: int) -> Iterator[Turn]:
        everything = {**environments, ROOT: root_environment(RootDevice())}
        for environment in everything.values():
            environment.reset(seed, START_TIME)
        view, tools = self.view(everything, seed)
        agent.start(view)
        results: tuple[CallResult, ...] = ()
        for number in range(1, self.samples.turns + 1):
            shown = {role: environment.observe(self.samples.request) for role, environment in environments.items()}
            observations = Observations(number, shown, results)
            decision: object = agent.decide(observations)
            if not isinstance(decision, Decision):
                raise TypeError(f"decide returned {type(decision).__name__}, not a Decision")
            yield Turn(observations, decision)
            if any(call.name in ENDINGS for call in decision.calls):
                return
            results = tuple(_carry_out(call, tools, everything) for call in decision.calls)


def check_agent(make: Callable[[], Agent], samples: AgentSamples | None = None) -> tuple[Finding, ...]:
    """Tries all rules of the agent contract.

    Args:
        make: Makes a new agent; called several times.
        samples: What it is tried on; a toy desktop and a toy phone by default.

    Returns:
        One finding for each rule, in a fixed order.
    """
    rehearsal = Rehearsal(make, samples or AgentSamples())
    return tuple(check(rule, rehearsal) for rule in AGENT_RULES)


class AgentConformance:
    """A pytest class with one test for each rule: inherit it and override `make_agent`."""

    samples: ClassVar[AgentSamples] = AgentSamples()

    def make_agent(self) -> Agent:
        """Makes a new agent; called several times.

        Raises:
            NotImplementedError: It is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} must override make_agent")

    def pytest_generate_tests(self, metafunc: Metafunc) -> None:
        """Makes one test of each rule."""
        if "rule" in metafunc.fixturenames:
            metafunc.parametrize("rule", [rule.__name__ for rule in AGENT_RULES])

    def test_keeps(self, rule: str) -> None:
        """The agent keeps the rule."""
        function = next(function for function in AGENT_RULES if function.__name__ == rule)
        function(Rehearsal(self.make_agent, self.samples))


def it_has_a_name(rehearsal: Rehearsal) -> None:
    """An agent has a name of one line."""
    with rehearsal.agent() as agent:
        name: object = getattr(agent, "name", None)
        require(isinstance(name, str) and name.strip() == name and name.isprintable() and name, f"its name is {name!r}")


def it_decides(rehearsal: Rehearsal) -> None:
    """Every decision is a `Decision` made of calls, messages and usage."""
    with rehearsal.agent() as agent:
        for turn in rehearsal.play(agent):
            decision = turn.decision
            parts = [*((call, Call) for call in decision.calls), *((said, Message) for said in decision.messages)]
            for part, wanted in (*parts, (decision.usage, Usage)):
                require(isinstance(part, wanted), f"a decision holds {part!r}, no {wanted.__name__}")


def it_calls_tools_of_the_view(rehearsal: Rehearsal) -> None:
    """Every call names a tool of the view, with arguments that fit its schema."""
    roles = tuple(rehearsal.samples.environments)
    for chosen in dict.fromkeys((roles, roles[:1])):
        with rehearsal.agent() as agent:
            recorder = _Recorder(agent)
            for turn in rehearsal.play(recorder, roles=chosen):
                for call in turn.decision.calls:
                    _require_fit(call, {tool.name: tool for tool in recorder.view.tools})


def its_calls_are_told_apart(rehearsal: Rehearsal) -> None:
    """Ids of calls are different within a decision, where they are given."""
    with rehearsal.agent() as agent:
        for turn in rehearsal.play(agent):
            ids = [call.id for call in turn.decision.calls if call.id]
            require(len(set(ids)) == len(ids), f"two calls of a decision share an id: {ids}")


def it_leaves_what_it_is_given(rehearsal: Rehearsal) -> None:
    """The task view and the observations are as before when the agent is done with them."""
    with rehearsal.agent() as agent:
        recorder = _Recorder(agent)
        for _ in rehearsal.play(recorder):
            require(not recorder.changed, f"the agent changed {recorder.changed}")


def its_usage_is_counted(rehearsal: Rehearsal) -> None:
    """Usage counts are whole and at least 0, reasoning is part of the output, and cost is at least 0 or unknown."""
    with rehearsal.agent() as agent:
        for turn in rehearsal.play(agent):
            usage = turn.decision.usage
            for part in fields(usage):
                value = getattr(usage, part.name)
                whole = part.name == "cost" or type(value) is int
                require(value is None if value is None else whole and value >= 0, f"usage.{part.name} is {value!r}")
            require(usage.reasoning <= usage.output, f"{usage.reasoning} of {usage.output} tokens are reasoning")


def it_repeats_under_a_seed(rehearsal: Rehearsal) -> None:
    """The same seed and observations give the same decisions, where the agent promises that."""
    _require_repeatable(rehearsal)
    require(_decisions(rehearsal) == _decisions(rehearsal), "two agents with one seed decide differently")


def it_forgets_the_last_task(rehearsal: Rehearsal) -> None:
    """A start forgets the task before: the agent decides as a new one would."""
    _require_repeatable(rehearsal)
    with rehearsal.agent() as agent:
        for _ in rehearsal.play(agent, seed=8):
            continue
        second = [turn.decision.calls for turn in rehearsal.play(agent)]
    require(second == _decisions(rehearsal), "after another task it decides differently from a new agent")


def it_survives_refusals(rehearsal: Rehearsal) -> None:
    """Refused calls are answered with another decision."""
    with rehearsal.agent() as agent:
        turn = next(rehearsal.play(agent))
        refused = tuple(CallResult(call.id, call.name, executed=False, error="refused") for call in turn.decision.calls)
        again: object = agent.decide(Observations(2, turn.observations.environments, refused))
        require(isinstance(again, Decision), f"after a refusal it returned {type(again).__name__}")


def it_closes_twice(rehearsal: Rehearsal) -> None:
    """Closing is safe before a start, after it, and twice."""
    with rehearsal.agent() as agent:
        agent.close()
    with rehearsal.agent() as agent:
        next(rehearsal.play(agent))
        agent.close()


class _Recorder:
    """Passes everything on to an agent, and notices what it does to what it is given."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.name = "recorder"
        self.changed = ""
        self.view = TaskView("", {}, ())

    def start(self, view: TaskView) -> None:
        self.view = copy.deepcopy(view)
        self._given = view
        self._agent.start(view)
        self._look("the task view in start", view, self.view)

    def decide(self, observations: Observations) -> Decision:
        before = copy.deepcopy(observations)
        decision = self._agent.decide(observations)
        self._look("the observations", observations, before)
        self._look("the task view", self._given, self.view)
        return decision

    def close(self) -> None:
        self._agent.close()

    def _look(self, what: str, now: object, before: object) -> None:
        if now != before:
            self.changed = what


def _carry_out(call: Call, tools: ToolBox, environments: Mapping[str, Environment]) -> CallResult:
    try:
        tool = tools.resolve(call)
        value = environments[tool.environment].act(tool.action, call.arguments).value
    except InvalidCall as error:
        return CallResult(call.id, call.name, executed=False, error=str(error))
    except ActionFailed as error:
        return CallResult(call.id, call.name, executed=True, error=str(error))
    return CallResult(call.id, call.name, executed=True, value=value)


def _require_fit(call: Call, tools: Mapping[str, Tool]) -> None:
    require(call.name in tools, f"it called {call.name!r}; tools are {sorted(tools)}")
    try:
        json.dumps(dict(call.arguments), allow_nan=False)
    except (TypeError, ValueError) as error:
        require(False, f"arguments of {call.name} are not JSON: {error}")
    problem = arguments_problem(tools[call.name].schema, call.arguments)
    require(not problem, f"arguments of {call.name} do not fit: {problem}")


def _decisions(rehearsal: Rehearsal) -> list[tuple[Call, ...]]:
    with rehearsal.agent() as agent:
        return [turn.decision.calls for turn in rehearsal.play(agent)]


def _require_repeatable(rehearsal: Rehearsal) -> None:
    if not rehearsal.samples.repeatable:
        raise LeftOut("the agent does not promise to repeat itself")


AGENT_RULES: tuple[Rule[Rehearsal], ...] = (
    it_has_a_name,
    it_decides,
    it_calls_tools_of_the_view,
    its_calls_are_told_apart,
    it_leaves_what_it_is_given,
    its_usage_is_counted,
    it_repeats_under_a_seed,
    it_forgets_the_last_task,
    it_survives_refusals,
    it_closes_twice,
)
"""All rules, in the order in which they are tried."""
