"""Subtasks (templates with proof) and tasks (what a trial runs).

A `Subtask` makes, from parameters, everything a trial needs: a description, set-up, a checkpoint graph, and the
proof that it can be solved (its oracle) and not be cheated (its near misses).
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crab.errors import DefinitionError
from crab.evaluator import ROOT
from crab.graph import CheckpointGraph
from crab.observation import Observations
from crab.operation import SEPARATOR, is_name

Values = Mapping[str, Any]
"""Parameter values of one subtask instance, by name."""


@dataclass(frozen=True)
class ValueType:
    """A declared word for what a parameter or an output means, for example ``file_path``.

    An output may feed a parameter of the same type. Two types are the same when their names are.

    Attributes:
        name: A Python identifier.
        description: What a value of this type is, in one sentence.
        python_type: The type of its values; all of them are JSON scalars.
    """

    name: str
    description: str
    python_type: type = str


Pool = Sequence[Any] | Callable[[random.Random], Any]
"""Where a parameter's values come from: a fixed choice, or a function of a seeded generator."""


@dataclass(frozen=True)
class Parameter:
    """A typed blank in a subtask's description.

    Attributes:
        name: As used in the description's braces.
        type: What its values mean.
        pool: Where generated values come from.
        description: One line for authors.
    """

    name: str
    type: ValueType
    pool: Pool
    description: str = ""

    def draw(self, generator: random.Random) -> Any:
        """Returns a value from the pool; the same generator state gives the same value."""
        return self.pool(generator) if callable(self.pool) else generator.choice(self.pool)


@dataclass(frozen=True)
class Output:
    """What a subtask leaves behind for the next one.

    Attributes:
        type: What the value means.
        phrase: How a description refers to it before it is known, with ``{parameters}``: "the text of {file}".
        value: Computes it from the parameters alone, so that no device has to be asked.
    """

    type: ValueType
    phrase: str
    value: Callable[[Values], Any]


@dataclass(frozen=True)
class SetupCall:
    """One privileged preparation of an environment before the start.

    Attributes:
        environment: Role.
        name: Name of the preparation.
        arguments: JSON values.
    """

    environment: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class OracleCall:
    """One action of a reference solution.

    Attributes:
        environment: Role, or ``root``.
        action: Name of the action there.
        arguments: JSON values.
    """

    environment: str
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def perform(environment: str, action: str, /, **arguments: Any) -> OracleCall:
    """Makes an `OracleCall` for an oracle to yield, e.g. of the action ``click`` with ``x=1, y=2`` on ``desktop``."""
    return OracleCall(environment, action, arguments)


def submit(answer: str) -> OracleCall:
    """Returns the call that submits an answer through the root environment."""
    return OracleCall(ROOT, "submit", {"answer": answer})


Solution = Generator[OracleCall | None, Observations, None]
"""A running oracle: yields calls, is sent what an agent would be shown; it never probes or prepares.

Yielding None acts on nothing: it asks for the present observations, to look before the first call.
"""

Solve = Callable[[Values], Solution]


@dataclass(frozen=True)
class NearMiss:
    """A solution that is wrong in one named way and must not be accepted.

    Attributes:
        name: What is wrong, for example ``wrong_letter_case``.
        checkpoint: Id of the checkpoint that must fail; all before it must pass.
        solve: The oracle with one mutation; it gets the true parameters.
    """

    name: str
    checkpoint: str
    solve: Solve


