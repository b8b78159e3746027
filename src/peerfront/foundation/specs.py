"""Naming a world or a policy with its settings in one word: `threshold:cutoff=0.9,at_least=12`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, note
from peerfront.foundation.settings import MOST_SEED
from peerfront.foundation.typed_values import typed_number

Value = str | int | float | tuple[str, ...]


@dataclass(frozen=True)
class Option:
    """One setting that may be given after the colon."""

    kind: type[str] | type[int] | type[float] | type[tuple[str, ...]]
    help: Message | str
    is_file: bool = False
    """Whether the value is the path of a file that what is made depends on."""

    def read(self, owner: str, name: str, text: str) -> Value:
        if self.kind is tuple:
            return tuple(part for part in text.split("+") if part)
        if self.kind is str:
            return text
        number = typed_number(text)
        if self.kind is int and number is not None and abs(number) <= MOST_SEED and number == int(number):
            return int(text) if text.lstrip("+-").isdigit() else int(number)
        if self.kind is float and number is not None:
            return number
        allowed = note("settings.whole" if self.kind is int else "settings.number")
        raise SettingError("specs.wrong", owner=owner, name=name, allowed=allowed, value=text)


@dataclass(frozen=True)
class Spec:
    """A name and the settings given with it, still as text."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Spec":
        name, _, rest = text.strip().partition(":")
        options = []
        for part in rest.split(",") if rest else []:
            key, equals, value = part.partition("=")
            if not equals or not key.strip():
                raise SettingError("specs.unreadable", part=part, spec=text)
            if key.strip() == "name" and not re.fullmatch(r"\w[\w .-]{0,79}", value.strip()):
                raise SettingError("specs.bad_name", name=value, spec=text)
            options.append((key.strip(), value.strip()))
        return cls(name.strip(), tuple(options))

    def __str__(self) -> str:
        return self.name + (":" + ",".join(f"{k}={v}" for k, v in self.options) if self.options else "")

    @property
    def label(self) -> str:
        """What tables and figures call it: the name it was given (name=...), else its text without folders."""
        named = dict(self.options).get("name")
        if named:
            return named
        short = tuple((key, value.replace("\\", "/").rsplit("/", 1)[-1]) for key, value in self.options)
        return str(Spec(self.name, short))

    def read_options(self, allowed: Mapping[str, Option]) -> dict[str, Any]:
        """The settings as values of their kinds; unknown or repeated ones are errors."""
        values: dict[str, Any] = {}
        for key, text in self.options:
            if key == "name":
                continue  # every world and policy can be given a name for tables and figures
            if key not in allowed:
                if not allowed:
                    raise SettingError("specs.no_settings", name=self.name, key=key)
                raise UnknownName(note("specs.setting_of", name=self.name), key, allowed)
            if key in values:
                raise SettingError("specs.twice", spec=str(self), key=key)
            values[key] = allowed[key].read(self.name, key, text)
        return values
