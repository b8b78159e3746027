"""The language of a command: which one is asked for, and the help in it."""

from typing import Any

from peerfront.foundation.errors import UnknownName
from peerfront.words.language import LANGUAGES, language_of_the_user, say

_OPTION = "--language"


def language_asked_for(arguments: list[str]) -> str:
    """Take `--language CODE` off the command line, wherever it stands; otherwise the language of the computer.

    Behind `live` it stays: there it is the language of a new study.
    """
    for place, word in enumerate(arguments):
        if word in ("live", "--"):
            break
        if word == _OPTION and place + 1 < len(arguments):
            code = arguments[place + 1]
            del arguments[place : place + 2]
        elif word.startswith(f"{_OPTION}="):
            code = word.partition("=")[2]
            del arguments[place]
        else:
            continue
        if code not in LANGUAGES:
            raise UnknownName("language", code, LANGUAGES)
        return code
    return language_of_the_user()


def translated(command: Any) -> Any:
    """The same command, of Typer's own copy of Click, with its help and that of its options in the language in use."""
    if command.help:
        command.help = str(say(_unfolded(command.help)))
    for parameter in command.params:
        if (text := getattr(parameter, "help", None)) is not None:
            parameter.help = str(say(text))
    for each in getattr(command, "commands", {}).values():
        translated(each)
    return command


def help_texts(command: Any) -> set[str]:
    """Every sentence that `translated` looks up, for the catalogues."""
    own: set[str] = {_unfolded(command.help)} if command.help else set()
    own |= {parameter.help for parameter in command.params if getattr(parameter, "help", None)}
    return own.union(*(help_texts(each) for each in getattr(command, "commands", {}).values()))


def _unfolded(text: str) -> str:
    """A docstring without the breaks inside its paragraphs, which are where the source file happens to break."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
