"""The output of `peerfront check` about a study's file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.data.columns.column_findings import is_sensitive, is_too_good
from peerfront.data.columns.column_names import MEANING
from peerfront.data.mending import Decision
from peerfront.data.problems import KINDS, Problem, ProblemGroup, Proposal, at, grouped, in_place
from peerfront.data.read.dates import date_text
from peerfront.data.read.read_settings import FORMATS, ROLES
from peerfront.data.study import Study, Summary, summarise
from peerfront.data.study_calendar import RECENT_DAYS, CouponCounts, assumed_days, coupon_counts
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.messages import Message, Remedy, first_of, note
from peerfront.words.language import Text, in_digits, n_coupons, n_people, say, say_n, warn
from peerfront.words.notebook import html_of

_MOST_TREES = 8
_MOST_COLUMNS = 200
_MOST_CATEGORIES = 8
_MOST_KINDS = 3  # of problems in one line
_MOST_EXAMPLES = 2  # faults of one kind
_MOST_OFFERS = 3  # changes of one kind, and rows of one change
_WIDEST_BAR = 16  # characters
_ALWAYS = ("people", "seeds", "deepest wave", "coupons issued", "coupons redeemed")
"""Facts that are listed even where they are 0."""


@dataclass(frozen=True)
class Section:
    """A table with its title, and the sentences below it."""

    title: Text
    rows: tuple[tuple[object, ...], ...] = ()
    header: tuple[Text, ...] = ()
    """Names of the columns; empty for two columns that explain themselves."""
    numbers: tuple[int, ...] = ()
    """Positions of columns that hold numbers."""
    below: tuple[Text | Message, ...] = ()
    names: tuple[str, ...] = ()
    """Names in the first column that must not be cut off."""
    quiet: int | None = None
    """Rows from this one on are less important."""


@dataclass(frozen=True)
class ProblemKind:
    """The faults of one kind: how many, the first of them, and what to do."""

    count: int
    title: Message
    examples: tuple[Message, ...]
    more: Text
    remedy: Message | Text


def heading(study: Study) -> Text:
    """Which file this is, and its format."""
    return say("{source}: {format}.", source=study.source, format=FORMATS[study.format])


def check_sections(
    study: Study,
    summary: Summary,
    schema: StudySchema,
    reasons: Mapping[str, Message],
    *,
    guessed: bool,
    block: str = "#",
) -> list[Section]:
    """The tables about a study: columns, sample, coupons, counts, trees, fields; `block` draws the bars."""
    calendar = [] if study.day is None else [_calendar(study, study.day)]
    return [
        how_read(study),
        _sample(summary),
        *calendar,
        _counts(summary, block),
        _trees(summary),
        _fields(len(study), summary, schema, reasons, guessed=guessed),
    ]


def short_lines(study: Study, summary: Summary, schema: StudySchema) -> list[Text | Message]:
    """The study in a few sentences: the sample, its coupons, the columns that are used."""
    seeds = say_n("{n:,} seed", "{n:,} seeds", summary.seeds)
    used = _share(summary.coupons_redeemed, max(summary.coupons_issued, 1))
    waves = say(
        "{people} from {seeds}, deepest wave {wave}.",
        people=n_people(summary.people),
        seeds=seeds,
        wave=summary.waves,
    )
    lines: list[Text | Message] = [
        waves,
        say("{coupons} issued, {used} redeemed.", coupons=n_coupons(summary.coupons_issued), used=used),
    ]
    if study.day is not None:
        counts, day = coupon_counts(study), date_text(study.day, study.numbered_days)
        today = {"day": day, "open": counts.open, "waiting": counts.waiting}
        lines.append(say("On {day}: {open:,} open, {waiting:,} waiting.", **today))
        lines += _calendar_notes(study, counts)
    known = [rule.name for rule in schema.used[:_MOST_COLUMNS]]
    lines.append(say("Known about people: {columns}.", columns=known) if known else _nothing_known())
    if schema.left_out:
        lines.append(say("Not used: {columns}.", columns=list(schema.left_out[:_MOST_COLUMNS])))
    return lines


def how_read(study: Study) -> Section:
    """Which column was read as what."""
    rows: list[tuple[object, object]] = [
        (meaning, _names(study.columns[role])) for role, meaning in ROLES.items() if role in study.columns
    ]
    if study.settings.coupons_each is not None:
        each = say("{n} each, as you said", n=study.settings.coupons_each)
        rows.append((ROLES["coupons_issued"], each))
    return Section(say("How it was read"), tuple(rows), below=study.steps)


def _names(names: tuple[str, ...]) -> Text:
    if len(names) < 4:
        return say("{names}", names=list(names))
    return say("{first}, ... {last} ({n} columns)", first=list(names[:2]), last=names[-1], n=len(names))


def _sample(summary: Summary) -> Section:
    rows = []
    for name, number in summary.facts:
        if number or name in _ALWAYS:
            shared = name == "coupons redeemed" and summary.coupons_issued
            rows.append((Text(name), _share(number, summary.coupons_issued) if shared else in_digits(number, ",")))
    return Section(say("The sample"), tuple(rows), numbers=(1,))


def _calendar(study: Study, day: float) -> Section:
    """Open, expired and used coupons on the study's day, and who waits."""
    counts = coupon_counts(study)
    always = (
        (say("used"), counts.used),
        (say("open"), counts.open),
    )
    if_any = (
        (say("people with open coupons"), counts.holders_open),
        (say("expired, or no longer open"), counts.expired),
        (say("not used, date of issue not known"), counts.undated),
    )
    waiting = (say("people who wait for coupons"), counts.waiting)
    rows = (*always, *((name, number) for name, number in if_any if number), waiting)
    return Section(
        say("Coupons on {day}", day=date_text(day, study.numbered_days)),
        tuple((name, in_digits(number, ",")) for name, number in rows),
        numbers=(1,),
        below=(*_calendar_notes(study, counts), *_waiting_notes(study, counts)),
    )


