"""Write the table of layouts in ``docs/formats.md`` again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from audit.data.layouts import LAYOUTS, Layout

PAGE = Path(__file__).parents[1] / "docs" / "formats.md"
BEGIN, END = "<!-- layouts: scripts/make_format_docs.py -->", "<!-- end of layouts -->"


def table() -> str:
    """The layouts of each name in Markdown: what they are, their columns, which rows count."""
    lines = ["| what | id | labels | beside, and what counts |", "|---|---|---|---|"]
    for _, rows in groupby(LAYOUTS, key=lambda one: one.name):
        layouts = [*rows]
        parts = [one.title.partition(": ") for one in layouts]
        cells = (
            f"[{parts[0][0]}]({layouts[0].source}): {'; '.join(rest for _, _, rest in parts)}",
            _once(_listed(one.id) for one in layouts),
            _once(f"`{label}`" for one in layouts for label in one.labels),
            _once(said for one in layouts for said in _beside(one)),
        )
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """The page with its table of layouts written anew."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _beside(layout: Layout) -> Iterator[str]:
    if layout.group:
        yield f"`{layout.group}`"
    if layout.sep:
        yield f"joined by `{layout.sep}`"
    if layout.version:
        yield f"version `{layout.version}`"
    if layout.where:
        yield _listed(layout.where)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _once(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def main() -> None:
    """Write the page."""
    PAGE.write_text(page_with_table(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
