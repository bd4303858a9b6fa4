"""Actions: typed Python functions that an agent may call by name.

``@action`` makes an `Action` of a function: an operation (see `crab.operation`) that composes with ``bind``, ``>>`` and
``+``, and takes time on its environment's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from crab.errors import DefinitionError, InvalidArguments
from crab.operation import Operation, checked_value, read_function

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Action(Operation, Generic[P, R]):
    """An operation that an agent may call.

    Calling it calls the plain function; `run` validates first. `>>` feeds the result of one action into the only
    open parameter of the next; `+` runs two actions in order.

    Attributes:
        function: The decorated function, or None for a composition.
        duration: Seconds the action takes on the environment's clock: a number, or the name of the parameter
            that holds it.
    """

    function: Callable[P, R] | None = field(default=None, repr=False)
    duration: float | str = 0.0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the plain function, without validation."""
        if self.function is None:
            raise DefinitionError(f"{self.name} is a composition; use run(arguments, env)")
        return self.function(*args, **kwargs)

    def bind(self, /, **values: Any) -> Self:
        """Closes arguments; see `Operation.bind`. The result is run with `run`, not called."""
        bound = super().bind(**values)
        if isinstance(self.duration, str) and self.duration in values:
            return replace(bound, function=None, duration=float(values[self.duration]))
        return replace(bound, function=None)

    def seconds(self, arguments: Mapping[str, Any]) -> float:
        """Returns how long the action takes on the environment's clock with these checked arguments, in seconds."""
        if isinstance(self.duration, str):
            return float(arguments[self.duration])
        return self.duration

    def __rshift__(self, other: Action[Any, S]) -> Action[P, S]:
        """Returns an action that feeds this one's result into `other`'s only open parameter."""
        if len(other.parameters) != 1:
            names = [parameter.name for parameter in other.parameters]
            raise DefinitionError(f"{self.name} >> {other.name}: {other.name} needs one open parameter, has {names}")
        target = other.parameters[0]
        first, second = self.invoke, other.invoke
        name = f"{self.name}_into_{other.name}"

        def piped(arguments: Mapping[str, Any], env: Any) -> Any:
            result = first(arguments, env)
            try:
                value = checked_value(other.name, target, result)
            except InvalidArguments as error:
                # Whoever composed them made the mistake, not whoever called.
                raise DefinitionError(f"{name}: the result of {self.name} does not fit {error}") from error
            return second({target.name: value}, env)

        return Action(
            name=name,
            description=f"{self.description} Then, with its result: {other.description}",
            parameters=self.parameters,
            needs_env=self.needs_env or other.needs_env,
            invoke=piped,
            duration=_total_duration(self, other),
        )

    def __add__(self, other: Action[Any, S]) -> Action[..., S]:
        """Returns an action that runs this one, then `other`, and gives the result of `other`."""
        mine = {parameter.name for parameter in self.parameters}
        shared = sorted(mine & {parameter.name for parameter in other.parameters})
        if shared:
            raise DefinitionError(f"{self.name} + {other.name}: both ask for {shared[0]!r}; bind it in one of them")
        first, second = self.invoke, other.invoke

        def in_order(arguments: Mapping[str, Any], env: Any) -> Any:
            first({name: value for name, value in arguments.items() if name in mine}, env)
            return second({name: value for name, value in arguments.items() if name not in mine}, env)

        # A required parameter may follow an optional one here: arguments are always given by name.
        return Action(
            name=f"{self.name}_then_{other.name}",
            description=f"{self.description} Then: {other.description}",
            parameters=self.parameters + other.parameters,
            needs_env=self.needs_env or other.needs_env,
            invoke=in_order,
            duration=_total_duration(self, other),
        )


@overload
def action(function: Callable[P, R], /) -> Action[P, R]: ...
@overload
def action(*, duration: float | str = 0.0) -> Callable[[Callable[P, R]], Action[P, R]]: ...
def action(
    function: Callable[P, R] | None = None, /, *, duration: float | str = 0.0
) -> Action[P, R] | Callable[[Callable[P, R]], Action[P, R]]:
    """Makes an `Action` of a typed function; works bare and with keywords.

    Args:
        function: The function; its docstring becomes the description, its Args section the parameters' texts.
        duration: Seconds it takes on the environment's clock, or the name of the parameter that holds them.

    Raises:
        DefinitionError: The function breaks a rule of `read_function`, or `duration` names no parameter.
    """

    def make(decorated: Callable[P, R]) -> Action[P, R]:
        fields = read_function(decorated, "action")
        names = [parameter.name for parameter in fields["parameters"]]
        if isinstance(duration, str) and duration not in names:
            raise DefinitionError(f"action {fields['name']}: duration names no parameter: {duration!r}")
        return Action(**fields, function=decorated, duration=duration)

    return make if function is None else make(function)


def _total_duration(first: Action[Any, Any], second: Action[Any, Any]) -> float | str:
    if isinstance(first.duration, str) or isinstance(second.duration, str):
        raise DefinitionError(f"{first.name}, {second.name}: bind the duration before composing")
    return first.duration + second.duration
