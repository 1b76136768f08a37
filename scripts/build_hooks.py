"""What building the package adds: addresses in the README, and the sample data for `audit demo`."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZipFile, ZipInfo

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKED = "audit/cli/sample_data.zip"
RELATIVE = re.compile(r"\]\((?!\w+://|#)([^)]+)\)")


class AbsoluteReadme(MetadataHookInterface):
    """The README with addresses in place of relative links, which index pages cannot follow."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field ``readme``."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        address, version = metadata["urls"]["Repository"], metadata["version"]

        def link(found: re.Match[str]) -> str:
            kind = "raw" if found[1].endswith((".png", ".svg")) else "blob"
            return f"]({address}/{kind}/v{version}/{found[1]})"

        whole = RELATIVE.sub(link, text)
        metadata["readme"] = {"content-type": "text/markdown", "text": whole}


class SampleData(BuildHookInterface[Any]):
    """The sample data as one file of less than 400 kB."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Pack them, but for an editable installation, which finds them where they are."""
        if version == "editable":
            return
        packed = Path(self.directory) / Path(PACKED).name
        packed.parent.mkdir(parents=True, exist_ok=True)
        pack(Path(self.root) / "sample_data", packed)
        build_data["force_include"][str(packed)] = PACKED

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was packed."""
        (Path(self.directory) / Path(PACKED).name).unlink(missing_ok=True)


def pack(folder: Path, packed: Path) -> None:
    """Pack the files of a folder, always to the same bytes; a table by its columns, in JSON."""
    with ZipFile(packed, "w", ZIP_BZIP2) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, content = path.relative_to(folder).as_posix(), path.read_bytes()
            if path.suffix == ".csv" and b'"' not in content:  # half the room of rows
                rows = (line.split(",") for line in content.decode().splitlines())
                columns = [[head, _steps(values)] for head, *values in zip(*rows, strict=True)]
                name, content = f"{name}.columns", json.dumps(columns).encode()
            archive.writestr(ZipInfo(name), content, ZIP_BZIP2)


def _steps(values: list[str]) -> str | list[int]:
    """Numbers as the steps between them, which repeat; any other values as lines."""
    if not all(value.isdecimal() and value == str(int(value)) for value in values):
        return "\n".join(values)
    return [after - before for before, after in pairwise([0, *map(int, values)])]
