"""Who gets in, and who does not: over a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.explorer.guard import HEADERS
from audit.explorer.run.opened_run import open_run
from fixtures.explored import TOKEN, Visitor, served


@pytest.fixture
def stranger(folder: Path) -> Iterator[Visitor]:
    with served(open_run(folder, "run")) as visitor:
        yield visitor


def test_the_token_opens_one_session_and_leaves_the_address(stranger: Visitor) -> None:
    first = stranger.get("/", token=TOKEN)

    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/", token=TOKEN).status == 403
    stranger.cookie = cookie.split(";")[0]
    assert stranger.get("/").status == 200


@pytest.mark.parametrize("path", ["/", "/findings", "/static/explorer.js", "/no/such/page"])
@pytest.mark.parametrize("cookie", ["", "audit_1=x", "=;;\x01", "audit_{port}=guess"])
def test_without_the_session_everything_is_refused(
    stranger: Visitor, path: str, cookie: str
) -> None:
    stranger.cookie = cookie.format(port=stranger.port)
    for asked in ({}, {"token": "guess"}, {"token": "é"}):
        answer = stranger.get(path, **asked)
        assert answer.status == 403
        assert answer.text.startswith("Open the address")
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "example.org"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "localhost:1"}, 421),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_other_hosts_and_sites_are_refused_even_with_the_session(
    visitor: Visitor, headers: dict[str, str], status: int
) -> None:
    assert visitor.ask("GET", "/", **headers).status == status
    assert visitor.get("/").status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(visitor: Visitor, method: str) -> None:
    assert visitor.ask(method, "/").status == 405


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/explorer.css", "/node?id=root"])
def test_every_answer_forbids_what_no_page_needs(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)

    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe-inline" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pyproject.toml",
        "/static/..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
        "/static/explorer.css/..",
        "//etc/passwd",
    ],
)
def test_a_path_that_climbs_out_finds_nothing(visitor: Visitor, path: str) -> None:
    answer = visitor.ask("GET", path)

    assert answer.status == 404
    assert "root:" not in answer.text
