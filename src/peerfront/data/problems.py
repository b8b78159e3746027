"""What can be wrong with a study's file, and how grave each fault is; `words` has the sentences.

An error is a fault that leaves somebody's recruiter ambiguous or impossible: the tree would be wrong, and the import
stops. A warning is a fault that leaves every link as the file states it: the import goes on, and the table says what
was made of the row. `ReadSettings.strict` stops at warnings too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import Note
from peerfront.foundation.messages import Lines, Message, Remedy, Severity, first_of, note

ERROR = Severity.ERROR
WARNING = Severity.WARNING
_MOST_LISTED = 10  # faults that an error message lists
_FEW, _EXAMPLES = 4, 2  # up to 4 rows with the same fault are listed in full; of more, the first 2
_MOST_ROWS = 8  # other rows that it lists for each


@dataclass(frozen=True)
class Kind:
    """A kind of fault: how grave it is, its name for tables, and what to do about it."""

    severity: Severity
    title: Message
    remedy: Message


_ERRORS = (
    "missing-id", "repeated-id", "digits-lost", "self-recruited", "unknown-recruiter", "ambiguous-coupon", "cycle",
    "bad-count", "bad-range", "code-without-value", "rows-contradict",
    "unknown-coupons", "many-seeds", "lost-dates",
)  # fmt: skip
_WARNINGS = (
    "issued-twice", "repeated-in-row", "redeemed-twice", "not-issued", "placeholder", "made-from-id",
    "too-many-recruits", "before-recruiter", "recruiter-disagrees", "not-on-list", "bad-date", "unsure-dates",
    "future-date", "missing-date", "unlike-dates", "long-after", "redeemed-before-issue", "used-after-expiry",
    "issued-before-date", "expires-before-issue", "bad-valid-days", "bad-network-size", "encoding", "unnamed-column",
    "cell-without-value", "merged-cells", "several-rows", "assumed-seed", "seed-with-coupon", "not-marked-seed",
    "fixed-places", "deleted", "row-count", "not-a-person", "other-table", "bad-number", "stands-apart", "odd-answer",
    "long-before", "unused-dates", "coded-network-size", "alike-ids", "not-yes-or-no",
)  # fmt: skip
_REMEDIES = {
    **{kind: {"anyway": Remedy("read_anyway", True)} for kind in ("unknown-coupons", "many-seeds", "lost-dates")},
    "placeholder": {"missing": Remedy("missing", "CODE")},
    "coded-network-size": {
        "column": Remedy("map", ("network_size",)),
        "none": Remedy("map", ("network_size", "")),
    },
    "assumed-seed": {"seed": Remedy("map", ("seed",))},
    "used-after-expiry": {"valid_days": Remedy("valid_days")},
    "expires-before-issue": {"valid_days": Remedy("valid_days")},
}


def _kind(name: str, severity: Severity) -> Kind:
    return Kind(severity, note(f"problem_titles.{name}"), note(f"problem_remedies.{name}", **_REMEDIES.get(name, {})))


KINDS = {name: _kind(name, ERROR) for name in _ERRORS} | {name: _kind(name, WARNING) for name in _WARNINGS}


@dataclass(frozen=True)
class Proposal:
    """A change of one cell that would mend a problem, if somebody accepts it."""

    row: int
    """As in the file."""
    column: str
    """As in the file; "" for the whole row."""
    found: str
    proposed: str | None
    """What the cell should hold; None leaves out the row."""
    why: Message


@dataclass(frozen=True)
class Problem:
    """One fault of a file, with its place."""

    kind: str
    row: int | None
    """As in the file: the header is row 1. In a survey-app file: the record, from 1. None: the whole file."""
    person: str
    message: Message
    """What is wrong, with the values that were read."""
    column: str = ""
    """The column it is about, if it is one."""
    proposal: Proposal | None = None
    """What would mend it, where that is plain enough to be offered."""
    tolerated: bool = False
    """Whether the user wants the study to be read all the same."""

    @property
    def severity(self) -> Severity:
        return WARNING if self.tolerated else KINDS[self.kind].severity

    @property
    def title(self) -> Message:
        return KINDS[self.kind].title

    @property
    def remedy(self) -> Message:
        return KINDS[self.kind].remedy

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Settings that would mend it."""
        return (*self.message.remedies, *self.remedy.remedies)


def noted(notes: Iterable[Note], codes: Collection[str] = ()) -> tuple[Problem, ...]:
    """Turn the notes of a table's reader into problems; `codes` are columns that decide who recruited whom."""
    problems = []
    for each in notes:
        of_code = each.kind == "cell-without-value" and each.column in codes
        kind = "code-without-value" if of_code else each.kind
        problems.append(Problem(kind, each.row, "", each.message, each.column))
    return tuple(problems)


