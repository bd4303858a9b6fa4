"""Operations: named, typed functions whose arguments are checked before they run.

Actions, evaluators, probes and preparations are operations. Signature and Google-style docstring become a tool schema
in the OpenAI function form; arguments are JSON values with exact types.
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args, get_origin, get_type_hints

from crab.errors import DefinitionError, InvalidArguments

if TYPE_CHECKING:
    from pydantic import BaseModel

ENVIRONMENT_PARAMETER = "env"
"""The one injected parameter: never part of a schema, filled in by whoever runs the operation."""

SEPARATOR = "__"
"""Stands between environment and action in tool names, so no name may contain it."""


_NOT_PLAIN = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)

# JSON Schema keywords whose value is data and no schema; and those that tool schemas do without ("discriminator"
# points at definitions that have been inlined).
_VALUE_KEYWORDS = frozenset({"default", "const", "enum", "examples", "required"})
_DROPPED_KEYWORDS = frozenset({"title", "discriminator"})


class _Required:
    """Marks a parameter without default; its own class so that None and Ellipsis stay usable as defaults."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True)
class OperationParameter:
    """One parameter of an operation.

    Attributes:
        name: As written in the function.
        annotation: Its resolved type.
        default: Its default, or `REQUIRED`.
        description: Its text in the docstring; may be empty.
    """

    name: str
    annotation: Any
    default: Any = REQUIRED
    description: str = ""

    @property
    def required(self) -> bool:
        """Whether a caller has to give a value."""
        return self.default is REQUIRED


Invoke = Callable[[Mapping[str, Any], Any], Any]
"""Runs an operation: (values of its open parameters, env) → result."""


