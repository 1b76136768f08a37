"""Plugins: packages whose entry points add layouts, hierarchies, checks and analyses.

They are listed without being loaded, and used only where a user names them.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from audit.base.errors import AuditError, PluginError
from audit.base.files import sha256_of
from audit.base.remote import allowing

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

DOORS = ("layouts", "hierarchies", "checks", "analyses")
"""What a plugin may add; `GROUP` stands before each in the names of its entry points."""
GROUP = "hierarchy_audit."
_T = TypeVar("_T")
_P = ParamSpec("_P")


@dataclass(frozen=True)
class Plugin:
    """An installed package that adds something.

    Args:
        name: Its name, as ``pip list`` shows it.
        version: Its version.
        sha256: Digest of the files of its packages, by their names; compiled ones are left out.
        modules: Names of its packages and modules.
        added: What its entry points are, by door; empty unless they were loaded.
    """

    name: str
    version: str
    sha256: str
    modules: tuple[str, ...]
    added: Mapping[str, tuple[Any, ...]]

    @property
    def record(self) -> dict[str, str]:
        """Its entry among the inputs of a run."""
        own = {"path": self.name, "version": self.version, "sha256": self.sha256}
        return {"role": "plugin", **own}


_USED: ContextVar[tuple[Plugin, ...]] = ContextVar("plugins", default=())


def used() -> tuple[Plugin, ...]:
    """The plugins that are in use where this is called."""
    return _USED.get()


@contextmanager
def using(names: Iterable[str]) -> Iterator[None]:
    """Use the plugins of these names within the block, beside those in use outside of it;
    PluginError in place of an error that comes from the code of one of them."""
    plugins = {plugin.name: plugin for plugin in used()}
    for found in map(_installed, names):
        plugins[found.name] = plugins.get(found.name) or _loaded(found)
    before = _USED.set(tuple(plugins.values()))
    try:
        yield
    except AuditError:
        raise
    except (Exception, SystemExit) as error:
        for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
            top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if blamed := next((one.name for one in used() if top in one.modules), ""):
                raise _crashed(blamed, f"in {frame.f_code.co_name}", error) from error
        raise
    finally:
        _USED.reset(before)


def opening(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, called while the ``plugins`` among its arguments are in use, and files at
    addresses are read if ``allow_network`` is among them."""

    @wraps(function)
    def call(*given: _P.args, **named: _P.kwargs) -> _T:
        names = cast("Iterable[str]", named.get("plugins", ()))
        plugins = using([names] if isinstance(names, str) else names)
        with plugins, allowing(bool(named.get("allow_network"))):
            return function(*given, **named)

    return call


def added(door: str, kind: type[_T], *others: type[Any]) -> tuple[_T, ...]:
    """What the plugins in use add at a door, of one kind; what is of ``others`` is left out, and
    PluginError is raised of anything else."""
    allowed = (kind, *others)
    for plugin in used():
        for one in plugin.added[door]:
            if not isinstance(one, allowed):
                names = " or ".join(known.__name__ for known in allowed)
                required = f"the plugin {plugin.name} must give {names} at {GROUP}{door}"
                raise PluginError(required, found=type(one).__name__)
    return tuple(one for plugin in used() for one in plugin.added[door] if isinstance(one, kind))


def record_of(name: str) -> dict[str, str]:
    """The entry of an installed plugin among the inputs of a run; it is not loaded."""
    return _as_plugin(_installed(name), {}).record


def listed() -> list[tuple[str, str, str]]:
    """Plugin, version and ``door: name`` of each thing that installed ones add; none is loaded."""
    from importlib.metadata import distributions

    found = {
        (DOORS.index(door), one.name, one.version, point.name)
        for one in distributions()
        for door, point in _points(one)
    }
    return [(name, made, f"{DOORS[door]}: {point}") for door, name, made, point in sorted(found)]


def _installed(name: str) -> Distribution:
    from importlib.metadata import PackageNotFoundError, distribution

    with suppress(PackageNotFoundError, ValueError):
        found = distribution(name)
        if _points(found):
            return found
    known = ", ".join(dict.fromkeys(name for name, *_ in listed())) or "none"
    raise PluginError(
        f"a plugin that is installed is required where {name!r} is named",
        found="no package of that name that adds something",
        hint=f"installed are: {known}; docs/plugins.md says how one is made",
    )


def _points(found: Distribution) -> list[tuple[str, EntryPoint]]:
    """The entry points of a package that are those of a plugin, each after its door."""
    points = ((point.group.removeprefix(GROUP), point) for point in found.entry_points)
    return [(door, one) for door, one in points if door in DOORS and door != one.group]


def _loaded(found: Distribution) -> Plugin:
    made: dict[str, tuple[Any, ...]] = dict.fromkeys(DOORS, ())
    for door, point in _points(found):
        try:
            one = point.load()
            one = one() if door == "analyses" and isinstance(one, type) else one
        except (Exception, SystemExit) as error:
            raise _crashed(found.name, f"while {point.value} was loaded", error) from error
        made[door] = (*made[door], one)
    return _as_plugin(found, made)


def _as_plugin(found: Distribution, added: Mapping[str, tuple[Any, ...]]) -> Plugin:
    """A package as a `Plugin`, with the digest of its files and what it ``added`` by door."""
    tops = sorted({point.module.partition(".")[0] for _, point in _points(found)})
    digest = hashlib.sha256()
    for spec in filter(None, map(find_spec, tops)):
        for root in map(Path, spec.submodule_search_locations or [spec.origin or ""]):
            for path in [root] if root.is_file() else sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = path.relative_to(root.parent).as_posix()
                    digest.update(f"{name} {sha256_of(path)}\n".encode())
    return Plugin(found.name, found.version, digest.hexdigest(), tuple(tops), added)


def _crashed(plugin: str, when: str, error: BaseException) -> PluginError:
    said = str(error).partition("\n")[0]
    return PluginError(
        f"the plugin {plugin} crashed {when}",
        found=f"{type(error).__name__}: {said}" if said else type(error).__name__,
        hint="leave --plugin out, or report this to whoever made the plugin",
    )
