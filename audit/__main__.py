"""``python -m audit``: the command line."""

from __future__ import annotations

from hierarchy_audit import main

if __name__ == "__main__":
    main()
