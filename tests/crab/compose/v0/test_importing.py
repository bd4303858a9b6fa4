"""Files of CRAB v0 are read with every fault named, and what can be kept is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crab.compose.composer import Catalogue, compose
from crab.compose.document import Link, TaskDocument, document_text, parse_document
from crab.compose.v0.faults import CLASSES, Fault, Severity
from crab.compose.v0.importing import Imported, contradictions, import_task
from crab.compose.v0.table import read_table
from subtasks.ubuntu import SUBTASKS

FOLDER = Path(__file__).parents[1] / "v0_documents"
"""One file of our own for each class of faults, named after it, and one without any."""

DOCUMENTS = {path.stem: path for path in sorted(FOLDER.glob("*.json"))}

GENERAL = {"foreign", "ageing", "template_defect"}
"""Notes about templates, which come with any file that uses them."""

COMPANIONS = {"cross_device": {"type_mismatch"}, "misread_graph": {"nothing_passed"}}
"""What else a file has that shows a class."""

ELSEWHERE = GENERAL | {"bad_id", "contradiction"}
"""Classes that need no file of their own: see the tests below."""

CATALOGUE = Catalogue(SUBTASKS)


def imported(name: str, **changes: object) -> Imported:
    """One of our own files, with changes to its keys."""
    text = DOCUMENTS[name].read_text(encoding="utf-8")
    if name == "not_json":
        return import_task(text, name, CATALOGUE)
    raw = {**json.loads(text), **changes}
    return import_task(json.dumps(raw), raw["id"], CATALOGUE)


def codes(found: Imported) -> set[str]:
    """Classes of its faults."""
    return {fault.code for fault in found.faults}


def test_every_class_has_a_file() -> None:
    """What can be found is shown to be found."""
    assert DOCUMENTS.keys() - {"sound"} == CLASSES.keys() - ELSEWHERE


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_file_has_its_fault_and_no_other(name: str) -> None:
    """Each class is found where it is, and nothing is found where nothing is."""
    expected = set() if name == "sound" else {name, *COMPANIONS.get(name, ())}

    assert codes(imported(name)) - GENERAL == expected


@pytest.mark.parametrize("name", DOCUMENTS)
def test_only_unreadable_files_leave_no_document(name: str) -> None:
    """Everything else becomes a draft for a person to mend, in a form that reads back."""
    found = imported(name)
    unreadable = name in CLASSES and CLASSES[name][0] is Severity.UNREADABLE

    assert (found.document is None) == unreadable
    if found.document is not None:
        assert found.document.review.state == "draft"
        assert parse_document(document_text(found.document), name) == found.document


def test_faults_come_worst_first_and_in_one_line() -> None:
    """A person reads the blocking ones first."""
    found = imported("cross_device", description='Print "/home/crab/list" in a terminal, then note it {where}.')

    assert [fault.severity for fault in found.faults] == sorted(fault.severity for fault in found.faults)
    assert str(found.faults[0]) == "blocks: unfilled_blank: the description holds {where}"
    assert all("\n" not in str(fault) for fault in found.faults)


def test_the_id_is_looked_at() -> None:
    """It is a UUID and the file's name."""
    text = DOCUMENTS["sound"].read_text(encoding="utf-8")
    id = json.loads(text)["id"]

    assert "bad_id" not in codes(import_task(text, id, CATALOGUE))
    assert "bad_id" in codes(import_task(text, "other", CATALOGUE))
    assert "bad_id" in codes(import_task(text.replace(id, "sound"), "sound", CATALOGUE))


def test_two_files_that_contradict_each_other() -> None:
    """The same subtask with the same values has one output."""
    event = {"task": "2394b768-2ca7-45e9-b41e-2aa4e9573192", "attribute": {"date": "3 May 2027"}}
    files = [imported("date_form", tasks=[{**event, "output": output}]) for output in ("Picnic", "Picnics", None)]

    assert contradictions([files[0], files[2], files[0]]) == {}
    (faults,) = contradictions(files).values()
    assert [str(fault) for fault in faults] == [f"misleads: contradiction: 'Picnics' here, 'Picnic' in {files[0].name}"]


