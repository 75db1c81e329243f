"""Options of the server as Python values."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any


def flags(options: Mapping[str, Any]) -> list[str]:
    """The flags for keyword arguments: ``keep_versions="36h"`` becomes ``--keep-versions=36h``.

    ``None`` omits an option, a bool becomes ``on`` or ``off``, a list or tuple repeats the option, and a mapping
    repeats it with ``key=value``.

    Raises:
        TypeError: a value has another type than these, string, number and path.
    """
    return [
        f"--{name.replace('_', '-')}={text}"
        for name, value in options.items()
        for text in _texts(name, value)
    ]


def _texts(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [f"{key}={_text(name, item)}" for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_text(name, item) for item in value]
    return [_text(name, value)]


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, PathLike):
        return str(fspath(value))
    raise TypeError(
        f"{name} must be a string, a number, a path, a list or a mapping of them, "
        f"not {type(value).__name__}"
    )