@dataclass(frozen=True, eq=False)
class Operation:
    """A named, typed function whose arguments are checked before it runs.

    Attributes:
        name: See `is_name`.
        description: Short and long text of the docstring; the name in words when there is none.
        parameters: The open parameters, in order, without `env`.
        needs_env: Whether `env` is injected.
        invoke: Runs it on checked values.
    """

    name: str
    description: str
    parameters: tuple[OperationParameter, ...]
    needs_env: bool
    invoke: Invoke = field(repr=False)

    def bind(self, /, **values: Any) -> Self:
        """Closes arguments: returns a copy that no longer asks for them.

        Args:
            **values: A value for each parameter to close, checked against its type.

        Raises:
            DefinitionError: A name is not an open parameter.
            InvalidArguments: A value has the wrong type.
        """
        open_names = [parameter.name for parameter in self.parameters]
        unknown = sorted(set(values) - set(open_names))
        if unknown:
            raise DefinitionError(f"{self.name} has no open parameter {unknown[0]!r}; open are: {open_names}")
        closed = {
            parameter.name: checked_value(self.name, parameter, values[parameter.name])
            for parameter in self.parameters
            if parameter.name in values
        }
        inner = self.invoke
        return replace(
            self,
            parameters=tuple(parameter for parameter in self.parameters if parameter.name not in closed),
            invoke=lambda arguments, env: inner({**arguments, **closed}, env),
        )

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments as Python values, defaults filled in.

        Args:
            arguments: JSON values by parameter name. Types are exact: ``"3"`` is no integer; numbers are finite.

        Raises:
            InvalidArguments: Naming the first argument that is missing, unknown, of the wrong type or out of range.
            DefinitionError: A parameter has a type that JSON cannot say.
        """
        from pydantic import ValidationError

        try:
            # JSON mode is strict about types, yet takes a list for a tuple and a string for an enum.
            document = json.dumps(dict(arguments), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArguments(f"{self.name}: arguments are not JSON: {error}") from error
        try:
            model = self._model.model_validate_json(document, strict=True)
        except ValidationError as error:
            raise InvalidArguments(f"{self.name}: {_first_problem(error)}; expected {self._signature_text}") from error
        return {parameter.name: getattr(model, f"field_{index}") for index, parameter in enumerate(self.parameters)}

    def run(self, arguments: Mapping[str, Any] | None = None, env: Any = None) -> Any:
        """Validates the arguments, then runs the operation.

        Args:
            arguments: JSON values by parameter name.
            env: What the function gets as `env`.

        Raises:
            InvalidArguments: The arguments do not fit.
            DefinitionError: The operation needs an `env` and none was given.
        """
        if self.needs_env and env is None:
            raise DefinitionError(f"{self.name} acts on an environment; pass env=…")
        return self.invoke(self.validate(arguments or {}), env)

    def schema(self) -> dict[str, Any]:
        """Returns the tool schema in the OpenAI function form (``{"type": "function", "function": {…}}``).

        References are inlined and generated titles left out; the result is the caller's own.

        Raises:
            DefinitionError: A parameter has a type that JSON cannot say, or one that contains itself.
        """
        parameters = copy.deepcopy(self._json_schema)
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }

    @cached_property
    def _model(self) -> type[BaseModel]:
        from pydantic import ConfigDict, Field, PydanticUserError, create_model

        # Fields have names of our own, so that a parameter may be called `model_config` or `schema`.
        fields: dict[str, Any] = {}
        for index, parameter in enumerate(self.parameters):
            settings: dict[str, Any] = {"alias": parameter.name}
            if parameter.description:
                settings["description"] = parameter.description
            if not parameter.required:
                settings["default"] = parameter.default
            fields[f"field_{index}"] = (parameter.annotation, Field(**settings))
        config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
        try:
            return create_model(self.name, __config__=config, **fields)
        except PydanticUserError as error:
            raise self._not_json() from error

    @cached_property
    def _json_schema(self) -> dict[str, Any]:
        from pydantic import PydanticUserError

        try:
            schema = self._model.model_json_schema(by_alias=True)
        except PydanticUserError as error:
            raise self._not_json() from error
        definitions = schema.pop("$defs", {})
        return {"properties": {}, **_plain_schema(schema, definitions)}

    def _not_json(self) -> DefinitionError:
        known = "str, int, float, bool, enums, Literal, list, dict and pydantic models"
        return DefinitionError(f"{self.name}({self._signature_text}): a type that JSON cannot say; use {known}")

    @property
    def _signature_text(self) -> str:
        if not self.parameters:
            return "no arguments"
        return ", ".join(
            f"{parameter.name}: {_type_text(parameter.annotation)}" + ("" if parameter.required else " (optional)")
            for parameter in self.parameters
        )


def is_name(text: str) -> bool:
    """Whether this may name an operation, an environment or a role, so that tool names made of two stay unambiguous.

    Names are ASCII identifiers without ``__`` that do not end in an underscore.
    """
    return text.isidentifier() and text.isascii() and SEPARATOR not in text and not text.endswith("_")


def read_function(function: Callable[..., Any], what: str) -> dict[str, Any]:
    """Reads a function into the fields of an `Operation`.

    Args:
        function: A plain function with annotated parameters.
        what: What it is being made into, for messages ("action", "probe", …).

    Returns:
        The keyword arguments name, description, parameters, needs_env, invoke.

    Raises:
        DefinitionError: The function is async, or a parameter is variadic, positional-only, or not annotated with a
            type that can be resolved.
    """
    name = getattr(function, "__name__", repr(function))
    if any(test(function) for test in _NOT_PLAIN):
        raise DefinitionError(f"{what} {name} must be a plain function, not async or a generator")
    if not is_name(name):
        raise DefinitionError(f"{what} {name}: a name is an ASCII identifier without {SEPARATOR!r} or '_' at its end")
    hints = _resolved_hints(function, what)
    texts, description = _docstring(function)
    parameters: list[OperationParameter] = []
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise DefinitionError(f"{what} {name}: parameter {parameter.name!r} must be callable by name")
        if parameter.name == ENVIRONMENT_PARAMETER:
            continue
        if parameter.name not in hints:
            raise DefinitionError(f"{what} {name}: parameter {parameter.name!r} has no type annotation")
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        parameters.append(
            OperationParameter(parameter.name, hints[parameter.name], default, texts.get(parameter.name, ""))
        )
    needs_env = ENVIRONMENT_PARAMETER in signature.parameters

    def invoke(arguments: Mapping[str, Any], env: Any) -> Any:
        return function(env=env, **arguments) if needs_env else function(**arguments)

    return {
        "name": name,
        "description": description or name.replace("_", " ").capitalize() + ".",
        "parameters": tuple(parameters),
        "needs_env": needs_env,
        "invoke": invoke,
    }


def _resolved_hints(function: Callable[..., Any], what: str) -> dict[str, Any]:
    # The type of `env` is for type checkers only, so it may be imported for them only.
    names = {name: hint for name, hint in function.__annotations__.items() if name != ENVIRONMENT_PARAMETER}
    try:
        return get_type_hints(
            SimpleNamespace(__annotations__=names), getattr(function, "__globals__", {}), include_extras=True
        )
    except NameError as error:
        problem = f"annotation {error.name!r} is not known in its module when it is decorated"
        raise DefinitionError(f"{what} {function.__name__}: {problem}; import it outside TYPE_CHECKING") from error


def _docstring(function: Callable[..., Any]) -> tuple[dict[str, str], str]:
    if not function.__doc__:
        return {}, ""
    from docstring_parser import DocstringStyle, parse

    parsed = parse(function.__doc__, style=DocstringStyle.GOOGLE)
    texts = {entry.arg_name: " ".join((entry.description or "").split()) for entry in parsed.params}
    parts = [part for part in (parsed.short_description, parsed.long_description) if part]
    return texts, "\n".join(parts)


def checked_value(operation: str, parameter: OperationParameter, value: Any) -> Any:
    """Returns a Python value as the parameter's type takes it.

    Raises:
        InvalidArguments: It does not fit.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(parameter.annotation).validate_python(value, strict=True)
    except ValidationError as error:
        raise InvalidArguments(f"{operation}: {parameter.name}: {error.errors()[0]['msg']}") from error


def _first_problem(error: Any) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or "arguments"
    messages = {"missing": "is missing", "extra_forbidden": "is not a parameter"}
    message = messages.get(problem["type"])
    if message is None:
        message = f"{problem['msg'][:1].lower()}{problem['msg'][1:]}, got {problem.get('input')!r}"[:300]
    return f"argument {where!r}: {message}"


def _type_text(annotation: Any) -> str:
    if get_origin(annotation) is Annotated:
        # Bounds are named by the problem itself; as written they would be pydantic's internals.
        return _type_text(get_args(annotation)[0])
    # Generic aliases such as list[int] have the bare name of their origin.
    bare = not get_args(annotation) and getattr(annotation, "__name__", None)
    return bare or str(annotation).replace("typing.", "")


def _plain_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """Inlines references and drops generated titles, but leaves property names and values (defaults) as they are."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        if name in inside:
            raise DefinitionError(f"type {name} contains itself; a tool schema without references cannot say that")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain_schema({**definitions[name], **rest}, definitions, (*inside, name))
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            plain[key] = {name: _plain_schema(part, definitions, inside) for name, part in value.items()}
        elif key in _VALUE_KEYWORDS:
            plain[key] = value
        elif isinstance(value, list):
            plain[key] = [
                _plain_schema(part, definitions, inside) if isinstance(part, dict) else part for part in value
            ]
        elif key not in _DROPPED_KEYWORDS:
            plain[key] = _plain_schema(value, definitions, inside) if isinstance(value, dict) else value
    return plain