@pytest.mark.parametrize(
    ("adjacency", "edges"),
    [
        ("0 2\n1 2\n2", {(0, 2), (1, 2)}),
        ("2 1\n1 0\n0", {(2, 1), (1, 0)}),
        ("0 1 2\n1\n2", {(0, 1), (0, 2)}),
        ("0\n1\n2", set()),
    ],
)
def test_edges_keep_their_direction(adjacency: str, edges: set[tuple[int, int]]) -> None:
    """What comes first in the file's edges comes first in the document: joins, forks, and edges that lead back."""
    vim = [
        {
            "task": "0f589bf9-9b26-4581-8b78-2961b115ab49",
            "attribute": {"file_path": f"/home/crab/{number}.txt", "content": "moss"},
            "output": None,
        }
        for number in range(3)
    ]
    document = imported("sound", tasks=vim, adjlist=adjacency).document
    assert document is not None
    ids = [part.id for part in document.subtasks]
    graph = compose(document, CATALOGUE).task.graph.edges
    crossing = {(before.partition(".")[0], after.partition(".")[0]) for before, after in graph}

    assert {(ids[before], ids[after]) for before, after in edges} == {pair for pair in crossing if pair[0] != pair[1]}


@pytest.mark.parametrize("adjacency", ["0 0", "0 x", "-1", "0 7", "0 1\n1 2\n2 0"])
def test_graphs_that_are_none(adjacency: str) -> None:
    """Self-loops, cycles and nodes that are not there are never passed over."""
    found = imported("sound", tasks=json.loads(DOCUMENTS["sound"].read_text())["tasks"] * 3, adjlist=adjacency)

    assert found.document is None
    assert codes(found) & {"cycle", "bad_adjacency"}


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": []},
        {"tasks": [3]},
        {"tasks": "none"},
        {"tasks": [{"task": "x", "attribute": {"a": 3}, "output": None}]},
        {"tasks": [{"task": "x", "attribute": {}, "output": 5}]},
        {"tasks": [{"task": "x", "attribute": {}}]},
        {"adjlist": [[0]]},
        {"description": None},
    ],
)
def test_other_shapes_are_refused(change: dict[str, object]) -> None:
    """Whatever a file holds, it ends in a fault and not in an exception."""
    found = imported("sound", **change)

    assert found.document is None
    assert codes(found) & {"missing_key", "bad_adjacency"}


def test_links_are_restored_where_values_and_types_agree() -> None:
    """A value that equals the output before it is a link; of another type, it stays a value and the order is kept."""
    linked = imported("out_of_order").document
    untyped = imported("type_mismatch").document
    assert linked is not None
    assert untyped is not None

    assert linked.subtasks[0].parameters == {"text": Link.model_validate({"from": "print_file"})}
    assert linked.after == {}
    assert untyped.subtasks[1].parameters["content"] == "31 km"
    assert untyped.after == {"add_event": ("route_distance",)}


def test_templates_with_a_counterpart_become_ours() -> None:
    """Such a task composes with this project's templates; paths move to this project's home."""
    document = imported("partial_path").document
    vim = imported("nothing_passed").document
    assert document is not None
    assert vim is not None

    assert document.subtasks[0].template == "v0_paste_into_code_editor@1"
    assert [part.template for part in vim.subtasks] == ["write_with_vim@1", "write_with_vim@1"]
    assert vim.subtasks[0].parameters == {"folder": "/home/user", "name": "a", "text": "ferns"}
    assert '"/home/user/a"' in vim.description
    assert compose(vim, CATALOGUE).task.environments == {"desktop": "ubuntu"}
    assert vim.id.startswith("write-with-vim-write-with-vim-")


def test_a_foreign_template_is_recorded() -> None:
    """Who wants to write it is told its parameters and types; what authors had to write down is kept."""
    found = imported("misspelt_name")
    assert found.document is not None

    assert [template.reference for template in found.foreign] == ["v0_city_of_postal_code@1"]
    assert found.foreign[0].attributes == {"number": ("number",), "country": ("country",)}
    assert found.document.subtasks[0].parameters == {"number": "110111", "country": "Columbia", "output": "Bogotá"}
    assert found.document.environments == {"phone": "android"}


