"""Tool schemas: what a model is told about an action."""

from __future__ import annotations

import json

import jsonschema
import pytest

from crab.action import action
from crab.errors import DefinitionError, InvalidArguments
from tests.crab.sample_actions import NotJson, Tree, add, beep, convert, describe, draw, parameters_of, type_text


def test_a_schema_has_the_openai_function_form() -> None:
    assert add.schema() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"first": {"type": "integer"}, "second": {"type": "integer", "default": 1}},
                "required": ["first"],
                "additionalProperties": False,
            },
        },
    }


def test_an_action_without_parameters_has_an_empty_object_schema() -> None:
    assert parameters_of(beep) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_short_and_long_text_of_the_docstring_become_the_description() -> None:
    assert draw.description == "Draws a line.\nIt stays on the screen\nuntil it is wiped."


def test_argument_texts_reach_the_schema_with_and_without_defaults() -> None:
    properties = parameters_of(draw)["properties"]
    texts = {name: part.get("description") for name, part in properties.items()}
    assert texts["stroke"] == "Where it goes."
    assert texts["button"] == "What is held down."
    assert texts["mode"] == "How fast, in words."
    assert texts["pressure"] == "Between 0 and 1."
    assert texts["repeat"] == "How often."


def test_types_are_said_in_json_schema_words() -> None:
    properties = parameters_of(draw)["properties"]
    assert properties["button"]["enum"] == ["left", "right"]
    assert properties["mode"] == {
        "type": "string",
        "enum": ["fast", "slow"],
        "default": "fast",
        "description": "How fast, in words.",
    }
    assert {"type": "null"} in properties["pressure"]["anyOf"]
    assert properties["pressure"]["default"] is None
    assert (properties["repeat"]["minimum"], properties["repeat"]["maximum"]) == (1, 9)
    assert parameters_of(draw)["required"] == ["stroke", "button"]


def test_nested_types_are_inlined_and_generated_titles_left_out() -> None:
    """A model's back end need not follow references; a property that is called title is no generated title."""
    parameters = parameters_of(draw)
    text = json.dumps(parameters)
    assert "$ref" not in text
    assert "$defs" not in text
    point = parameters["properties"]["stroke"]["properties"]["points"]["items"]
    assert point["required"] == ["x"]
    assert point["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0},
        "title": {"type": "string", "default": "here"},
    }
    assert "title" not in parameters
    assert "title" not in point


def test_defaults_are_shown_as_they_are_whatever_their_keys() -> None:
    assert parameters_of(draw)["properties"]["origin"]["default"] == {"x": 1, "y": 2, "title": "start"}


def test_every_schema_is_valid_json_schema_and_accepts_what_validation_accepts() -> None:
    arguments = {"stroke": {"points": [{"x": 3}]}, "button": "right", "repeat": 2}
    for operation in (draw, add, convert, beep, type_text):
        jsonschema.Draft202012Validator.check_schema(parameters_of(operation))
    jsonschema.validate(arguments, parameters_of(draw))
    assert draw.run(arguments) == "3 right fast None 2 start"


def test_a_schema_belongs_to_the_caller() -> None:
    """Adapters change schemas for their model's taste; that must not reach the next agent."""
    before = json.dumps(add.schema())
    add.schema()["function"]["parameters"]["properties"].clear()
    assert json.dumps(add.schema()) == before


def test_any_parameter_name_works() -> None:
    @action
    def awkward(
        model_config: int,
        schema: int,
        title: int,
        self: int,
        cls: int,
        arguments: int,
        copy: int,
        validate: int,
        properties: int,
        name: int,
        field_0: int,
        json: int = 0,
        _hidden: int = 0,
    ) -> list[int]:
        """Has names that mean something elsewhere."""
        return [model_config, schema, title, self, cls, arguments, copy, validate, properties, name, field_0, json]

    names = [
        "model_config",
        "schema",
        "title",
        "self",
        "cls",
        "arguments",
        "copy",
        "validate",
        "properties",
        "name",
        "field_0",
    ]
    schema = parameters_of(awkward)
    assert list(schema["properties"]) == [*names, "json", "_hidden"]
    assert schema["properties"]["title"] == {"type": "integer"}
    assert awkward.run({name: index for index, name in enumerate(names)}) == [*range(11), 0]
    closed = awkward.bind(**{name: index for index, name in enumerate(names)})
    assert closed.run() == [*range(11), 0]
    with pytest.raises(InvalidArguments, match="'self'"):
        awkward.run({**dict.fromkeys(names, 1), "self": "me"})


def test_an_undocumented_action_is_described_by_its_name() -> None:
    assert describe.description == "Describe."
    assert type(json.loads(json.dumps(describe.schema()))["function"]["description"]) is str


def test_a_type_that_json_cannot_say_is_named() -> None:
    @action
    def send(thing: NotJson) -> None:
        """Cannot be called by a model."""

    for use in (send.schema, lambda: send.run({"thing": 1})):
        with pytest.raises(DefinitionError, match=r"send.*thing: NotJson.*JSON cannot say"):
            use()


def test_a_type_that_contains_itself_is_refused_with_its_name() -> None:
    @action
    def plant(tree: Tree) -> None:
        """Plants."""

    with pytest.raises(DefinitionError, match="Tree contains itself"):
        plant.schema()
