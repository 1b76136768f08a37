"""How the pages of docs/ become a site: ``make docs``."""

from importlib import metadata
from pathlib import Path

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
