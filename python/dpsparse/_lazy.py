"""Names and methods that are imported when they are first asked for, so that ``import dpsparse`` is quick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from sys import modules
from typing import Any

__all__ = ["LateMethod", "late_names"]


def late_names(
    package: str, names: Mapping[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    names : mapping of str to str
        Names, and the modules that hold them.
    submodules : iterable of str
        Modules of the package that are attributes of it without an import of their own.

    Returns
    -------
    tuple of functions
    """
    own = vars(modules[package])
    parts = frozenset(submodules)

    def __getattr__(name: str) -> Any:
        if name in parts:
            return import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = own[name] = getattr(import_module(names[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*own, *names, *parts})

    return __getattr__, __dir__


class LateMethod:
    """A method that a module holds as a function, and that takes its own place once it is asked for.

    Parameters
    ----------
    module, function : str
        Where it is.
    """

    def __init__(self, module: str, function: str) -> None:
        self.module = module
        self.function = function

    def attach(self, kind: type, name: str) -> None:
        """Make it the method ``name`` of a class, which may be one of the compiled core."""
        self.name = name
        setattr(kind, name, self)

    def __get__(self, instance: object, owner: type) -> Any:
        function = getattr(import_module(self.module), self.function)
        setattr(owner, self.name, function)
        return function.__get__(instance, owner)
