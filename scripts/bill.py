"""What installs with the package: a bill of materials in CycloneDX, and the licence of each part.

    python scripts/bill.py > bill.json

It looks at the environment that it runs in, and exits with 1 where a part states no licence that is
among the `KNOWN` ones. The same environment gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

ROOT = "hierarchy-audit"
BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 1.1 (MPL 1.1)": "MPL-1.1",
}
"""SPDX identifiers of classifiers; of several, the first that is here is chosen, as one may."""
KNOWN = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
    *("MIT-CMU", "MPL-1.1", "MPL-2.0", "PSF-2.0", "Zlib"),
}
"""Licences under which a part may be used and passed on beside code under the MIT licence."""


def main() -> int:
    """Print the bill; name parts of unknown licence on standard error."""
    needs: dict[str, set[str]] = {}
    waiting = [Requirement(ROOT)]
    while waiting:
        asked = waiting.pop()
        others = list(required(asked))
        found = needs.setdefault(_name(asked), set())
        waiting += [one for one in others if _name(one) not in found]
        found |= {_name(one) for one in others}
    parts = {name: distribution(name) for name in sorted(needs)}
    unknown = [name for name, part in parts.items() if not may_be_used(licence(part))]
    for name in unknown:
        print(f"{name}: its licence is {licence(parts[name]) or 'not stated'}", file=sys.stderr)
    print(json.dumps(bill(parts, needs), indent=1))
    return int(bool(unknown))


def required(asked: Requirement) -> Iterator[Requirement]:
    """What a requirement, with its extras, requires in this environment."""
    for line in distribution(asked.name).requires or ():
        one = Requirement(line)
        if not one.marker or any(one.marker.evaluate({"extra": e}) for e in ("", *asked.extras)):
            yield one


def _name(one: Requirement) -> str:
    return re.sub(r"[-_.]+", "-", one.name).lower()


def licence(part: Distribution) -> str:
    """An expression in SPDX; else what the metadata say; empty where they say nothing."""
    if stated := part.metadata.get("License-Expression"):
        return str(stated)
    classified = (text.rpartition(" :: ")[2] for text in part.metadata.get_all("Classifier", []))
    found = [BY_CLASSIFIER[text] for text in classified if text in BY_CLASSIFIER]
    return found[0] if found else str(part.metadata.get("License", "")).partition("\n")[0]


def may_be_used(expression: str) -> bool:
    """Whether all licences of an expression are known, or one of each choice.

    >>> may_be_used("MIT AND (GPL-3.0-only OR Zlib)"), may_be_used("MIT AND Own"), may_be_used("")
    (True, False, False)
    """
    together = (one.strip("()").split(" OR ") for one in expression.split(" AND "))
    return all(any(name.strip("() ") in KNOWN for name in choice) for choice in together)


def bill(parts: dict[str, Distribution], needs: dict[str, set[str]]) -> dict[str, object]:
    """The bill of materials."""
    components = {name: component(name, part) for name, part in parts.items()}
    at = {name: _address(name, part) for name, part in parts.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**components.pop(ROOT), "type": "application"}},
        "components": list(components.values()),
        "dependencies": [
            {"ref": at[name], "dependsOn": [at[other] for other in sorted(others)]}
            for name, others in sorted(needs.items())
        ],
    }


def component(name: str, part: Distribution) -> dict[str, object]:
    """A part, with its licence."""
    address = _address(name, part)
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": part.version,
        "licenses": [{"expression": licence(part)}],
        "purl": address,
    }


def _address(name: str, part: Distribution) -> str:
    return f"pkg:pypi/{name}@{part.version}"


if __name__ == "__main__":
    sys.exit(main())
