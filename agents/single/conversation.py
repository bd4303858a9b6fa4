"""The conversation with a model: everything that was said, and the last pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.single.screen import result_text
from crab.models.chat import ChatMessage, Image, Text, ToolCall
from crab.observation import CallResult

OLD_PICTURE = Text("(an earlier picture, no longer shown)")
"""What stands where a picture was."""

NOT_CARRIED_OUT = "Not carried out: only the first call of a turn is."


@dataclass(frozen=True)
class _Exchange:
    """One turn: what the model was shown, and what it answered."""

    shown: tuple[Text | Image, ...]
    answer: ChatMessage


class Conversation:
    """What one model was told, was shown, and said in a task.

    Args:
        instruction: The first message.
        images: How many pictures are sent at most; those of the present turn are sent in any case.
    """

    def __init__(self, instruction: str, images: int) -> None:
        self._instruction = ChatMessage("system", (Text(instruction),))
        self._images = images
        self._past: list[_Exchange] = []
        self._results: list[tuple[CallResult, ...]] = []
        self._shown: tuple[Text | Image, ...] = ()
        self._forgotten = 0

    def show(self, results: Sequence[CallResult], parts: Sequence[Text | Image]) -> None:
        """Begins a turn.

        Args:
            results: What became of the calls of the last answer.
            parts: What there is to see now.
        """
        if self._past:
            self._results.append(tuple(results))
        # A decision without a call has a result all the same, which answers no call.
        complaints = [Text(result_text(result)) for result in results if not result.id]
        self._shown = (*complaints, *parts)

    def forget(self) -> bool:
        """Leaves out the older half of the past turns; returns whether there was one."""
        count = (len(self._past) + 1) // 2
        self._past, self._results = self._past[count:], self._results[count:]
        self._forgotten += count
        return count > 0

    def answered(self, text: str, calls: tuple[ToolCall, ...]) -> None:
        """Ends a turn with what the model said and called."""
        # Some servers refuse a message without any content.
        parts = (Text(text),) if text else () if calls else (Text("(no answer)"),)
        self._past.append(_Exchange(self._shown, ChatMessage("assistant", parts, calls)))

    def messages(self) -> tuple[ChatMessage, ...]:
        """Returns all messages the model is asked with in this turn."""
        present = sum(isinstance(part, Image) for part in self._shown)
        spare = max(0, self._images - present)
        messages: list[ChatMessage] = [ChatMessage("user", self._shown)]
        # From the newest turn back, so that the newest pictures are the ones that stay.
        for exchange, results in zip(reversed(self._past), reversed(self._results), strict=True):
            shown: list[Text | Image] = []
            for part in reversed(exchange.shown):
                if isinstance(part, Image):
                    shown.append(part if spare else OLD_PICTURE)
                    spare = max(0, spare - 1)
                else:
                    shown.append(part)
            told = {result.id: result_text(result) for result in results}
            answers = [
                ChatMessage("tool", (Text(told.get(call.id, NOT_CARRIED_OUT)),), call_id=call.id)
                for call in exchange.answer.calls
            ]
            messages[:0] = [ChatMessage("user", tuple(reversed(shown))), exchange.answer, *answers]
        if self._forgotten:
            note = Text(f"({self._forgotten} earlier turns are left out here)")
            messages[0] = replace(messages[0], parts=(note, *messages[0].parts))
        return (self._instruction, *messages)
