"""Tool schemas: whether one is well formed, and whether arguments fit it. Needs the package ``jsonschema``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crab.errors import UsageError


def schema_problem(schema: Mapping[str, Any], name: str) -> str:
    """Returns what is wrong with a tool schema that should have that name, or an empty text.

    Raises:
        UsageError: ``jsonschema`` is not installed.
    """
    function = schema.get("function")
    if schema.get("type") != "function" or not isinstance(function, Mapping):
        return "it is not of the form {'type': 'function', 'function': {…}}"
    if function.get("name") != name:
        return f"it is named {function.get('name')!r}"
    if not isinstance(function.get("description"), str) or not function["description"].strip():
        return "it has no description"
    parameters = function.get("parameters")
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        return "its parameters are no object"
    if "$ref" in repr(parameters):
        return "it has references, which not every model's API takes"
    from_validator: str = _validator_problem(parameters)
    return from_validator


def arguments_problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Returns why arguments do not fit a tool schema, or an empty text.

    Raises:
        UsageError: ``jsonschema`` is not installed.
    """
    validator = _jsonschema().Draft202012Validator(schema["function"]["parameters"])
    error = next(iter(validator.iter_errors(dict(arguments))), None)
    return "" if error is None else str(error.message)


def _validator_problem(parameters: Mapping[str, Any]) -> str:
    jsonschema = _jsonschema()
    try:
        jsonschema.Draft202012Validator.check_schema(parameters)
    except jsonschema.SchemaError as error:
        return str(error.message)
    return ""


def _jsonschema() -> Any:
    try:
        import jsonschema
    except ImportError as error:
        raise UsageError("conformance suites need the package jsonschema; do: pip install jsonschema") from error
    return jsonschema
