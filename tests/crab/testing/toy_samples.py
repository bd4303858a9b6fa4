"""What the conformance suite tries on the toys."""

from __future__ import annotations

from crab.testing.environment import EnvironmentSamples, Example

DESKTOP_SAMPLES = EnvironmentSamples(
    action=Example("open_application", {"name": "Notepad"}),
    probes=(Example("application"), Example("note", {"name": "list"}), Example("clock")),
    preparation=Example("write_note", {"name": "list", "text": "bring bread"}),
    extra_action=Example("erase_notes"),
    failing=Example("open_application", {"name": "Calculator"}),
    clock=Example("clock"),
    same_pixels=True,
    accessibility=True,
)
"""For the toy desktop."""

PHONE_SAMPLES = EnvironmentSamples(
    # The icon lies between 10 and 50 pixels from the left, by the seed, and is 120 wide.
    action=Example("tap", {"x": 60, "y": 20}),
    probes=(Example("application"), Example("inbox"), Example("sent_messages"), Example("clock")),
    preparation=Example("receive_message", {"sender": "5550123", "text": "call at noon"}),
    failing=Example("write_text", {"text": "no field is focused"}),
    clock=Example("clock"),
    same_pixels=True,
    accessibility=True,
)
"""For the toy phone."""