def _calendar_notes(study: Study, counts: CouponCounts) -> list[Text | Message]:
    notes: list[Text | Message] = [*assumed_days(study)]
    if study.cut:
        notes.append(say("What came later is left out, as {as_of} says.", as_of=Remedy("as_of", True)))
    if not study.settings.open_by_dates:
        rule = study.settings.still_open
        notes.append(say("Open are those that still_open = {rule!r} says, whatever their dates.", rule=rule))
    elif counts.open and study.valid_days is not None and bool(np.isinf(study.valid_days).any()):
        notes.append(
            say(
                "Some coupons have no date of expiry and stay open: {valid_days} says when they expire.",
                valid_days=Remedy("valid_days"),
            )
        )
    return notes


def _waiting_notes(study: Study, counts: CouponCounts) -> list[Text]:
    notes = []
    if counts.waiting and "waiting" not in study.columns:
        notes.append(say("People wait who took part since the last coupons were issued, and have none."))
    if counts.passed_over:
        notes.append(
            say(
                "{n:,} more of the {days} days before have none either, and are not taken for people who wait; a "
                "column of yes and no decides instead: {waiting}.",
                n=counts.passed_over,
                days=round(RECENT_DAYS),
                waiting=Remedy("map", ("waiting",)),
            )
        )
    return notes


def _counts(summary: Summary, block: str) -> Section:
    most = max(summary.recruits_per_person.values())
    rows = []
    for number in sorted({*summary.recruits_per_person, *summary.coupons_per_person}):
        brought, issued = summary.recruits_per_person.get(number, 0), summary.coupons_per_person.get(number, 0)
        if brought or issued:
            bar = block * round(_WIDEST_BAR * brought / most)
            rows.append((f"{number}", in_digits(brought, ","), bar, in_digits(issued, ",")))
    return Section(
        say("How many recruits people brought, and how many coupons they were issued"),
        tuple(rows),
        (say("number"), say("people who brought"), Text(""), say("people issued")),
        numbers=(0, 1, 3),
    )


