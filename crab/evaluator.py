"""Evaluators: read-only yes/no questions about devices, combined in three-valued logic.

An evaluator function returns exactly ``bool``. An exception or a missed deadline is *unknown*, which is neither:
a broken checker must never look like an agent's failure.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, get_type_hints

from crab.errors import DeadlineExceeded, DefinitionError
from crab.operation import Operation, read_function

EVALUATION_SECONDS = 10.0
"""How long one leaf may take; each of its probes is handed what is left, in seconds."""

ROOT = "root"
"""Name of the environment that is always there; see `submitted`."""


class Probes(Protocol):
    """What an evaluator function gets as `env`: named, read-only questions to one environment."""

    def probe(self, name: str, /, **arguments: Any) -> Any:
        """Asks one question.

        Args:
            name: The probe's name.
            **arguments: JSON values.

        Returns:
            The answer, a JSON value.

        Raises:
            ProbeFailure: The question could not be answered.
        """
        ...


ProbeSource = Callable[[str, float], Probes]
"""Gives the probes of an environment: (role, deadline on the monotonic clock in seconds) → Probes."""


@dataclass(frozen=True)
class Verdict:
    """The answer of an evaluator.

    Attributes:
        value: True, False, or None for unknown.
        reason: Why it is unknown; empty otherwise.
    """

    value: bool | None
    reason: str = ""


class Evaluator(ABC):
    """A question that is ready to be asked: every argument closed, every leaf bound to an environment."""

    name: str
    """Readable, for records and reports."""

    @abstractmethod
    def evaluate(self, probes: ProbeSource) -> Verdict:
        """Answers the question; never raises for what a leaf or a probe does."""

    @property
    @abstractmethod
    def environments(self) -> frozenset[str]:
        """Roles of all environments it asks."""

    @property
    @abstractmethod
    def leaves(self) -> int:
        """Number of evaluator functions it may call, each with a deadline of its own."""

    @abstractmethod
    def rebound(self, roles: Mapping[str, str]) -> Evaluator:
        """Returns the same question asked of other environments; roles not in the mapping stay."""

    @abstractmethod
    def require_ready(self) -> None:
        """Checks that nothing is left open.

        Raises:
            DefinitionError: A leaf still has an open parameter, or no environment.
        """

    def __and__(self, other: Evaluator) -> Evaluator:
        """True when both are true; False as soon as one is false, whatever the other says."""
        return Combination("and", (self, other))

    def __or__(self, other: Evaluator) -> Evaluator:
        """True as soon as one is true, whatever the other says; False when both are false."""
        return Combination("or", (self, other))

    def __invert__(self) -> Evaluator:
        """True when this is false; unknown stays unknown."""
        return Combination("not", (self,))


@dataclass(frozen=True, eq=False)
class Leaf(Operation, Evaluator):
    """One evaluator function with its arguments and its environment.

    Attributes:
        environment: Role of the environment it asks, or None while it is not bound.
    """

    function: Callable[..., bool] | None = field(default=None, repr=False)
    environment: str | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """Calls the plain function, for tests of the function itself."""
        if self.function is None:
            raise DefinitionError(f"{self.name} has closed arguments; use evaluate")
        return self.function(*args, **kwargs)

    def bind(self, /, **values: Any) -> Self:
        """Closes arguments; see `Operation.bind`."""
        return replace(super().bind(**values), function=None)

    def on(self, environment: str) -> Leaf:
        """Returns this leaf bound to the environment with that role."""
        return replace(self, environment=environment)

    def require_ready(self) -> None:
        """Checks that every parameter without default is closed and an environment is named."""
        missing = [parameter.name for parameter in self.parameters if parameter.required]
        if missing:
            raise DefinitionError(f"evaluator {self.name}: {missing[0]!r} is still open; close it with .bind(…)")
        if self.needs_env and self.environment is None:
            raise DefinitionError(f"evaluator {self.name} asks no environment yet; name one with .on(…)")

    @property
    def environments(self) -> frozenset[str]:
        """The one role it asks, or none."""
        return frozenset() if self.environment is None else frozenset({self.environment})

    @property
    def leaves(self) -> int:
        """One."""
        return 1

    def rebound(self, roles: Mapping[str, str]) -> Leaf:
        """Returns the same leaf on another environment."""
        if self.environment is None:
            return self
        return replace(self, environment=roles.get(self.environment, self.environment))

    def evaluate(self, probes: ProbeSource) -> Verdict:
        """Runs the function; anything but a plain ``bool`` within the deadline is unknown."""
        self.require_ready()
        deadline = time.monotonic() + EVALUATION_SECONDS
        try:
            env = probes(self.environment, deadline) if self.environment is not None else None
            value = self.invoke({parameter.name: parameter.default for parameter in self.parameters}, env)
            if time.monotonic() > deadline:
                raise DeadlineExceeded(f"took longer than {EVALUATION_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001  whatever a checker raises makes the answer unknown, by contract
            return Verdict(None, f"{self.name}: {type(error).__name__}: {error}")
        if type(value) is not bool:
            return Verdict(None, f"{self.name} returned {type(value).__name__}, not bool")
        return Verdict(value)


@dataclass(frozen=True, eq=False)
class Combination(Evaluator):
    """``&``, ``|`` or ``~`` over bound evaluators, in Kleene's three-valued logic."""

    operator: str
    parts: tuple[Evaluator, ...]

    def __post_init__(self) -> None:
        self.require_ready()

    def require_ready(self) -> None:
        """Checks that every part is an evaluator and is ready."""
        for part in self.parts:
            if not isinstance(part, Evaluator):
                raise DefinitionError(f"only evaluators combine, not {type(part).__name__}")
            part.require_ready()

    @property
    def name(self) -> str:  # type: ignore[override]  # a combination's name follows from its parts
        """The expression over the parts' names."""
        if self.operator == "not":
            return f"not {self.parts[0].name}"
        return "(" + f" {self.operator} ".join(part.name for part in self.parts) + ")"

    @property
    def environments(self) -> frozenset[str]:
        """Roles of all parts."""
        return frozenset().union(*(part.environments for part in self.parts))

    @property
    def leaves(self) -> int:
        """Those of all parts."""
        return sum(part.leaves for part in self.parts)

    def rebound(self, roles: Mapping[str, str]) -> Combination:
        """Returns the same expression over other environments."""
        return Combination(self.operator, tuple(part.rebound(roles) for part in self.parts))

    def evaluate(self, probes: ProbeSource) -> Verdict:
        """Asks the parts in order, and no further once the answer is settled."""
        if self.operator == "not":
            verdict = self.parts[0].evaluate(probes)
            return verdict if verdict.value is None else Verdict(not verdict.value)
        settling = self.operator == "or"
        unknown: Verdict | None = None
        for part in self.parts:
            verdict = part.evaluate(probes)
            if verdict.value is settling:
                return verdict
            if verdict.value is None and unknown is None:
                unknown = verdict
        return unknown or Verdict(not settling)


