"""Options of the embedded provider, as they come from a command line or a spec, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crab.errors import UsageError
from environments.ubuntu.warden import MEMORY


class EmbeddedOptions(BaseModel):
    """How an embedded desktop is to be.

    Attributes:
        theme: The look of everything.
        width: Pixels.
        height: Pixels.
        isolation: ``bubblewrap`` walls the desktop off; ``process`` does not, and has to be asked for by name.
        memory: MiB that all programs of the desktop may use together; beyond, the largest is ended.
        services: Address by host name the desktop may reach; none so far, so it must be empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    theme: Literal["light", "dark"] = "light"
    width: Annotated[int, Field(ge=640, le=3840)] = 1280
    height: Annotated[int, Field(ge=480, le=2160)] = 800
    isolation: Literal["bubblewrap", "process"] = "bubblewrap"
    memory: Annotated[int, Field(ge=256)] = MEMORY >> 20
    services: Annotated[dict[str, str], Field(max_length=0)] = Field(default_factory=dict)


def read_options(options: Mapping[str, Any]) -> EmbeddedOptions:
    """Checks options.

    Raises:
        UsageError: One is unknown or has a wrong value.
    """
    try:
        return EmbeddedOptions.model_validate(dict(options))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in problem["loc"])
        known = ", ".join(EmbeddedOptions.model_fields)
        raise UsageError(f"ubuntu/embedded: option {name!r}: {problem['msg']}; options are: {known}") from error
