"""What stands on the pages of reports is read back, and what a reader does not see is not."""

from __future__ import annotations

import warnings
from html import escape
from pathlib import Path
from string import Formatter

import weasyprint
from hypothesis import given
from hypothesis import strategies as st

from audit.runs.consistency import FindingText, comparable, one_way, read_html, read_pdf
from fixtures.examples import examples

PAGE = """<style>
@page { size: A4; margin: 24mm 20mm 22mm; @top-left { content: "Running head" }
        @bottom-right { content: "Page " counter(page) " of " counter(pages) } }
p { font-size: 40pt }
</style>"""


def test_a_sentence_over_lines_and_pages_is_one(tmp_path: Path) -> None:
    sentence = " ".join(
        f"number-{n} well-known-and-far-away ({n / 7:.2f} %, <{n})" for n in range(30)
    )
    escaped = sentence.replace("<", "&lt;")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        weasyprint.HTML(string=f"{PAGE}<p>{escaped}</p>").write_pdf(tmp_path / "long.pdf")
    report = read_pdf(tmp_path / "long.pdf")

    assert comparable(sentence) in comparable(report.text)
    assert "Running head" not in report.text
    assert report.attachments == {}


def test_text_from_right_to_left_is_known() -> None:
    assert one_way("a “b” 1 - 2 é 心 🫀")
    assert not one_way("a מ")
    assert not one_way("ع 1")


PARTS = {
    "finding": '<article>{b}<p class="lead statement">{a}</p><p>{b}</p><p class="card-text">{b}</p>'
    '<code>{b}</code><p class="card-id">{a}<code>{id}</code>{a}</p>{b}</article>',
    "line": '<article><span class="finding-about statement">{a}<span>{b}</span></span>'
    '<p class="card-text">{b}</p><p class="card-id"><code>{id}</code></p></article>',
    "beside": '<p class="statement">{a}</p><p class="card-id"><code>{id}</code></p>',
    "comment": '<!-- <article><p class="statement">All is well.</p></article> -->',
    "style": "<style>p {{ color: red }}</style>{a}",
    "policy": '<meta http-equiv="Content-Security-Policy">{a}',
    "within": '<a href="#here">{a}</a>',
    **{name: f'<b {name}="{{a}}">{{b}}</b>' for name in ("title", "alt", "aria-label")},
    "script": "<script>let x = 1</script>{a}",
    "a href": '<a href="https://example.org">{a}</a>',
    "b src": '<b src="#here" title="{a}" src="elsewhere"></b>',
    "img": "<img>{a}",
    "p onclick": '<p onclick="x()">{a}</p>',
    "meta http-equiv": '<meta http-equiv="refresh">{a}',
}
"""Parts of a page by what they are; those that act or lead away by what is told of them."""
ACTING = ("a href", "b src", "img", "p onclick", "meta http-equiv")
WORDS = st.text(st.sampled_from("ab1 <&é—"), min_size=1, max_size=5)


@given(st.lists(st.tuples(st.sampled_from([*PARTS]), WORDS, WORDS), min_size=len(PARTS)))
@examples(100)
def test_of_a_page_is_read_what_is_seen_and_what_acts(parts: list[tuple[str, str, str]]) -> None:
    html, seen = "", ""
    findings, codes, active = list[FindingText](), set[str](), list[str]()
    for number, (kind, a, b) in enumerate(parts):
        texts = {"a": a, "b": b, "id": f"x:{number}"}
        html += PARTS[kind].format(**{name: escape(text) for name, text in texts.items()})
        seen += "".join(texts[name] for _, name, *_ in Formatter().parse(PARTS[kind]) if name)
        if kind in ("finding", "line"):
            findings.append(FindingText(texts["id"], a + b))
            codes |= {texts["id"]} | ({b} if kind == "finding" else set())
        codes |= {texts["id"]} if kind == "beside" else set()
        before = [other for other, *_ in parts[:number]]
        if kind in ACTING or (kind == "script" and "script" in before):
            active.append(kind)
    report = read_html(html.encode())

    assert report.text == comparable(seen)
    assert report.findings == tuple(findings)
    assert (report.codes, report.active) == (codes, tuple(active))