def test_the_table_is_whole() -> None:
    """All 35 templates, each with a name of its own; counterparts exist and take their values from attributes."""
    templates = read_table().templates.values()
    subtasks = {subtask.reference: subtask for subtask in SUBTASKS}

    assert len(templates) == len({template.name for template in templates}) == 35
    assert sum(template.kind == "android" for template in templates) == 16
    for template in templates:
        assert template.near == "" or template.near in subtasks
        if template.ours is not None:
            names = [parameter.name for parameter in subtasks[template.ours.template].parameters]
            attributes = {rule.rpartition(" of ")[2] for rule in template.ours.parameters.values()}
            assert list(template.ours.parameters) == names
            assert attributes == template.attributes.keys()


def test_unknown_classes_are_no_faults() -> None:
    """A misspelt class would never be found."""
    with pytest.raises(ValueError, match="no class of faults"):
        Fault("speling", "a is b")


SAMPLES: dict[str, dict[str, str]] = {
    "1005c437": {},
    "46d7ccdb": {"unfilled_blank": "{mail} {name}"},
    "71ef7fd2": {"comma_in_quotes": "Nanyang", "misspelt_name": "Nanyang Technological", "type_mismatch": "number"},
    "cf4c496b": {"spelling": "'Columbia' 'Colombia'", "misspelt_name": "'Colombia'", "type_mismatch": "place_name"},
    "05a7633d": {
        "value_not_named": "'44145' 'Germany'",
        "other_value": "'1010021' 'Japan'",
        "spelling": "target.odt target.opt",
        "output_not_used": "'Dortmund' no check",
    },
    "43be6e8e": {"mangled_value": "'18400", "letter_case": "'University'", "type_mismatch": "place_name"},
    "0deafe05": {"other_extension": "dog.jpg dog.png"},
    "22f05f6f": {},
    "51c91051": {},
    "64a2c205": {},
    "7912f7a5": {"template_blocks": "deletes a file twice", "unclosed_quote": "no partner"},
    "d3c917ff": {"template_blocks": "deletes a file twice"},
}
"""What is wrong with each sample beside notes: class, and words its messages have."""


def test_samples_have_the_faults_they_are_known_for(v0_samples: list[Path]) -> None:
    """Nothing known is missed, and nothing else is claimed."""
    assert {path.stem[:8] for path in v0_samples} == SAMPLES.keys()
    for path in v0_samples:
        found = import_task(path.read_text(encoding="utf-8"), path.stem, CATALOGUE)
        faults = [fault for fault in found.faults if fault.severity < Severity.NOTE]
        expected = SAMPLES[path.stem[:8]]
        assert {fault.code for fault in faults} == expected.keys(), path
        for code, words in expected.items():
            said = " ".join(fault.message for fault in faults if fault.code == code)
            assert all(word in said for word in words.split(" ")), (path, said)
        assert isinstance(found.document, TaskDocument)


def test_samples_carry_their_notes(v0_samples: list[Path]) -> None:
    """What crosses devices, hands nothing on, ages or lies in a template is said too."""
    files = {path.stem[:8]: import_task(path.read_text(encoding="utf-8"), path.stem, CATALOGUE) for path in v0_samples}
    notes = {
        name: {fault.code for fault in file.faults if fault.severity is Severity.NOTE} for name, file in files.items()
    }

    assert [name for name in notes if "cross_device" in notes[name]] == ["05a7633d", "43be6e8e"]
    assert [name for name in notes if "nothing_passed" in notes[name]] == ["51c91051"]
    assert {name for name in notes if "ageing" not in notes[name]} == {
        "46d7ccdb",
        "0deafe05",
        "22f05f6f",
        "7912f7a5",
        "d3c917ff",
    }
    assert [name for name in notes if "foreign" not in notes[name]] == ["22f05f6f"]
    assert any("photo_path_ouput" in fault.message for fault in files["7912f7a5"].faults)
    document = files["22f05f6f"].document
    assert document is not None
    assert compose(document, CATALOGUE).task.graph.order[-1] == "copy_by_extension.files_copied"