class FaultyStudy(DataFileError):
    """A study's file with faults that stop the import; `problems` holds all of them."""

    def __init__(self, message: str | Message, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems: errors first, then by place in the file."""
    return tuple(sorted(problems, key=lambda p: (p.severity != ERROR, p.row or 0, p.kind)))


@dataclass(frozen=True)
class ProblemGroup:
    """The same problem in one row or many: one kind, one column, one sort of message."""

    problems: tuple[Problem, ...]  # in the order of the file

    @property
    def first(self) -> Problem:
        return self.problems[0]

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(problem.row for problem in self.problems if problem.row is not None)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        return tuple(problem.proposal for problem in self.problems if problem.proposal is not None)


def grouped(problems: Iterable[Problem]) -> tuple[ProblemGroup, ...]:
    """Put the same problems of many rows together: errors first, then the most frequent."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in in_file_order(problems):
        groups.setdefault((problem.kind, problem.column, problem.message.code), []).append(problem)
    made = (ProblemGroup(tuple(mine)) for mine in groups.values())
    return tuple(sorted(made, key=lambda group: (group.first.severity != ERROR, -len(group.problems))))


def key_of(proposal: Proposal) -> tuple[int, str, str | None]:
    """What tells a proposal from another: the cell, and what it should hold."""
    return proposal.row, proposal.column, proposal.proposed


def offers(
    problems: Iterable[Problem], decided: Collection[tuple[int, str, str | None]] = ()
) -> tuple[ProblemGroup, ...]:
    """The problems with a proposal that is not decided yet, alike ones together; the same change is offered once.

    Nothing is offered for the cells of a row that is offered to be left out.
    """
    open_ones = {key_of(p.proposal): p for p in problems if p.proposal and key_of(p.proposal) not in decided}
    gone = {row for row, _, proposed in open_ones if proposed is None}
    return grouped(p for (row, _, proposed), p in open_ones.items() if proposed is None or row not in gone)


_PLACES = {"row": "places.row", "line": "places.line", "record": "places.record"}


def at(place: str, number: int) -> Message:
    """Row 7, line 7 or record 7."""
    return Message(_PLACES[place], {"n": int(number)})


def in_place(problem: Problem, place: str) -> Message:
    """What is wrong, with the row (or line, or record) before it."""
    if problem.row is None:
        return problem.message
    return note("problems.placed", at=at(place, problem.row), what=problem.message)


def stop_on(problems: Sequence[Problem], source: str, place: str, *, strict: bool) -> None:
    """Raise an error if problems stop the import: errors always, warnings if strict."""
    ordered = in_file_order(problems)
    stopping = grouped(p for p in ordered if strict or p.severity == ERROR)
    if not stopping:
        return
    errors = sum(group.first.severity == ERROR for group in stopping)
    listed = stopping[:_MOST_LISTED]
    faults = [line for group in listed for line in _described(group, place)]
    if len(stopping) > _MOST_LISTED:
        faults.append(note("problems.more", n=len(stopping) - _MOST_LISTED))
    remedies = [
        note("problems.to_do", title=KINDS[kind].title, remedy=KINDS[kind].remedy)
        for kind in dict.fromkeys(group.first.kind for group in listed)
    ]
    offered = sum(len(group.proposals) for group in offers(ordered))
    if offered:
        remedies.append(note("problems.offered", n=offered, mend=Remedy("mend", True)))
    arguments: dict[str, Any] = {"source": source, "count": _count(errors, len(stopping) - errors, stopping)}
    arguments |= {"faults": Lines(faults), "remedies": Lines(remedies)}
    if errors:
        raise FaultyStudy(Message("problems.stop", arguments, ERROR), ordered)
    arguments["strict"] = Remedy("strict", True)
    raise FaultyStudy(Message("problems.stop_strictly", arguments, ERROR), ordered)


def _described(group: ProblemGroup, place: str) -> list[Message]:
    """The first problems of a group with their places, and the other rows that have it."""
    shown = len(group.problems) if len(group.problems) <= _FEW else _EXAMPLES
    lines = [in_place(problem, place) for problem in group.problems[:shown]]
    if len(group.problems) > shown:
        others = first_of([at(place, row) for row in group.rows[shown:]], _MOST_ROWS)
        lines.append(note("problems.same_in", n=len(group.problems) - shown, places=others))
    return lines


def _count(errors: int, warnings: int, groups: Sequence[ProblemGroup]) -> Message:
    of_errors = note("problems.one_error") if errors == 1 else note("problems.errors", n=errors)
    of_warnings = note("problems.one_warning") if warnings == 1 else note("problems.warnings", n=warnings)
    both = note("problems.both", errors=of_errors, warnings=of_warnings)
    count = both if errors and warnings else of_errors if errors else of_warnings
    rows = len({row for group in groups for row in group.rows})
    return note("problems.count_in_rows", count=count, rows=rows) if rows > len(groups) else count