def evaluator(function: Callable[..., bool]) -> Leaf:
    """Makes an evaluator of a function that returns exactly ``bool``.

    Args:
        function: Its parameter `env` (a `Probes`) is injected; the others are closed with ``bind``.

    Raises:
        DefinitionError: The return annotation is not ``bool``, or `read_function` refuses the function.
    """
    fields = read_function(function, "evaluator")
    if get_type_hints(function).get("return") is not bool:
        raise DefinitionError(f"evaluator {fields['name']} must be annotated to return bool")
    return Leaf(**fields, function=function)


def normalise_answer(text: str) -> str:
    """Returns a submitted answer in the form in which answers are compared.

    Unicode is brought to NFC, line ends to a line feed, and white space around the whole is dropped. Nothing else:
    letter case, inner spaces and punctuation count.
    """
    import unicodedata

    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


@evaluator
def answer_submitted(env: Probes, answer: str) -> bool:
    """Whether the agent's one submission equals the answer after `normalise_answer`."""
    submission = env.probe("submission")
    return isinstance(submission, str) and normalise_answer(submission) == normalise_answer(answer)


def submitted(answer: str) -> Evaluator:
    """Returns the question whether exactly this answer was submitted through the root environment."""
    return answer_submitted.bind(answer=answer).on(ROOT)
