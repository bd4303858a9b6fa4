"""When a request is made again, and how long that waits. Nobody waits here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.errors import ModelError, ModelRejected, ModelUnavailable, RateLimited
from crab.models.retry import Retrier, RetryPolicy

POLICY = RetryPolicy(attempts=5, first=1.0, longest=30.0)


def run(*outcomes: ModelError | str) -> tuple[object, list[float]]:
    """What a series of outcomes ends in, and the waits on the way."""
    left = list(outcomes)
    waits: list[float] = []

    def attempt() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    try:
        return Retrier(POLICY, waits.append).run(attempt), waits
    except ModelError as error:
        return error, waits


def test_what_may_pass_is_asked_again() -> None:
    """The waits grow, and each is at least half of what its turn allows."""
    result, waits = run(ModelUnavailable("500"), RateLimited("429"), ModelUnavailable("dropped"), "yes")

    assert result == "yes"
    assert [low <= wait < 2 * low for low, wait in zip((0.5, 1.0, 2.0), waits, strict=True)] == [True] * 3


def test_the_last_failure_is_told() -> None:
    last = RateLimited("fifth")

    result, waits = run(*[ModelUnavailable("again")] * 4, last)

    assert result is last
    assert len(waits) == 4


def test_what_cannot_pass_is_not_asked_again() -> None:
    error = ModelRejected("bad key")

    assert run(error, "yes") == (error, [])


def test_an_endpoint_that_says_when_is_believed() -> None:
    """Never earlier than asked, and little later."""
    _, (wait,) = run(RateLimited("429", retry_after=7.0), "yes")

    assert 7.0 <= wait <= 7.7


def test_an_endpoint_that_asks_for_too_long_is_given_up() -> None:
    error = RateLimited("429", retry_after=3600.0)

    assert run(error, "yes") == (error, [])


@given(st.integers(1, 4), st.none() | st.floats(0, 30), st.floats(0, 1, exclude_max=True))
def test_no_wait_is_longer_than_the_longest(failures: int, asked: float | None, draw: float) -> None:
    wait = POLICY.wait(failures, asked, draw)

    assert wait is not None
    assert (asked or 0.0) <= wait <= POLICY.longest


def test_the_same_seed_waits_the_same() -> None:
    errors = [ModelUnavailable("again")] * 4
    assert run(*errors, "yes")[1] == run(*errors, "yes")[1]


@pytest.mark.parametrize("attempts", [1, 2])
def test_attempts_are_requests_in_all(attempts: int) -> None:
    assert (RetryPolicy(attempts=attempts).wait(attempts, None, 0.0)) is None


class Bell(BaseException):
    """Ends a trial, as the limit on its time does."""


def test_what_interrupts_a_wait_names_the_failure_as_its_cause() -> None:
    """So whoever sets the limit can tell a slow agent from a model that made it wait."""

    def ring(seconds: float) -> None:
        raise Bell

    def attempt() -> str:
        raise RateLimited("429")

    with pytest.raises(Bell) as caught:
        Retrier(POLICY, ring).run(attempt)

    assert isinstance(caught.value.__cause__, RateLimited)
