"""``crab tasks import`` and ``export --to v0``: files in, documents and a report out."""

from __future__ import annotations

import json
from pathlib import Path

from crab.compose.document import read_document
from tests.crab.cli.in_process import CommandLine, crab

__all__ = ["crab"]

DOCUMENTS = Path(__file__).parents[1] / "compose" / "v0_documents"


def test_faults_are_printed_and_decide_the_status(crab: CommandLine, tmp_path: Path) -> None:
    """Every file has its lines; status 1 as soon as one misleads."""
    done = crab("tasks", "import", "--from", "v0", DOCUMENTS / "spelling.json", "--out", tmp_path / "new")

    assert done.status == 1
    assert "spelling → set-wallpaper-" in done.out
    assert (
        "    blocks: spelling: subtask 0 (set_wallpaper): photo_path is '/home/crab/Pictures/harbour.png'" in done.out
    )
    assert "files: 1; drafts in" in done.out
    (path,) = (tmp_path / "new").iterdir()
    assert read_document(path).subtasks[0].template == "set_wallpaper@1"


def test_notes_alone_are_no_failure(crab: CommandLine, tmp_path: Path) -> None:
    """A file that can be used as it stands ends in status 0; missing templates are pointed out."""
    done = crab("tasks", "import", DOCUMENTS / "sound.json", "--out", tmp_path / "new")

    assert done.status == 0
    assert "templates this project does not have" in done.out


def test_a_report_for_programs(crab: CommandLine, tmp_path: Path) -> None:
    """The same as JSON, with what is to be known of templates that are missing."""
    crab("tasks", "import", DOCUMENTS, "--out", tmp_path / "new", "--report", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    files = {file["name"]: file for file in report["files"]}

    assert len(files) == len(list(DOCUMENTS.iterdir()))
    assert files["cycle"]["document"] is None
    assert files["spelling"]["faults"][0]["code"] == "spelling"
    assert "v0_untitled_note@1" in [template["reference"] for template in report["foreign_templates"]]
    assert len(list((tmp_path / "new").iterdir())) == sum(file["document"] is not None for file in files.values())


def test_nothing_is_overwritten(crab: CommandLine, tmp_path: Path) -> None:
    """A second import into the same folder is refused."""
    crab("tasks", "import", DOCUMENTS / "sound.json", "--out", tmp_path / "new")

    assert "is there already" in crab.refused("tasks", "import", DOCUMENTS / "sound.json", "--out", tmp_path / "new")


def test_what_cannot_be_imported_is_refused(crab: CommandLine, tmp_path: Path) -> None:
    """A missing file, another form, a file that is far too large, bytes that are no text."""
    assert "no such file" in crab.refused("tasks", "import", tmp_path / "none.json", "--out", tmp_path)
    assert "the forms are v0" in crab.refused("tasks", "import", "--from", "v9", DOCUMENTS, "--out", tmp_path)
    (tmp_path / "large.json").write_bytes(b" " * 1_000_001)
    assert "larger than" in crab.refused("tasks", "import", tmp_path / "large.json", "--out", tmp_path / "new")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    assert crab("tasks", "import", tmp_path / "bytes.json", "--out", tmp_path / "new").status == 1


def test_tasks_go_out_in_the_old_form(crab: CommandLine, tmp_path: Path) -> None:
    """One file each, named by its UUID; what is lost on the way is said on the other stream."""
    done = crab("tasks", "export", "--to", "v0", "--out", tmp_path / "old")
    files = sorted((tmp_path / "old").iterdir())
    raw = [json.loads(file.read_text(encoding="utf-8")) for file in files]

    assert done.status == 0
    assert "CRAB v0 has no template write_note@1" in done.err
    assert [file.stem for file in files] == [document["id"] for document in raw]
    assert sorted(document["adjlist"] for document in raw) == ["0", "0 1\n1"]
    pair = next(document for document in raw if len(document["tasks"]) == 2)
    assert list(pair) == ["description", "tasks", "adjlist", "id"]
    assert [part["output"] for part in pair["tasks"]] == ["bring bread", None]
    assert pair["tasks"][1]["attribute"] == {"number": "5550110", "text": "bring bread"}


def test_samples_through_the_command_line(crab: CommandLine, v0_samples: list[Path], tmp_path: Path) -> None:
    """The old files themselves: all become drafts."""
    done = crab("tasks", "import", v0_samples[0].parents[1], "--out", tmp_path / "new")

    assert done.status == 1
    assert (
        f"files: {len(v0_samples)}; drafts in {tmp_path / 'new'}: {len(v0_samples)}; files with faults: 8" in done.out
    )