def _trees(summary: Summary) -> Section:
    rows = [
        (str(seed), in_digits(people, ","), f"{waves}", Text("") if is_seed else say("recruiter unknown, not a seed"))
        for seed, people, waves, is_seed in summary.trees.head(_MOST_TREES).itertuples(index=False)
    ]
    rest = summary.trees.iloc[_MOST_TREES:]
    below: tuple[Text, ...] = ()
    if len(rest):
        people, alone = int(rest["people"].sum()), int((rest["people"] == 1).sum())
        below = (
            say(
                "... and {n:,} more with {people:,} people, {alone:,} of them one person alone.",
                n=len(rest),
                people=people,
                alone=alone,
            )
            if alone
            else say("... and {n:,} more with {people:,} people.", n=len(rest), people=people),
        )
    header = (say("seed"), say("people"), say("waves"), Text(""))
    return Section(say("Trees, the largest first"), tuple(rows), header, numbers=(1, 2), below=below)


def _fields(
    n_people: int, summary: Summary, schema: StudySchema, reasons: Mapping[str, Message], *, guessed: bool
) -> Section:
    used, left_out = schema.used[:_MOST_COLUMNS], schema.left_out[: max(_MOST_COLUMNS - len(schema.used), 0)]
    by_schema = note("column_reasons.by_schema")
    rows: list[tuple[object, ...]] = [
        (rule.name, _kind(rule), _categories(rule), _share(summary.missing.get(rule.name, 0), n_people))
        for rule in used
    ]
    rows += [
        (name, say("not used"), reasons.get(name, by_schema), _share(summary.missing.get(name, 0), n_people))
        for name in left_out
    ]
    below = []
    more = len(schema.used) + len(schema.left_out) - _MOST_COLUMNS
    if more > 0:
        out = Remedy("out", "FOLDER")
        below.append(say("... and {n:,} more columns; all are in schema.toml with {out}.", n=more, out=out))
    if not schema.used:
        below.append(_nothing_known())
    source = say("What is known about people ({source})", source=schema.source)
    return Section(
        say("What is known about people (guessed)") if guessed else source,
        tuple(rows),
        (say("column"), say("used as"), say("values"), say("missing")),
        numbers=(3,),
        below=tuple(below),
        names=(*(rule.name for rule in schema.used), *schema.exclude),
        quiet=len(used),
    )


def _nothing_known() -> Text:
    return say("No column tells people apart, such as sex or an age band: everybody would be treated alike.")


def _kind(rule: FieldRule) -> Text:
    if rule.cuts:
        return say_n("{n} band", "{n} bands", len(rule.cuts) + 1)
    return say_n("{n} category", "{n} categories", len(rule.categories))


def _categories(rule: FieldRule) -> str:
    return ", ".join([*rule.categories[:_MOST_CATEGORIES], *["..."] * (len(rule.categories) > _MOST_CATEGORIES)])


def _share(part: int, whole: int) -> Text:
    percent = f"{part / whole:.0%}" if part == 0 or part / whole >= 0.005 else "<1%"
    return Text("{part:,} ({percent})", {"part": part, "percent": percent})


def study_html(study: Study) -> str:
    """A study in a notebook: the numbers of people, coupons and warnings."""
    facts = [(str(Text(name)), number) for name, number in summarise(study).facts]
    warnings = [say_n("{n:,} warning", "{n:,} warnings", len(study.problems))] if study.problems else []
    return html_of(warnings, pd.DataFrame(facts, columns=["", study.source]))


def left_out_notes(reasons: Mapping[str, Message]) -> list[Text]:
    """What can be done about columns that are left out."""
    notes = []
    sensitive = [name for name, reason in reasons.items() if is_sensitive(reason)]
    if sensitive:
        notes.append(
            say("Left out because they are sensitive: {columns!r}. {meaning}", columns=sensitive, meaning=MEANING)
        )
    suspect = [name for name, reason in reasons.items() if is_too_good(reason)]
    if suspect:
        notes.append(
            say(
                "Left out because they predict recruits too well: {columns!r}. If one was known before people got "
                "their coupons, write use = true into its block of the schema file.",
                columns=suspect,
            )
        )
    return notes


