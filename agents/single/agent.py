"""The single agent: one model sees every screen and calls every tool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.prompts import fill, prompt_file
from agents.single.conversation import Conversation
from agents.single.screen import turn_parts
from agents.single.settings import SingleSettings, read_settings
from crab.agent import Call, Decision, Fault, Message, TaskView
from crab.errors import ContextExceeded
from crab.models.chat import ModelRequest, ModelResponse, ToolCall
from crab.models.openai_chat import OpenAIChat
from crab.observation import Observations
from crab.perception.sources import check_source, needed_tracks

FAULTS: dict[str, Fault] = {"refusal": "refusal", "length": "cut_off", "no_answer": "no_answer"}
"""Why an answer without a call has none, by what made the model stop."""

ALL_CALLS = (
    "You may call several tools in one turn. They are carried out in order, and you see the screens after the last one."
)
FIRST_CALL = "Call one tool in each turn. Further calls of a turn are not carried out."

MARKS = (
    "\n- Numbers on the present picture mark what can be pointed at; below it they are listed. Where a tool takes an "
    "element, give the number of a mark in place of the point. Numbers change when the screen does: those of earlier "
    "pictures are refused. What has no mark is pointed at by its point."
)
"""What the prompt adds where pictures have marks."""


class SingleAgent:
    """Asks one model, with native tool calls, about all devices at once.

    Args:
        **settings: See `agents.single.settings.SingleSettings`; ``model`` is the one that has to be given.

    Raises:
        UsageError: A setting is wrong, or the key, the package for the endpoint or one for the marks is missing.
    """

    name = "single"
    files = (
        prompt_file("single"),
        *(Path(__file__).with_name(name) for name in ("conversation.py", "screen.py", "settings.py")),
    )

    def __init__(self, **settings: Any) -> None:
        self.settings = read_settings(settings)
        self._model = OpenAIChat(self.settings.chat())
        # Better now, before any device is started, than in the first turn.
        self._model.check()
        check_source(self.settings.marks)

    @staticmethod
    def tracks(settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the privileged tracks that an agent with these settings needs."""
        return needed_tracks(settings.get("marks", SingleSettings.model_fields["marks"].default))

    def start(self, view: TaskView) -> None:
        """Begins a new conversation."""
        from crab.perception.grounding import Grounding
        from crab.perception.markers import make_marker

        self._model.close()
        self._model = OpenAIChat(self.settings.chat(), seed=view.seed)
        self._grounding = Grounding(make_marker(self.settings.marks))
        self._tools = tuple(tool.schema for tool in self._grounding.tools(view.tools))
        self._seed = view.seed if self.settings.send_seed else None
        instruction = fill(
            "single",
            task=view.description,
            devices="\n".join(f"- {role}: {description}" for role, description in view.environments.items()),
            calls=ALL_CALLS if self.settings.calls == "all" else FIRST_CALL,
            marks=MARKS if self.settings.marks != "none" else "",
        )
        self._conversation = Conversation(instruction, self.settings.images)

    def decide(self, observations: Observations) -> Decision:
        """Shows the model the screens and returns the calls it makes.

        Raises:
            ModelError: The model did not answer.
            ContextExceeded: Even the present turn alone is too long for the model.
            UsageError: Marks need the accessibility tree, and the observations have none.
            InfrastructureError: Marks need the extra ``vision``, which is broken.
        """
        shown = self._grounding.look(observations)
        source = self.settings.marks
        # Where marks come from the tree, its elements would say the same twice.
        parts = turn_parts(observations, shown, marked=source != "none", elements=not needed_tracks(source))
        self._conversation.show(observations.results, tuple(parts))
        response = self._ask()
        calls = whole_calls(response)
        self._conversation.answered(response.content, calls)
        chosen = calls if self.settings.calls == "all" else calls[:1]
        return Decision(
            calls=tuple(map(self._grounded, chosen)),
            messages=self._said(response),
            usage=response.usage,
            fault="" if calls else FAULTS.get(response.stop_reason, ""),
        )

    def close(self) -> None:
        """Closes the connection to the model."""
        self._model.close()

    def _ask(self) -> ModelResponse:
        while True:
            request = ModelRequest(
                messages=self._conversation.messages(),
                tools=self._tools,
                tool_choice=self.settings.tool_choice,
                temperature=self.settings.temperature,
                max_tokens=self.settings.max_tokens,
                seed=self._seed,
            )
            try:
                return self._model.complete(request)
            except ContextExceeded:
                if not self._conversation.forget():
                    raise

    def _grounded(self, asked: ToolCall) -> Call:
        """Returns a call with points in place of marks; one that is none already keeps its own problem."""
        call = Call(asked.name, asked.arguments, asked.id, asked.problem)
        return call if call.problem else self._grounding.ground(call)

    def _said(self, response: ModelResponse) -> tuple[Message, ...]:
        said = [Message(self.name, response.reasoning, kind="reasoning")] if response.reasoning else []
        return (*said, *([Message(self.name, response.content)] if response.content else []))


def whole_calls(response: ModelResponse) -> tuple[ToolCall, ...]:
    """Returns an answer's calls; one that the output limit cut through is left out."""
    calls = response.calls
    return calls[:-1] if calls and calls[-1].problem and response.stop_reason == "length" else calls
