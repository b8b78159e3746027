"""Sentences of the library without what belongs to its commands: there is no command line in a browser."""

import re
from collections.abc import Iterable

_OPTION = re.compile(r"(?<![\w-])--[a-z]|`peerfront ")
_BRACKETS = re.compile(r"\s*\(([^()]*)\)")
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


def without_commands(text: str) -> str:
    """Leave out brackets and sentences that name an option or a command."""
    text = _BRACKETS.sub(lambda found: _kept(found[0], found[1]), text)
    return " ".join(part for part in _SENTENCES.split(text) if not _OPTION.search(part))


def all_without_commands(lines: Iterable[str]) -> tuple[str, ...]:
    """The same for several lines; those of which nothing is left are dropped."""
    kept = (without_commands(line).rstrip() for line in lines)
    return tuple(line for line in kept if line)


def _kept(whole: str, inside: str) -> str:
    """Brackets as they are, with the part before a semicolon that names an option, or nothing."""
    if not _OPTION.search(inside):
        return whole
    parts = [part for part in inside.split(";") if not _OPTION.search(part)]
    return f" ({';'.join(parts).strip()})" if parts else ""
