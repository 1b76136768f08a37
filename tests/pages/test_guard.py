"""Who gets in, and who does not: over a real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from fixtures.explored import SECRET, Visitor, listening_at, open_run, served
from fixtures.registered import HEADERS


@pytest.fixture
def stranger(folder: Path) -> Iterator[Visitor]:
    with served(open_run(folder, "run")) as visitor:
        yield visitor


def test_the_secret_path_opens_one_session(stranger: Visitor) -> None:
    first = stranger.ask_as_it_stands("GET", f"{stranger.root}/")

    assert (first.status, first.headers["location"]) == (303, f"{stranger.root}/")
    cookie = first.headers["set-cookie"]
    assert {part.strip() for part in cookie.split(";")[1:]} == {
        "HttpOnly",
        "SameSite=strict",
        f"Path={stranger.root}",
    }
    assert SECRET not in cookie.split(";")[0]
    assert stranger.get("/").status == 403
    stranger.cookie = cookie.split(";")[0]
    assert stranger.get("/").status == 200


@pytest.mark.parametrize("path", ["/tables", "/static/window.js", "/no/such/page", "", "/."])
@pytest.mark.parametrize("cookie", ["", "audit_1=x", "=;;\x01", "audit_{port}=guess"])
def test_without_the_session_everything_is_refused(
    stranger: Visitor, path: str, cookie: str
) -> None:
    stranger.cookie = cookie.format(port=stranger.port)
    for root in (stranger.root, "", f"{stranger.root[:-1]}?", stranger.root[:9], "/é"):
        answer = stranger.ask_as_it_stands("GET", quote(f"{root}{path or '/x'}", safe="/?"))
        assert answer.status == 403
        assert answer.text.startswith("Open the address")
        assert "set-cookie" not in answer.headers
    stranger.enter()


@pytest.mark.parametrize("foreign", ["a=b c; d", 'x="', "é=1", "=;;", "k[]=1; $Version=2"])
def test_cookies_of_other_programs_lock_nobody_out(stranger: Visitor, foreign: str) -> None:
    other = foreign.encode().decode("latin-1")
    stranger.cookie = other
    stranger.enter()
    stranger.cookie = f"{other}; {stranger.cookie}; {other}"

    assert stranger.get("/tables").status == 200


def test_all_that_a_page_leads_to_lies_below_the_path(visitor: Visitor) -> None:
    content = visitor.get("/").content.decode()

    links = re.findall(r'\b(?:href|src|action)="(/[^"]*)"', content)
    assert len(links) > 10
    assert all(link.startswith(f"{visitor.root}/") for link in links)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "example.org"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "localhost:1"}, 421),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_other_hosts_and_sites_are_refused_even_with_the_session(
    visitor: Visitor, headers: dict[str, str], status: int
) -> None:
    assert visitor.ask("GET", "/", **headers).status == status
    assert visitor.get("/").status == 200


def test_other_methods_are_refused(visitor: Visitor) -> None:
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]:
        assert visitor.ask(method, "/").status == 405


def test_every_answer_forbids_what_no_page_needs(visitor: Visitor) -> None:
    for path in ["/", "/nowhere", "/static/window.css", "/node?id=root"]:
        answer = visitor.get(path)

        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"]


def test_a_path_that_climbs_out_finds_nothing(visitor: Visitor) -> None:
    for path in [
        "/static/../pyproject.toml",
        "/static/..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
        "/static/window.css/..",
        "//etc/passwd",
    ]:
        answer = visitor.ask("GET", path)

        assert answer.status == 404
        assert "root:" not in answer.text


def test_it_listens_on_this_machine_alone() -> None:
    with listening_at(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
