"""`audit explore`: a local web application that walks from a verdict to the records behind it.

Pages are rendered on the server, are complete without a script, and refer to nothing outside.
"""

from audit.base.machine import require_package


def require_explorer() -> None:
    """Raise InputError, which names the extra to install, if a package of it is missing."""
    for package in ("starlette", "uvicorn"):
        require_package(package, "to look at a run in a browser")
