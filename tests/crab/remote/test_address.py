"""Addresses are read and written; tokens are long enough, private and compared safely."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.errors import UsageError
from crab.remote.address import Address, check_token, new_token, read_token, same_token, write_token


@pytest.mark.parametrize(
    "address",
    [Address(socket=Path("/run/x/s")), Address(host="127.0.0.1", port=8000), Address(host="::1", port=1)],
)
def test_an_address_is_read_as_it_is_written(address: Address) -> None:
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unix:relative",
        "127.0.0.1:8000",
        "https://127.0.0.1:8000",
        "http://127.0.0.1",
        "http://127.0.0.1:8000/path",
        "http://user:word@127.0.0.1:8000",
        "http://127.0.0.1:99999",
        "http://[::1:80",
    ],
)
def test_what_is_no_address_is_refused_with_the_two_forms(text: str) -> None:
    with pytest.raises(UsageError, match="write unix:/path/to/socket or http://host:port"):
        Address.parse(text)


def test_an_address_never_shows_its_token() -> None:
    token = new_token()
    address = Address(port=8000, token=token)
    assert token not in str(address)
    assert token not in repr(address)


def test_tokens_hold_32_random_bytes_and_differ() -> None:
    assert len({new_token() for _ in range(50)}) == 50
    assert check_token(new_token())
    assert check_token("0123456789abcdef" * 4)


@pytest.mark.parametrize("token", ["", "short", "x" * 42, "ü" * 64, "with space" * 10, "x" * 43 + "\r\nHost: a"])
def test_a_token_that_is_too_short_or_no_header_value_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(UsageError, match="32 random bytes") as caught:
        check_token(token)
    assert not token or token not in str(caught.value)


def test_a_token_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = new_token()
    write_token(path, token)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_token(path) == token
    with pytest.raises(UsageError, match="File exists"):
        write_token(path, token)
    path.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        read_token(path)


def test_a_token_file_that_is_missing_or_holds_no_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_token(tmp_path / "token")
    path = tmp_path / "other"
    path.touch(mode=0o600)
    path.write_text("ü", encoding="utf-8")
    with pytest.raises(UsageError, match="does not hold a token"):
        read_token(path)


@given(st.binary())
def test_only_the_token_itself_is_the_same(given: bytes) -> None:
    token = "0123456789abcdef" * 4
    assert same_token(token, token.encode())
    assert not same_token(token, given)
    assert not same_token(token, token.encode() + given + b"x")
