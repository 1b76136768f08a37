"""Plugins: packages whose entry points add layouts, hierarchies, checks and analyses.

They are listed without being loaded, and used only where a user names them.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from audit.base.errors import AuditError, PluginError
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
    """Use the plugins of these names within the block, beside those in use outside of it."""
    plugins = {plugin.name: plugin for plugin in used()}
    for found in map(_found, names):
        plugins[found.name] = plugins.get(found.name) or _loaded(found)
    before = _USED.set(tuple(plugins.values()))
    try:
        yield
    except AuditError:
        raise
    except (Exception, SystemExit) as error:
        for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
            top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            for plugin in used():
                if top in plugin.modules:
                    when = f"in {frame.f_code.co_name}"
                    raise _crashed(plugin.name, when, error) from error
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
    """What the plugins in use add at a door, of one kind."""
    given = [(plugin, one) for plugin in used() for one in plugin.added[door]]
    for plugin, one in given:
        if not isinstance(one, (kind, *others)):
            names = " or ".join(known.__name__ for known in (kind, *others))
            raise PluginError(
                f"the plugin {plugin.name} must give {names} at {GROUP}{door}",
                found=type(one).__name__,
            )
    return tuple(one for _, one in given if isinstance(one, kind))


def record_of(name: str) -> dict[str, str]:
    """The entry of an installed plugin among the inputs of a run; it is not loaded."""
    return _described(_found(name), {}).record


def listed() -> Iterator[tuple[str, str, str]]:
    """Name and version of each installed plugin with what it adds, none of them loaded."""
    from importlib.metadata import entry_points as installed

    for door in DOORS:
        for point in sorted(installed(group=GROUP + door), key=_named):
            found = point.dist
            yield _named(point), found.version if found else "", f"{door}: {point.name}"


def _named(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def _found(name: str) -> Distribution:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        found = None
    if found is None or not list(_points(found)):
        known = ", ".join(dict.fromkeys(name for name, *_ in listed())) or "none"
        raise PluginError(
            f"a plugin that is installed is required where {name!r} is named",
            found="a package that adds nothing" if found else "no package of that name",
            hint=f"installed are: {known}; docs/plugins.md says how one is made",
        )
    return found


def _points(found: Distribution) -> Iterator[tuple[str, EntryPoint]]:
    for point in found.entry_points:
        if point.group.startswith(GROUP) and (door := point.group[len(GROUP) :]) in DOORS:
            yield door, point


def _loaded(found: Distribution) -> Plugin:
    made: dict[str, tuple[Any, ...]] = dict.fromkeys(DOORS, ())
    for door, point in _points(found):
        try:
            one = point.load()
            one = one() if door == "analyses" and isinstance(one, type) else one
        except (Exception, SystemExit) as error:
            raise _crashed(found.name, f"while {point.value} was loaded", error) from error
        made[door] = (*made[door], one)
    return _described(found, made)


def _described(found: Distribution, added: Mapping[str, tuple[Any, ...]]) -> Plugin:
    tops = sorted({point.module.split(".")[0] for _, point in _points(found)})
    digest = hashlib.sha256()
    for spec in filter(None, map(find_spec, tops)):
        for root in map(Path, spec.submodule_search_locations or [spec.origin or ""]):
            for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
                if path.is_file() and "__pycache__" not in path.parts:
                    name = path.relative_to(root.parent).as_posix()
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                    digest.update(f"{name} {content}\n".encode())
    return Plugin(found.name, found.version, digest.hexdigest(), tuple(tops), added)


def _crashed(plugin: str, when: str, error: BaseException) -> PluginError:
    said = str(error).partition("\n")[0]
    return PluginError(
        f"the plugin {plugin} crashed {when}",
        found=f"{type(error).__name__}: {said}" if said else type(error).__name__,
        hint="leave --plugin out, or report this to whoever made the plugin",
    )
