"""Made-up tasks, and trials of them written through the real writer, event by event."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from crab.observation import Frame, Observation
from crab.record.schema import AgentSpec, CheckpointSpec, EnvironmentSpec, State, TaskSpec, TrialSpec
from crab.record.writer import TrialWriter

Edges = Sequence[tuple[str, str]]


def chain_edges(*ids: str) -> list[tuple[str, str]]:
    """Each id before the next."""
    return list(pairwise(ids))


def task_spec(
    id: str,
    nodes: Mapping[str, str],
    edges: Edges,
    *,
    transient: Sequence[str] = (),
    description: str = "",
    family: str = "",
    tags: Sequence[str] = (),
) -> TaskSpec:
    """A task; `nodes` maps checkpoint ids to the environment each asks."""
    return TaskSpec(
        id=id,
        version=1,
        description=description or id.replace("_", " ").capitalize() + ".",
        family=family or id,
        tags=tuple(tags),
        document={},
        checkpoints=tuple(
            CheckpointSpec(
                id=node,
                label=node.rpartition(".")[2].replace("_", " "),
                evaluator=f"{node.rpartition('.')[2]}_holds",
                environments=(environment,),
                transient=node in transient,
            )
            for node, environment in nodes.items()
        ),
        edges=tuple(edges),
    )


NOTE = task_spec(
    "save_meeting_note",
    dict.fromkeys(("editor_in_front", "text_written", "file_saved", "file_in_documents"), "desktop"),
    chain_edges("editor_in_front", "text_written", "file_saved", "file_in_documents"),
    transient=["editor_in_front"],
    description="Write “Ship on Friday, call Dana Whitfield” into a new note and save it as plan.txt in Documents.",
    family="text_note",
    tags=["desktop", "editor"],
)

CONTACT = task_spec(
    "contact_number_to_note",
    {
        "find.contact_open": "phone",
        "find.number_seen": "phone",
        "note.editor_in_front": "desktop",
        "note.number_written": "desktop",
        "answer.submitted": "root",
    },
    [
        ("find.contact_open", "find.number_seen"),
        ("find.number_seen", "note.number_written"),
        ("note.editor_in_front", "note.number_written"),
        ("note.number_written", "answer.submitted"),
    ],
    transient=["note.editor_in_front"],
    description="Find Dana Whitfield's number on the phone, write it into the note on the desktop and submit it.",
    family="cross_device",
    tags=["desktop", "phone"],
)

TRIAGE = task_spec(
    "sort_the_inbox",
    dict.fromkeys(
        (
            "mail_open",
            "invoices.folder_made",
            "invoices.all_moved",
            "newsletters.rule_written",
            "newsletters.rule_active",
            "reply.draft_started",
            "reply.recipient_right",
            "reply.text_quotes_the_order_number_from_the_attachment",
            "reply.sent",
            "inbox_empty",
        ),
        "desktop",
    ),
    [
        *chain_edges("mail_open", "invoices.folder_made", "invoices.all_moved", "inbox_empty"),
        *chain_edges("mail_open", "newsletters.rule_written", "newsletters.rule_active", "inbox_empty"),
        *chain_edges("mail_open", "reply.draft_started", "reply.recipient_right", "reply.sent", "inbox_empty"),
        *chain_edges("reply.draft_started", "reply.text_quotes_the_order_number_from_the_attachment", "reply.sent"),
    ],
    description="Sort the inbox: invoices into their own folder, a rule for newsletters, and a reply to the order.",
    family="mail",
    tags=["desktop", "mail"],
)

_QUARTER = [
    f"part_{letter}.{word}" for letter in "abc" for word in ("opened", "copied", "pasted", "formatted", "checked")
]
QUARTER = task_spec(
    "quarterly_report",
    dict.fromkeys(["workbook_open", *_QUARTER, "totals_right", "report_exported", "report_mailed", "done"], "desktop"),
    [
        *(
            edge
            for start in (0, 5, 10)
            for edge in chain_edges("workbook_open", *_QUARTER[start : start + 5], "totals_right")
        ),
        *chain_edges("totals_right", "report_exported", "report_mailed", "done"),
        ("workbook_open", "report_exported"),
        ("part_a.copied", "part_b.pasted"),
    ],
    description="Bring the three parts together, check the totals, export the report and mail it.",
    family="office",
    tags=["desktop", "office", "long"],
)

PROVIDER = {"name": "embedded", "reset": "total", "time": "real", "isolation": "", "applications": {"mail": "claws"}}

Shown = Mapping[str, Frame]


class Story:
    """Writes one trial, event by event, in the order in which an episode does.

    Args:
        run: The run directory.
        agent: Id of the agent.
        task: What it does.
        seed: Its seed.
    """

    def __init__(self, run: Path, agent: str, task: TaskSpec, seed: int = 0) -> None:
        roles = dict.fromkeys(role for node in task.checkpoints for role in node.environments if role != "root")
        self.spec = TrialSpec(
            project="example",
            task=task,
            agent=AgentSpec(id=agent, reference=f"agents.example:{agent}"),
            environments={role: EnvironmentSpec(kind=role, reference=f"environments.{role}") for role in roles},
            seed=seed,
            start_time="2026-03-02T09:00:00Z",
        )
        directory = run / self.spec.path
        directory.mkdir(parents=True)
        self.writer = TrialWriter(directory, self.spec)
        self.turn = self.step = 0
        self._calls = 0

    def start(self, *first: str) -> Story:
        """Resets every environment and asks the first checkpoints, which are not yet true."""
        for role in self.spec.environments:
            self.writer.event("environment_start", environment=role, provider=PROVIDER, seconds=1.2)
            self.writer.event("reset", environment=role, seconds=0.42)
            self.writer.event("prepare", environment=role, name="write_file", arguments={"path": "a.txt"}, seconds=0.01)
        self.check(**dict.fromkeys(first, False))
        return self

    def observe(self, turn: int | None = None, /, **shown: Frame | Sequence[Frame]) -> Story:
        """Shows frames; turn 0 is the look after the end."""
        if turn is None:
            self.turn += 1
        observations = {
            role: Observation((frames,) if isinstance(frames, Frame) else tuple(frames))
            for role, frames in shown.items()
        }
        self.writer.observation(self.turn if turn is None else turn, observations)
        return self

    def decide(self, *calls: tuple[str, dict[str, Any]], say: str = "", think: str = "", tokens: int = 1800) -> Story:
        """Answers with calls and messages."""
        messages = [
            {"sender": "planner", "text": text, "recipient": "", "kind": kind}
            for text, kind in ((think, "reasoning"), (say, "text"))
            if text
        ]
        self._calls = 0
        self.writer.event(
            "decision",
            turn=self.turn,
            messages=messages,
            calls=[{"id": f"c{i + 1}", "name": name, "arguments": given} for i, (name, given) in enumerate(calls)],
            usage={
                "input": tokens - 300,
                "cache_read": 120,
                "cache_write": 30,
                "output": 150,
                "reasoning": 90,
                "cost": 0.0042,
                "model_calls": 1,
            },
            seconds=2.31,
        )
        return self

    def act(
        self, environment: str, action: str, arguments: dict[str, Any], *, value: Any = None, error: str = ""
    ) -> Story:
        """Carries out a call."""
        counted = action != "complete"
        self.step += counted
        self._calls += 1
        self.writer.event(
            "action",
            step=self.step,
            turn=self.turn,
            call=f"c{self._calls}",
            environment=environment,
            action=action,
            arguments=arguments,
            value=value,
            error=error,
            counted=counted,
            duration=0.0,
            settled=True,
            settle_seconds=0.14,
            seconds=0.18,
        )
        return self

    def refuse(self, name: str, reason: str, message: str) -> Story:
        """Refuses a call."""
        self._calls += 1
        self.writer.event(
            "invalid_call", turn=self.turn, call=f"c{self._calls}", name=name, reason=reason, message=message
        )
        return self

    def check(self, **values: bool | None) -> Story:
        """Asks checkpoints (``__`` in a name stands for a dot); those that are true pass."""
        names = {name.replace("__", "."): value for name, value in values.items()}
        environments = {node.id: node.environments[0] for node in self.spec.task.checkpoints}
        for id, value in names.items():
            self.writer.event(
                "probe",
                step=self.step,
                checkpoint=id,
                environment=environments[id],
                name="window_list" if "front" in id or "open" in id else "read_file",
                arguments={"path": "Documents/plan.txt"},
                answer=None if value is None else {"titles": ["Untitled — Editor"], "focused": bool(value)},
                error="DeadlineExceeded: no answer in 10 s" if value is None else "",
                seconds=0.004,
            )
            reason = "probe read_file: DeadlineExceeded" if value is None else ""
            self.writer.event("check", step=self.step, checkpoint=id, value=value, reason=reason)
        for id, value in names.items():
            if value:
                self.passed(id)
        return self

    def passed(self, id: str, implied_by: str | None = None) -> Story:
        """Passes a checkpoint."""
        self.writer.event("pass", step=self.step, checkpoint=id, implied_by=implied_by)
        return self

    def fault(self, where: str, message: str, blame: str) -> Story:
        """Records trouble."""
        self.writer.event("error", where=where, type="EnvironmentFailure", message=message, blame=blame)
        return self

    def end(self, reason: str, *, valid: bool = True, seconds: float = 61.5) -> None:
        """Ends the trial and closes the files."""
        self.writer.event("trial_end", reason=reason, valid=valid, seconds=seconds)
        self.leave(State.INTERRUPTED if reason == "interrupted" else State.DONE if valid else State.INVALID)

    def leave(self, state: State = State.RUNNING) -> None:
        """Closes the files as they are."""
        self.writer.status(state)
        with self.writer:
            pass


def begin_run(run: Path) -> Path:
    """Makes a run directory without trials."""
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps({"schema_version": 1}), encoding="utf-8")
    return run
