"""Import the modules of some packages out of others, as the first and second argument list them."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import packages_distributions


def main() -> None:
    """Import each module that one of the packages installs."""
    packages, modules = (set(one.split(",")) for one in sys.argv[1:])
    owners = packages_distributions()
    for module in sorted(modules):
        own = {re.sub(r"[-_.]+", "-", one).lower() for one in owners.get(module.split(".")[0], ())}
        if own & packages:
            import_module(module)


if __name__ == "__main__":
    main()