def doubts(source: str, kinds: Mapping[str, int], command: str) -> list[Text]:
    """What reading noticed, in one line, and the command that says more; nothing if there is nothing."""
    if not kinds:
        return []
    named = [say("{problem} ({count:,})", problem=KINDS[kind].title, count=count) for kind, count in kinds.items()]
    return [
        warn(
            "{source} has doubtful places: {kinds}. `{command}` shows where, and what to do.",
            source=source,
            kinds=first_of(named, _MOST_KINDS),
            command=command,
        )
    ]


def problem_kinds(study: Study) -> list[ProblemKind]:
    """The same faults of a study together: errors first, then the most frequent."""
    kinds = []
    for group in grouped(study.problems):
        count = len(group.problems)
        more = say(
            "... and {n:,} more; all are in problems.csv with {out}.",
            n=count - _MOST_EXAMPLES,
            out=Remedy("out", "FOLDER"),
        )
        offer = say("Offered with --mend: {offer}", offer=offer_lines(group, study.place, 1)[0])
        kinds.append(
            ProblemKind(
                count,
                group.first.title,
                tuple(in_place(problem, study.place) for problem in group.problems[:_MOST_EXAMPLES]),
                more if count > _MOST_EXAMPLES else Text(""),
                offer if group.proposals else group.first.remedy,
            )
        )
    return kinds


def offer_lines(group: ProblemGroup, place: str, most: int = _MOST_OFFERS) -> list[Text]:
    """The first changes that are offered for a group of faults, each with its rows, and how many more there are."""
    same: dict[tuple[str, str | None, str], list[Proposal]] = {}
    for each in group.proposals:
        same.setdefault((each.found, each.proposed, "" if each.proposed else str(each.row)), []).append(each)
    lines = []
    for alike in list(same.values())[:most]:
        rows = first_of([at(place, each.row) for each in alike], _MOST_OFFERS)
        lines.append(say("{rows}: {offer} ({why})?", rows=rows, offer=offer_text(alike[0]), why=alike[0].why))
    if len(same) > most:
        lines.append(say("... and {n:,} more.", n=len(same) - most))
    return lines or [Text("")]


def offer_text(proposal: Proposal) -> Text:
    """The change that is offered: CO160A -> C0160A."""
    if proposal.proposed is None:
        return say("leave out the row of {found!r}", found=proposal.found) if proposal.found else say("leave it out")
    return say("{found} -> {proposed}", found=proposal.found or _nothing(), proposed=proposal.proposed or _nothing())


def _nothing() -> Text:
    return say("(empty)")


def change_table(decisions: Iterable[Decision], when: str, original: str, copy: str) -> pd.DataFrame:
    """The log of a mended copy: what was offered and what became of it, with digests of the two files."""
    columns = ["when", "row", "column", "found", "proposed", "why", "decision", "remark", "original", "copy"]
    rows = [
        (
            *(when, each.proposal.row, each.proposal.column, each.proposal.found),
            str(say("(row left out)")) if each.proposal.proposed is None else each.proposal.proposed,
            *(str(each.proposal.why), each.decision, str(each.why or ""), original, copy),
        )
        for each in decisions
    ]
    return pd.DataFrame(rows, columns=columns)


def problem_table(problems: Iterable[Problem]) -> pd.DataFrame:
    """The problems as a table for people."""
    columns = ["severity", "row", "person", "problem", "what", "what to do", "found", "proposed"]
    rows = []
    for p in problems:
        offer = p.proposal
        change = (
            ("", "") if offer is None else (offer.found, offer_text(offer) if not offer.proposed else offer.proposed)
        )
        place = "" if p.row is None else p.row
        texts = (str(p.title), str(p.message), str(p.remedy), *map(str, change))
        rows.append((p.severity.value, place, p.person, *texts))
    return pd.DataFrame(rows, columns=columns)


def verdict(summary: Summary) -> Text:
    """Whether a model can be fitted to the study."""
    if not (summary.triples and summary.pairs):
        return say("Nothing can be learned from this study yet: there must be people with coupons, and recruits.")
    return say(
        "This study can be learned from: it has {triples:,} people with usable recruitment counts, and {pairs:,} "
        "recruiter-recruit pairs.",
        triples=summary.triples,
        pairs=summary.pairs,
    )
