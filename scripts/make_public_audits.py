"""Audit public data and write pages of them: ``make audits AUDIT_DATA=FOLDER``.

Makes ``public-audits/`` (or the folder named as the only argument): for each data set the static
pages of its audit, which show the shared view alone, and ``index.html`` with the ten findings to
act on first, what they say of the data, and the licence; of ontologies what lint says. Nothing of
it is committed. Needs the extras ``explore`` and ``wordnet``, Debian's package ``wordnet``, and a
minute of two processors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

COMMAND = "from audit.cli.app import app; app()"
SHOWN = 10


@dataclass(frozen=True)
class Audited:
    """A data set of the gallery.

    Args:
        name: What it is called.
        about: What it holds, in a sentence.
        licence: Under which licence, of whom.
        words: The command, ``{data}`` for ``AUDIT_DATA``.
    """

    name: str
    about: str
    licence: str
    words: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Of its pages."""
        return self.name.lower().replace(" ", "-")


SOFTMAX = "{data}/softmax"
AUDITS = (
    Audited(
        "AudioSet", "Sound classes that people heard on 20,371 clips, and a model's answers.",
        "Ontology: CC BY-SA 4.0, Google. Labels and answers: Apache 2.0, cleanlab/label-errors.",
        ("run", "{data}/audioset/labels.jsonl", "--hierarchy", "{data}/audioset/ontology.json",
         "--predictions", "{data}/audioset/predictions.jsonl"),
    ),
    Audited(
        "GO slim", "Terms of the Gene Ontology's generic slim on 34,284 genes of a plant.",
        "Gene Ontology: CC BY 4.0. Annotations: BSD, goatools.",
        ("run", "{data}/go-slim/slim_association", "--hierarchy",
         "{data}/go-slim/goslim_generic.obo"),
    ),
    Audited(
        "CIFAR-10", "10,000 small pictures of ten classes, and a model's cross-validated scores.",
        "Apache 2.0, cleanlab/label-errors.",
        ("run", f"{SOFTMAX}/cifar10_test_labels.npy", "--hierarchy", f"{SOFTMAX}/cifar10_edges.csv",
         "--classes", f"{SOFTMAX}/cifar10_classes.txt",
         "--predictions", f"{SOFTMAX}/cifar10_test_probabilities.npy"),
    ),
    Audited(
        "20 Newsgroups", "The groups of 7,532 posts, and a model's scores.",
        "Apache 2.0, cleanlab/label-errors.",
        ("run", f"{SOFTMAX}/20news_test_labels.npy", "--hierarchy", f"{SOFTMAX}/20news_classes.txt",
         "--classes", f"{SOFTMAX}/20news_classes.txt",
         "--predictions", f"{SOFTMAX}/20news_test_probabilities.npy"),
    ),
    Audited(
        "MIMIC-III demo", "ICD-9-CM codes of 129 stays of 100 patients; small counts are withheld.",
        "ODbL 1.0, MIT Laboratory for Computational Physiology, PhysioNet.",
        ("run", "{data}/mimic-iii-demo", "--hierarchy", "icd9cm"),
    ),
    Audited(
        "WordNet", "The nouns of WordNet 3.0 as a hierarchy, by lint.",
        "WordNet licence, Princeton University.",
        ("lint", "/usr/share/wordnet"),
    ),
    Audited(
        "Evidence and Conclusion Ontology", "2,197 terms of kinds of evidence, by lint.", "CC0.",
        ("lint", "{data}/ontologies/eco.obo"),
    ),
    Audited(
        "Disease Ontology", "730 terms of cancers in the Disease Ontology, by lint.", "CC0.",
        ("lint", "{data}/ontologies/do_DO_cancer_slim.obo"),
    ),
    Audited(
        "Gene Ontology, generic slim", "149 terms of the Gene Ontology, by lint.", "CC BY 4.0.",
        ("lint", "{data}/go-slim/goslim_generic.obo"),
    ),
)  # fmt: skip
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { margin: 2.5rem 0 .25rem } p { margin: .25rem 0 } small { color: #555 }
li { margin: .5rem 0; overflow-wrap: anywhere } code { overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } a { color: #8bf }
  small { color: #aaa } }
"""


def main() -> None:
    """Audit everything and write the pages."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "public-audits")
    if out.exists():
        sys.exit(f"Error: a new folder is required, found {out}\nHint: rm -r {out}")
    data = os.environ.get("AUDIT_DATA")
    if not data:
        sys.exit("Error: AUDIT_DATA must name the folder of the public data")
    out.mkdir(parents=True)
    sections = [section(one, data, out) for one in AUDITS]
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Public audits</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>Public audits</h1>\n<p>What <code>audit</code> "
        "says of data that may be shown. All of it is the shared view.</p>\n"
        f"{''.join(sections)}</body></html>\n"
    )
    (out / "index.html").write_text(page, "utf-8")
    print(f"Open {out / 'index.html'}")


def section(one: Audited, data: str, out: Path) -> str:
    """The part of the index on one data set, whose pages are written on the way."""
    words = [word.format(data=data) for word in one.words]
    shown = " ".join(word.format(data="FOLDER") for word in one.words)
    said, link = linted(words) if words[0] == "lint" else audited(one.folder, words, out)
    lines = "".join(
        f"<li>{escape(what)} <small>{escape(todo)}</small></li>\n" for what, todo in said
    )
    found = f"<ol>\n{lines}</ol>\n" if said else "<p>Nothing is found.</p>\n"
    return (
        f'<h2 id="{one.folder}">{escape(one.name)}</h2>\n<p>{escape(one.about)}{link}</p>\n{found}'
        f"<p><small>Licence: {escape(one.licence)} <code>audit {escape(shown)}</code></small></p>\n"
    )


def audited(place: str, words: list[str], out: Path) -> tuple[list[tuple[str, str]], str]:
    """The findings to act on first, with what to do, and a link to the static pages."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        called(*words, "--no-pdf", "--out", str(run))
        called("explore", str(run), "--static", str(out / place))
        result = json.loads((run / "result.json").read_text("utf-8"))
    findings: dict[str, dict[str, Any]] = {
        one["id"]: one for check in result["checks"] for one in check["findings"]
    }
    first = [findings[one] for one in result["worst"]]
    rest = [one for one in findings.values() if one not in first]
    said = [(one["statement"], one["data_user"]) for one in [*first, *rest][:SHOWN]]
    return said, f' <a href="{place}/index.html">Its pages</a>.'


def linted(words: list[str]) -> tuple[list[tuple[str, str]], str]:
    """What lint says first, with what to do."""
    findings = json.loads(called(*words, "--json"))["findings"]
    return [(one["statement"], one["advice"]) for one in findings[:SHOWN]], ""


def called(*words: str) -> str:
    """What a command of this program prints; one that fails ends this one with its message."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"audit {' '.join(words)}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
