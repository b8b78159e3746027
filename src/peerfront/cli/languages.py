"""The language of a command: which one is asked for, and the help in it."""

from typing import Any

from peerfront.foundation.errors import UnknownName
from peerfront.words.language import LANGUAGES, Text, joined, language_of_the_user, say

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


def usage_fault(problem: Any) -> Text:
    """What is wrong with a command line: an error of Typer in the language in use."""
    context, parameter = getattr(problem, "ctx", None), getattr(problem, "param", None)
    name = "/".join(getattr(parameter, "opts", ()))
    match type(problem).__name__:
        case "NoArgsIsHelpError":
            return joined([problem.format_message()])
        case "MissingParameter" if getattr(parameter, "param_type_name", "") == "argument":
            fault = say("Missing argument {name!r}.", name=str(getattr(parameter, "name", "")))
        case "MissingParameter":
            fault = say("Missing option {name!r}.", name=name)
        case "NoSuchOption" if problem.possibilities:
            fault = say(
                "No such option: {name} (did you mean {near}?).", name=problem.option_name, near=problem.possibilities
            )
        case "NoSuchOption":
            fault = say("No such option: {name}.", name=problem.option_name)
        case "BadParameter" if getattr(parameter, "bare_type", None) in (int, float):
            fault = say("Invalid value for {name}: it must be a number, such as 3.", name=name)
        case "BadParameter" if name:
            fault = say("Invalid value for {name}: {problem}", name=name, problem=problem.message)
        case _:
            fault = joined([problem.format_message()])
    hint = say("Help: {command} --help", command=context.command_path) if context is not None else Text("")
    return joined([fault, hint], "\n")


def help_texts(command: Any) -> set[str]:
    """Every sentence that `translated` looks up, for the catalogues."""
    own: set[str] = {_unfolded(command.help)} if command.help else set()
    own |= {parameter.help for parameter in command.params if getattr(parameter, "help", None)}
    return own.union(*(help_texts(each) for each in getattr(command, "commands", {}).values()))


def _unfolded(text: str) -> str:
    """A docstring without the breaks inside its paragraphs, which are where the source file happens to break."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
