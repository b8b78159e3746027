"""Rules of imports: continue a study that began in a spreadsheet, and import the same or a longer file again."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.chain import commitment, committed, digest_data, one_spelling
from peerfront.web.live.rules.events import ActionNoted, Fact, ImportedCoupon, PaymentKind, PersonImported
from peerfront.web.live.rules.person_rules import LARGEST_NETWORK, check_answers
from peerfront.web.live.rules.records import CouponRow, PersonRow
from peerfront.web.live.rules.refusals import Reason, Refuse
from peerfront.web.live.rules.requests import ImportedPerson, ImportPeople
from peerfront.web.live.rules.situation import Situation, check_range, check_text, is_identifier, rule
from peerfront.web.live.rules.study_settings import LONGEST_DAYS

MOST_PEOPLE = 100_000
MOST_COUPONS = 1_000
"""Of one person."""
EARLIEST_YEAR = 1900


@rule
def import_people(situation: Situation, wish: ImportPeople) -> tuple[Fact, ...]:
    """Add people who are not in the study yet, recruiters first; refuse a file that contradicts what is recorded.

    Refusals quote only ids and numbers: the column of codes may hold names.
    """
    check_text("source", wish.source, longest=100)
    check_range("number_of_people", len(wish.people), 1, MOST_PEOPLE)
    ordered = _recruiters_first(_read(situation, wish.people))
    named = {each.person for each in ordered} | {each.recruiter for each in ordered if each.recruiter is not None}
    existing = situation.records.people(sorted(named))
    new = _new_people(situation, ordered, existing)
    there = existing.keys() | {each.person for each in new}
    for each in new:
        if each.recruiter is not None and each.recruiter not in there:
            raise Refuse(Reason.IMPORT_RECRUITER, person=each.person, recruiter=each.recruiter)
    _check_codes(situation, new)
    given = {coupon.code for each in new for coupon in each.coupons} | {each.code for each in new}
    drawn = iter(situation.unknown_codes(sum(not each.code for each in new), besides=given))
    counts = (("imported", str(len(new))), ("there_before", str(len(ordered) - len(new))))
    noted = ActionNoted(Action.IMPORT_STUDY, wish.source, counts)
    return (noted, *(_fact(each, drawn, situation.salt) for each in new))


def _fact(entry: ImportedPerson, drawn: Iterator[str], draw_salt: Callable[[], str]) -> PersonImported:
    own = {"code": entry.code or next(drawn), "drawn": not entry.code, "digest": _digest(entry)}
    return committed(PersonImported(**vars(entry) | own), draw_salt)


def _digest(entry: ImportedPerson, *, first: bool = False) -> str:
    return hashlib.sha256(one_spelling(digest_data(entry, first=first))).hexdigest()[:16]


def _is_unchanged(row: PersonRow, entry: ImportedPerson) -> bool:
    """Whether a file says the same about a person as the first import; what was erased is not compared."""
    digest, *sealed = row.imported.split(":")
    if digest not in (_digest(entry), _digest(entry, first=True)):
        return False
    texts: list[dict[str, Any]] = [{"answers": entry.answers}, {"network_size": entry.network_size}]
    return all(
        not salt or commitment(salt, **text).startswith(begins)
        for text, salt, begins in zip(texts, sealed[::2], sealed[1::2], strict=False)
    )


def _read(situation: Situation, people: Sequence[ImportedPerson]) -> list[ImportedPerson]:
    """Convert entries to their stored form: times in UTC, codes in one spelling, lists in order."""
    entries, names = [], set()
    for number, given in enumerate(people, start=1):
        try:
            entry = _entry(situation, given)
        except _BadEntry as bad:
            raise Refuse(Reason.IMPORT_ENTRY, entry=number, name=bad) from None
        if entry.person in names:
            raise Refuse(Reason.IMPORT_PERSON_TWICE, person=entry.person)
        names.add(entry.person)
        entries.append(entry)
    for site in sorted({entry.site for entry in entries}):
        if situation.records.site(site) is None:
            raise Refuse(Reason.NO_SITE, site=site)
    return entries


class _BadEntry(Exception):
    """What cannot be used in an entry."""


def _entry(situation: Situation, given: ImportedPerson) -> ImportedPerson:
    """Convert an entry to its stored form."""
    for name, text in (("person", given.person), ("site", given.site), ("recruiter", given.recruiter)):
        if text is not None and not is_identifier(text):
            raise _BadEntry(name)
    if not _is_past(situation, given.enrolled_at):
        raise _BadEntry("enrolment_time")
    if given.network_size is not None and not 0 <= given.network_size <= LARGEST_NETWORK:
        raise _BadEntry("network_size")
    try:
        check_answers(given.answers or (), None)
    except Refuse:
        raise _BadEntry("answers") from None
    if any(_unstorable(text) for each in given.answers or () for text in each):
        raise _BadEntry("answers")
    if given.recruiter is None and PaymentKind.RECRUITING in given.paid:
        raise _BadEntry("payments")
    code = situation.stored_code(given.code) if given.code.strip() else ""
    if code is None:
        raise _BadEntry("code")
    if len(given.coupons) > MOST_COUPONS:
        raise _BadEntry("coupons")
    coupons = [_coupon(situation, each) for each in given.coupons]
    return replace(
        given,
        code=code,
        enrolled_at=given.enrolled_at.astimezone(UTC),
        answers=None if given.answers is None else tuple(sorted(given.answers)),
        coupons=tuple(sorted(coupons, key=lambda coupon: coupon.code)),
        paid=tuple(sorted(set(given.paid))),
    )


def _coupon(situation: Situation, given: ImportedCoupon) -> ImportedCoupon:
    """Convert a coupon to its stored form."""
    code = situation.stored_code(given.code)
    if code is None:
        raise _BadEntry("coupon_code")
    if not _is_past(situation, given.issued_at):
        raise _BadEntry("issue_time")
    if not date(EARLIEST_YEAR, 1, 1) <= given.first_day <= given.last_day:
        raise _BadEntry("first_day")
    if given.last_day > situation.today + timedelta(days=LONGEST_DAYS):
        raise _BadEntry("last_day")
    return replace(given, code=code, issued_at=given.issued_at.astimezone(UTC))


def _unstorable(text: str) -> bool:
    """Whether a text has characters that a database refuses: null, and halves of surrogate pairs."""
    return any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def _is_past(situation: Situation, at: datetime) -> bool:
    """Whether a time is today or earlier; later today counts, because days in files are read as noon."""
    if at.tzinfo is None:
        raise ValueError(f"{at} has no time zone; use UTC.")
    return EARLIEST_YEAR <= at.year <= situation.today.year + 1 and situation.day(at) <= situation.today


def _recruiters_first(entries: Sequence[ImportedPerson]) -> list[ImportedPerson]:
    """Sort entries so that everybody comes after their recruiter; refuse a cycle."""
    by_name = {entry.person: entry for entry in entries}
    placed: dict[str, ImportedPerson] = {}
    for entry in entries:
        path: dict[str, ImportedPerson] = {}  # from the entry up to a seed, or to somebody already sorted
        upwards: ImportedPerson | None = entry
        while upwards is not None and upwards.person not in placed:
            if upwards.person in path:
                raise Refuse(Reason.IMPORT_CYCLE, person=upwards.person)
            path[upwards.person] = upwards
            upwards = None if upwards.recruiter is None else by_name.get(upwards.recruiter)
        placed |= reversed(path.items())
    return list(placed.values())


def _new_people(
    situation: Situation, entries: Sequence[ImportedPerson], existing: Mapping[str, PersonRow]
) -> list[ImportedPerson]:
    """Select people who are not in the study; refuse a file that differs about one who is."""
    new = []
    for entry in entries:
        row = existing.get(entry.person)
        if row is None:
            new.append(entry)
        elif not _is_unchanged(row, entry) and (name := _difference(situation, row, entry)):
            raise Refuse(Reason.IMPORT_CONFLICT, person=entry.person, name=name)
    return new


def _difference(situation: Situation, row: PersonRow, entry: ImportedPerson) -> str | None:
    """Name a field in which the file differs from the study; None if nothing differs."""
    coupons = {
        ImportedCoupon(each.code, each.issued_at, each.first_day, each.last_day, each.voided_at is not None)
        for each in situation.records.coupons_of(row.person)
    }
    paid = tuple(kind for kind in PaymentKind if situation.records.payment(row.code, kind) is not None)
    same = {
        "site": row.site == entry.site,
        "recruiter": row.recruiter == entry.recruiter,
        "code": entry.code in ("", row.code),
        "enrolment_time": row.enrolled_at == entry.enrolled_at,
        "network_size": row.network_size == entry.network_size,
        "answers": row.answers == entry.answers,
        "coupons": coupons == set(entry.coupons),
        "payments": set(entry.paid) <= set(paid),
    }
    return next((name for name, is_same in same.items() if not is_same), None)


def _check_codes(situation: Situation, new: Sequence[ImportedPerson]) -> None:
    """Refuse codes that are issued twice, used twice, or used by somebody else's recruit."""
    named = {coupon.code for entry in new for coupon in entry.coupons} | {entry.code for entry in new if entry.code}
    existing = situation.records.coupons(sorted(named))
    holders: dict[str, str] = {}
    void = set()
    for entry in new:
        for coupon in entry.coupons:
            if (other := holders.get(coupon.code) or _owner(situation, existing.get(coupon.code))) is not None:
                raise Refuse(Reason.IMPORT_COUPON_TWICE, person=entry.person, other=other)
            holders[coupon.code] = entry.person
            if coupon.void:
                void.add(coupon.code)
    users: dict[str, str] = {}
    for entry in new:
        if not entry.code:
            continue
        if entry.code in users:
            raise Refuse(Reason.IMPORT_COUPON_TWICE, person=entry.person, other=users[entry.code])
        users[entry.code] = entry.person
        if entry.recruiter is None:
            if (other := holders.get(entry.code) or _owner(situation, existing.get(entry.code))) is not None:
                raise Refuse(Reason.IMPORT_COUPON_TWICE, person=entry.person, other=other)
        elif entry.code in holders:
            if holders[entry.code] != entry.recruiter or entry.code in void:
                raise Refuse(Reason.IMPORT_CODE, person=entry.person, recruiter=entry.recruiter)
        else:
            row, used = existing.get(entry.code), situation.records.redemption(entry.code)
            if used is not None:
                raise Refuse(Reason.IMPORT_COUPON_TWICE, person=entry.person, other=used.person)
            if row is None or row.holder != entry.recruiter or row.voided_at is not None:
                raise Refuse(Reason.IMPORT_CODE, person=entry.person, recruiter=entry.recruiter)


def _owner(situation: Situation, row: CouponRow | None) -> str | None:
    """The person who got a coupon of the study, or came with it as a seed; None if there is no such coupon."""
    if row is None:
        return None
    redemption = situation.records.redemption(row.code)
    return row.holder or (redemption.person if redemption is not None else "")
