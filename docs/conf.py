"""How the pages of docs/ become a site: ``make docs``."""

import json
import sys
from importlib import metadata
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import GoogleDocstring

from audit.policy.reading import policy_schema
from audit.runs.schema import comparison_schema, result_schema

sys.path.insert(0, str(Path(__file__).parent))

from declared import with_tables

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


def with_declared(_: Sphinx, page: str, text: list[str]) -> None:
    """Tables of a page that are made of declarations."""
    text[0] = with_tables(text[0])


def declared_pages(_: Sphinx, env: BuildEnvironment, *__: set[str]) -> list[str]:
    """Pages that declarations make, which change without their files."""
    paths = {name: Path(env.doc2path(name)) for name in env.found_docs}
    return [name for name, path in paths.items() if "<!-- made:" in path.read_text("utf-8")]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    schemas = {"result": result_schema(), "comparison": comparison_schema()}
    for name, schema in (schemas | {"policy": policy_schema()}).items():
        file = Path(__file__).with_name(f"{name}.schema.json")
        file.write_text(json.dumps(schema, indent=1), "utf-8")
    app.connect("env-get-outdated", declared_pages)
    app.connect("source-read", with_declared)
    app.connect("autodoc-process-signature", short_signature)
