"""How the pages of docs/ become a site: ``make docs``."""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.ext.napoleon import GoogleDocstring

from audit.base.declared import Column, Table
from audit.results.tables import TABLES
from audit.runs.analyses import ANALYSES
from audit.runs.schema import comparison_schema, result_schema

project = "audit"
author = "The audit developers"
release = metadata.version("hierarchy-audit")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_title = f"audit {release}"
exclude_patterns = ["example_plugin/**"]
if not Path(__file__).with_name("truth.md").exists():  # a source distribution holds no evidence
    suppress_warnings = ["myst.xref_missing", "toc.not_readable"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
default_role = "py:obj"
autodoc_typehints = "signature"
maximum_signature_line_length = 80
autodoc_member_order = "bysource"


def whole_attribute(self: GoogleDocstring) -> tuple[str, list[str]]:
    """Types stand in signatures alone: before a colon stands the beginning of a sentence."""
    lines = self._dedent(self._consume_to_end())
    return "", GoogleDocstring(lines, self._config).lines()


def whole_return(self: GoogleDocstring, *_: bool) -> list[tuple[str, str, list[str]]]:
    """The same of what is returned."""
    return [("", "", self._dedent(self._consume_to_next_section()))]


GoogleDocstring._consume_inline_attribute = whole_attribute  # type: ignore[method-assign]
GoogleDocstring._consume_returns_section = whole_return  # type: ignore[method-assign]

GIVEN = {"audit.AuditResult", "audit.Comparison", "audit.Hierarchy", "audit.LabelDataset"}


def short_signature(*told: object) -> tuple[str, str] | None:
    """Records that functions give are not called; of a policy each key has a line of its own."""
    if told[2] in GIVEN:
        return "", ""
    return ("(**keys)", "") if told[2] == "audit.Policy" else None


HOW = {
    "text": "as it is",
    "whole": "as it is: it counts no persons",
    "setting": "as it is: it is stated",
    "count": "in bins",
    "sum": "in bins",
    "mean": "in steps",
    "factor": "in two digits",
    "share": "computed from told numbers",
    "ratio": "computed from told numbers",
    "difference": "computed from told numbers",
    "end": "computed from told numbers",
    "metric": "as its metric says",
    "chance": "in the window alone",
}
"""How the columns of a kind are told."""


def with_tables(_: Sphinx, page: str, text: list[str]) -> None:
    """The page of tables lists what is declared."""
    if page == "tables":
        every = {"The data and the model": TABLES} | {
            kind.name.capitalize(): kind.tables for kind in ANALYSES
        }
        for group, tables in every.items():
            text[0] += f"\n## {group}\n"
            text[0] += "".join(line for item in tables.items() for line in table_lines(*item))


def table_lines(name: str, table: Table) -> Iterator[str]:
    """A declared table in Markdown."""
    title = f"**{table.title}.** " if table.title else ""
    row = f"A row is {table.row}." if table.row else ""
    yield f"\n### `{name}`\n\n{title}{row}\n\n"
    yield "| column | heading | told |\n|---|---|---|\n"
    for column in table.columns.values():
        yield f"| `{column.name}` | {column.heading} | {told(column)} |\n"


def told(column: Column) -> str:
    """How a column is told."""
    if column.reason:
        digits = "in two digits" if column.kind == "estimate" else "as it is"
        return f"{digits}: {column.reason}"
    return HOW[column.kind]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    for name, schema in {"result": result_schema(), "comparison": comparison_schema()}.items():
        file = Path(__file__).with_name(f"{name}.schema.json")
        file.write_text(json.dumps(schema, indent=1), "utf-8")
    app.connect("source-read", with_tables)
    app.connect("autodoc-process-signature", short_signature)
