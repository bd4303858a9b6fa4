"""Every error CRAB raises, in one tree that says whose trouble it is.

::

    CrabError
    ├── UsageError                what a person asked for cannot be done as asked
    │   ├── LoadingError          an id or import string leads nowhere, or to the wrong place
    │   ├── DocumentError         a task document, configuration or spec is not well formed
    │   └── RecordError           a run or trial directory cannot be read or continued
    ├── ContentError              an action, evaluator, template or task is written wrong
    │   ├── DefinitionError       a decorated function or a kind of environment breaks a rule
    │   ├── GraphError            a checkpoint graph has a cycle, a duplicate id or no node
    │   └── CompositionError      subtasks do not fit together
    ├── AgentFault                the agent did something wrong; it is told, and it counts
    │   ├── InvalidCall           a call that was never executed
    │   │   ├── UnknownAction
    │   │   ├── WrongEnvironment
    │   │   ├── InvalidArguments
    │   │   └── MalformedCall
    │   ├── ActionFailed          a call that was executed, and the device answered no
    │   └── ContextExceeded       an agent's request is longer than its model can read
    └── InfrastructureError       the machinery broke; never an agent's failure
        ├── ProviderUnavailable   a device cannot be started here
        ├── EnvironmentFailure    a started device died or stopped answering
        ├── ProbeFailure          a probe could not be answered
        │   └── DeadlineExceeded
        ├── RemoteError           the wire between client and server
        │   ├── Unreachable
        │   ├── HandshakeRefused
        │   └── RequestRejected
        └── ModelError            a language model did not answer
            ├── RateLimited       it asked to wait, and kept asking
            ├── ModelUnavailable  server error, dropped or unreadable answer, time-out
            └── ModelRejected     asking again is no use: key, model name, parameters, quota
"""

from __future__ import annotations


class CrabError(Exception):
    """Root of the tree: catching it catches everything CRAB raises on purpose."""


class UsageError(CrabError):
    """Raised when what a person asked for cannot be done as asked; the message says what to do next."""


class LoadingError(UsageError):
    """Raised when an id or an import string leads nowhere, or to a look-alike from elsewhere."""


class DocumentError(UsageError):
    """Raised when a task document, a configuration or a trial spec is not well formed."""


class RecordError(UsageError):
    """Raised when a run or trial directory cannot be read, or cannot be continued."""


class ContentError(CrabError):
    """Raised when an action, evaluator, template or task is written wrong."""


class DefinitionError(ContentError):
    """Raised when a decorated function, a subtask or a kind of environment breaks a rule of its contract."""


class GraphError(ContentError):
    """Raised when a checkpoint graph has a cycle, a duplicate or unknown id, or no checkpoint."""


class CompositionError(ContentError):
    """Raised when subtasks do not fit together."""


class AgentFault(CrabError):
    """Raised when the agent did something wrong: it is told so, and the trial counts it."""


class InvalidCall(AgentFault):
    """Raised when a call is refused before anything was executed."""

    reason = "invalid_call"


class UnknownAction(InvalidCall):
    """Raised when no environment of the task has an action of that name."""

    reason = "unknown_action"


class WrongEnvironment(InvalidCall):
    """Raised when the action exists, but in another environment of the task."""

    reason = "wrong_environment"


class InvalidArguments(InvalidCall):
    """Raised when arguments are missing, unknown, of the wrong type or out of range."""

    reason = "invalid_arguments"


class MalformedCall(InvalidCall):
    """Raised when what the agent sent is not a call at all."""

    reason = "malformed_call"


class ActionFailed(AgentFault):
    """Raised when a valid action was executed and the device answered no, e.g. no such application."""


class ContextExceeded(AgentFault):
    """Raised when an agent's request is longer than its model can read; the agent has to keep its history short."""


class InfrastructureError(CrabError):
    """Raised when the machinery broke; a trial that ends by it is invalid, never failed.

    Args:
        message: What broke, and where.
        fix: What a person can do about it, as one sentence or command; empty when nothing is known.
    """

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(f"{message} — {fix}" if fix else message)
        self.message = message
        self.fix = fix


class ProviderUnavailable(InfrastructureError):
    """Raised when a provider cannot start a device on this machine."""


class EnvironmentFailure(InfrastructureError):
    """Raised when a started device died or stopped answering."""


class ProbeFailure(InfrastructureError):
    """Raised when a probe could not be answered: unknown, which is neither true nor false."""


class DeadlineExceeded(ProbeFailure):
    """Raised when a probe was not answered before its deadline."""


class RemoteError(InfrastructureError):
    """Raised when the wire between a client and an environment server fails."""


class Unreachable(RemoteError):
    """Raised when no server answers at the address."""


class HandshakeRefused(RemoteError):
    """Raised when the server speaks another protocol version or refuses the token."""


class RequestRejected(RemoteError):
    """Raised when the server refuses a request: too large, unknown verb, wrong Host or Origin."""


class ModelError(InfrastructureError):
    """Raised when a language model did not answer, which is not the doing of the agent that asked it.

    Args:
        message: What happened, and where.
        fix: What a person can do about it.
        retry_after: Seconds the endpoint asks to wait; None when it does not say.
    """

    def __init__(self, message: str, *, fix: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, fix=fix)
        self.retry_after = retry_after


class RateLimited(ModelError):
    """Raised when a model's endpoint asks to wait."""


class ModelUnavailable(ModelError):
    """Raised when a model's endpoint failed in a way that may pass: server error, dropped connection, time-out."""


class ModelRejected(ModelError):
    """Raised when a model's endpoint refuses what every request would repeat: key, model name, parameters, quota."""
