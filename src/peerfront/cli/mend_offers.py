"""`peerfront check FILE --mend`: offer to mend a file, write the mended copy with the log of its changes."""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from peerfront.cli.options import INTERRUPTED, claim
from peerfront.cli.screen import show, tell
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.words.commands import command_line, commands_with, mended_command
from peerfront.words.language import say, say_n, speaker
from peerfront.words.result_files import write_mended

if TYPE_CHECKING:
    from peerfront.data.mending import Decision, MendableFile
    from peerfront.data.problems import Problem, ProblemGroup, Proposal
    from peerfront.data.read.read_settings import ReadSettings

_YES, _NO, _EACH, _ALL = ({"y", "yes", "s", "si", "sí"}, {"n", "no"}, {"e", "each", "c"}, {"a", "all", "t"})
_MOST_REFUSED = 3  # refused changes that are shown


def mend_file(
    context: typer.Context, file: Path, settings: "ReadSettings", copy: Path | None, *, yes: bool, overwrite: bool
) -> dict[str, Any]:
    """Offer what can be mended, and write the copy and the log; without an offer nothing is written."""
    from peerfront.data.mending import (
        ACCEPTED,
        LEFT,
        REFUSED,
        copy_beside,
        log_beside,
        mendable,
        mended_in_rounds,
        problems_in,
    )
    from peerfront.data.problems import ERROR, FaultyStudy, offers

    opened = mendable(file, settings)
    target = copy or copy_beside(file, opened.path.suffix)
    if target.suffix.lower() != opened.path.suffix.lower():
        raise SettingError("mending.ending", copy=target, ending=opened.path.suffix)
    problems = problems_in(opened)
    result: dict[str, Any] = {"file": file, "copy": None, "log": None, "accepted": [], "left": [], "refused": []}
    if not offers(problems):
        tell("There is nothing to offer: nothing was written.")
        return result
    for place in (target, log_beside(target)):
        claim(context, place, overwrite=overwrite, inputs=(file,))
    if not yes and not sys.stdin.isatty():
        groups = offers(problems)
        for group in groups:
            _show(group, place_of(problems, opened))
        line = command_line(commands_with(speaker().typed, [Remedy("yes", True)])[0])
        n = sum(len(group.proposals) for group in groups)
        raise FaultyStudy(Message("mending.not_asked", {"n": n, "line": line}), problems)
    mended, decisions = mended_in_rounds(opened, _Asked(place_of(problems, opened), yes))
    by_kind = {kind: [each for each in decisions if each.decision == kind] for kind in (ACCEPTED, LEFT, REFUSED)}
    result |= {kind: [each.proposal for each in mine] for kind, mine in by_kind.items()}
    result["refused"] = by_kind[REFUSED]
    for each in by_kind[REFUSED][:_MOST_REFUSED]:
        show(note("mending.refused", offer=_offer(each), why=each.why))
    if not by_kind[ACCEPTED]:
        tell("Nothing was changed, and nothing was written.")
        return result
    log = write_mended(file, target, mended.content, decisions)
    errors = sum(each.severity == ERROR for each in problems_in(mended))
    changed = say_n("{n:,} change", "{n:,} changes", len(by_kind[ACCEPTED]))
    counts = {"left": len(by_kind[LEFT]), "refused": len(by_kind[REFUSED])}
    tell("{changed} made ({left:,} left, {refused:,} refused): {copy}", changed=changed, copy=target, **counts)
    tell("{file} is as it was; the changes are in {log}.", file=file, log=log)
    if opened.path != file:
        tell("Files of R cannot be changed, so the copy is a CSV file.")
    if errors:
        show(say_n("{n:,} error is left.", "{n:,} errors are left.", errors))
    if context.params["out"] is None and context.params["waiting"] is None:  # otherwise the copy is checked now
        next_line = mended_command(speaker().typed, str(file), str(target), mended.settings.columns)
        tell("Next: {command}", command=command_line(next_line))
    return result | {"copy": target, "log": log}


def place_of(problems: "Sequence[Problem]", file: "MendableFile") -> str:
    """What the entries of the file are called: row, line or record."""
    from peerfront.data.reading import list_content

    return list_content(file.path, file.content, file.settings).place if problems else "row"


def _show(group: "ProblemGroup", place: str) -> None:
    show("")
    tell("{title}: {n:,}", title=group.first.title, n=len(group.proposals))
    from peerfront.words.study_check import offer_lines

    for line in offer_lines(group, place):
        show(f"  {line}")


def _offer(decision: "Decision") -> object:
    from peerfront.words.study_check import offer_text

    return offer_text(decision.proposal)


class _Asked:
    """Asks for each group of alike offers; `yes` takes all."""

    def __init__(self, place: str, yes: bool) -> None:
        self._place, self._all = place, yes

    def __call__(self, groups: "tuple[ProblemGroup, ...]") -> "Collection[Proposal]":
        accepted: list[Proposal] = []
        for group in groups:
            _show(group, self._place)
            accepted += self._of_group(group)
        return accepted

    def _of_group(self, group: "ProblemGroup") -> "Sequence[Proposal]":
        several = len(group.proposals) > 1
        answer = self._answer(several)
        if answer in _EACH and several:
            accepted = []
            for problem in group.problems:
                if problem.proposal is not None:
                    _show(type(group)((problem,)), self._place)
                    if self._answer(several=False) in _YES:
                        accepted.append(problem.proposal)
            return accepted
        return group.proposals if answer in _YES else ()

    def _answer(self, several: bool) -> str:
        if self._all:
            return "y"
        question = say("Change? y (yes), n (no), a (yes to all that follow)")
        if several:
            question = say("Change them? y (yes), n (no), e (ask for each), a (yes to all that follow)")
        while True:
            try:
                answer = str(typer.prompt(str(question))).strip().lower()
            except typer.Abort:
                show(say("Stopped. Nothing was written."), err=True)
                raise typer.Exit(INTERRUPTED) from None
            if answer in _ALL:
                self._all = True
                return "y"
            if answer in _YES | _NO | (_EACH if several else set()):
                return answer