@dataclass(frozen=True)
class Needs:
    """What a subtask asks of an environment, so that a run is refused before its start, not in its middle.

    Attributes:
        probes: Names of probes.
        roles: Application roles, for example ``text_editor``; the provider maps them to applications.
    """

    probes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subtask:
    """A template of a task, with its proof.

    Attributes:
        id: A Python identifier, readable and unique among all subtasks.
        version: At least 1; it grows whenever results may change.
        description: What the agent is told, with ``{parameters}`` in braces.
        environments: Kind of environment by role.
        parameters: Its blanks.
        checkpoints: Builds the graph from parameter values.
        solve: The oracle.
        near_misses: At least two wrong solutions.
        setup: Builds the ordered preparations from parameter values.
        needs: What it asks of each environment, by role.
        output: What it leaves for the next subtask, or None.
        extra_actions: Names of further actions to enable, by role.
        tags: Words to select by.
        clause: The description once more for tasks of several subtasks, or empty: an imperative clause without capital
            and full stop, whose blanks stand where a quoted value and a noun phrase both read well
            (``submit {text} as your answer``).
    """

    id: str
    version: int
    description: str
    environments: Mapping[str, str]
    parameters: tuple[Parameter, ...]
    checkpoints: Callable[[Values], CheckpointGraph]
    solve: Solve
    near_misses: tuple[NearMiss, ...]
    setup: Callable[[Values], Sequence[SetupCall]] = lambda values: ()
    needs: Mapping[str, Needs] = field(default_factory=dict)
    output: Output | None = None
    extra_actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    clause: str = ""

    def __post_init__(self) -> None:
        if not self.id.isidentifier() or self.version < 1:
            raise DefinitionError(f"subtask {self.id!r}: the id is an identifier and the version at least 1")
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) != len(names):
            raise DefinitionError(f"subtask {self.id}: two parameters share a name: {names}")
        for text in (self.description, self.clause, self.output.phrase if self.output else ""):
            for blank in _blanks(f"subtask {self.id}", text):
                if blank not in names:
                    raise DefinitionError(f"subtask {self.id}: {{{blank}}} in its text is no parameter of {names}")
        _check_roles(f"subtask {self.id}", self.environments)
        unknown = sorted({*self.needs, *self.extra_actions} - set(self.environments))
        if unknown:
            raise DefinitionError(f"subtask {self.id}: {unknown[0]!r} is none of its roles {sorted(self.environments)}")

    @property
    def reference(self) -> str:
        """Id and version as task documents name it, for example ``create_folder@1``."""
        return f"{self.id}@{self.version}"

    def draw(self, seed: int) -> dict[str, Any]:
        """Returns one value for each parameter; the same seed gives the same values."""
        generator = random.Random(f"{self.reference}:{seed}")
        return {parameter.name: parameter.draw(generator) for parameter in self.parameters}

    def check(self, values: Values) -> None:
        """Checks that values fit the parameters.

        Raises:
            DefinitionError: A value is missing, unknown or of the wrong type.
        """
        names = {parameter.name for parameter in self.parameters}
        for name in sorted(names ^ set(values)):
            problem = "is missing" if name in names else "is no parameter"
            raise DefinitionError(f"{self.reference}: {name!r} {problem}; parameters are {sorted(names)}")
        for parameter in self.parameters:
            if type(values[parameter.name]) is not parameter.type.python_type:
                raise DefinitionError(
                    f"{self.reference}: {parameter.name} must be {parameter.type.python_type.__name__}"
                    f" ({parameter.type.name}), got {values[parameter.name]!r}"
                )

    def describe(self, values: Values) -> str:
        """Returns the description with its blanks filled in."""
        return self.description.format_map(dict(values))


@dataclass(frozen=True)
class Task:
    """What a trial runs: resolved, with nothing left to choose.

    Attributes:
        id: Readable; the name of its document.
        version: At least 1.
        description: What the agent is told.
        environments: Kind of environment by role.
        graph: Its checkpoints.
        setup: Preparations in order.
        needs: What it asks of each environment, by role.
        extra_actions: Further actions to enable, by role.
        tags: Words to select by.
        family: Cluster for statistics.
    """

    id: str
    version: int
    description: str
    environments: Mapping[str, str]
    graph: CheckpointGraph
    setup: tuple[SetupCall, ...] = ()
    needs: Mapping[str, Needs] = field(default_factory=dict)
    extra_actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    family: str = ""

    def __post_init__(self) -> None:
        _check_roles(f"task {self.id}", self.environments)
        devices = {*(call.environment for call in self.setup), *self.needs, *self.extra_actions}
        for role in sorted((self.graph.environments - {ROOT} | devices) - set(self.environments)):
            raise DefinitionError(f"task {self.id}: {role!r} is none of its environments {sorted(self.environments)}")


def _check_roles(what: str, environments: Mapping[str, str]) -> None:
    if not environments or ROOT in environments:
        raise DefinitionError(f"{what}: it needs an environment, and {ROOT!r} is always there by itself")
    for role in environments:
        if not is_name(role):
            raise DefinitionError(f"{what}: role {role!r} must be an identifier without {SEPARATOR!r}")


def _blanks(what: str, text: str) -> list[str]:
    try:
        return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise DefinitionError(f"{what}: {error} in {text!r}; braces that are meant are doubled") from error
