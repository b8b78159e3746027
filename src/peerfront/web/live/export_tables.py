"""Tables and schema of an export: formats of cells, columns of answers, decisions and coupons."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils.crypto import salted_hmac

from peerfront.data.columns.column_findings import is_sensitive
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.fixed_layouts import NETWORK_SIZE, OWN_COUPON
from peerfront.data.read.listing import USUAL_MISSING
from peerfront.data.read.read_settings import COUPONS, MOST_DAYS_VALID, PLAIN, ROLES, Columns, ReadSettings
from peerfront.data.study import Study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.messages import Message, note
from peerfront.web.live.records import models
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.study_settings import Question, QuestionKind, Settings
from peerfront.words.stored_text import reason_from_text

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


def days_of(settings: Settings) -> Callable[[datetime], str]:
    """Format a time as a day in the study's time zone."""
    zone = ZoneInfo(settings.timezone)
    return lambda at: at.astimezone(zone).date().isoformat()


def written_ids(ids: Iterable[str]) -> Mapping[str, str]:
    """The exported ids: one that readers take for "not known", such as NA, gets underscores at its end."""
    names = list(ids)
    taken, written = set(names), {}
    for each in names:
        text = each
        while text in USUAL_MISSING or (text != each and text in taken):
            text += "_"
        taken.add(text)
        written[each] = text
    return written


def code_text(code: str) -> str:
    """A code in groups, so that a spreadsheet does not take it for a number."""
    text = shown_code(code)
    return f"{text}_" if text in USUAL_MISSING else text


ALIAS = "alias-"
"""How an alias begins; no code has a hyphen there."""


def aliases() -> Callable[[str], str]:
    """What stands for a coupon's code in an export: the same each time, and of no use to whoever comes with it."""
    keyed = salted_hmac("peerfront.export", "", algorithm="sha256")

    def alias(text: str) -> str:
        digest = keyed.copy()
        digest.update(text.encode())
        return f"{ALIAS}{base64.b32encode(digest.digest()[:10]).decode()}" if text else ""

    return alias


def one_line(text: str) -> str:
    """Text as one line, without control characters, which would break the file or be invisible."""
    return _CONTROLS.sub(" ", text).strip()


def mark(yes: bool) -> str:
    """A yes or no."""
    return "yes" if yes else "no"


RECRUITER_ID = "recruiter.id"
SITE = "site"
_ROLES: Columns = {
    "id": ("id",),
    "own_coupon": (OWN_COUPON,),
    "recruiter": (RECRUITER_ID,),
    "network_size": (NETWORK_SIZE,),
    "date": ("interview.date",),
    "seed": ("seed",),
    "issued_date": ("issued.date",),
    "expiry_date": ("expiry.date",),
    "site": (SITE,),
    "waiting": ("waiting",),
}
_NOT_FOR_PLANNING = note("column_reasons.not_for_planning")
_MOST_CATEGORIES = 20


def reading_of(settings: Settings, columns: tuple[str, ...]) -> ReadSettings:
    """How an exported table is read: no column is guessed, whatever questions are called.

    A coupon that is valid for v days, starting a days after its issue, can be used until a + v - 1 days after it.
    """
    coupons = tuple(name for name in columns if name.startswith("coupon."))
    columns_by_role = {**_ROLES, "coupons": coupons}
    until = min(settings.active_after_days + settings.valid_days - 1, MOST_DAYS_VALID)
    return ReadSettings(
        format=COUPONS,
        columns={role: columns_by_role.get(role, ()) for role in ROLES},
        preset=PLAIN,
        valid_days=float(until),
        active_after_days=float(min(settings.active_after_days, until)),
    )


def export_schema(
    study: Study, settings: Settings, columns: Mapping[str, str]
) -> tuple[StudySchema, dict[str, Message]]:
    """The schema of an exported study, and why columns are left out; `columns` are those of the questions.

    Plans may use the network size and the answers that the settings allow, even sensitive ones: the study decided so.
    Answers that are known only after recruitment are left out in any case.
    """
    guess = guess_schema(study)
    guessed = {rule.name: rule for rule in guess.schema.fields}
    allowed = {columns[question.name]: question for question in settings.questions if question.for_planning}
    fields: list[FieldRule] = []
    reasons: dict[str, Message] = {}
    exclude: list[str] = []
    for name in map(str, study.people.columns):
        rule, reason = guessed.get(name), guess.reasons.get(name)
        if rule is not None and (name == NETWORK_SIZE or name in allowed):
            fields.append(_field(study, rule, allowed.get(name), sensitive=is_sensitive(reason)))
            if reason is not None:
                reasons[name] = reason
        else:
            exclude.append(name)
            reasons[name] = reason if reason is not None and (name in allowed or rule is None) else _NOT_FOR_PLANNING
    reading = replace(guess.schema.reading, columns=study.settings.columns)
    return StudySchema(tuple(fields), tuple(exclude), reading, "schema.toml"), reasons


def _field(study: Study, guessed: FieldRule, question: Question | None, *, sensitive: bool) -> FieldRule:
    """How a column becomes a field; answers that only later people give are possible, too."""
    use = True if sensitive else guessed.use
    if question is None or question.kind is not QuestionKind.CHOICE:
        unlisted = not guessed.cuts and guessed.other is None
        return replace(guessed, others_unknown=unlisted, use=use)
    choices = tuple(each.strip() for each in question.choices)
    answers = study.people[guessed.name]
    others = tuple(sorted(set(answers[answers != ""]) - set(choices)))
    categories = choices + others if len(choices) + len(others) <= max(_MOST_CATEGORIES, len(choices)) else choices
    return FieldRule(guessed.name, categories, others_unknown=True, use=use)


WITHDRAWN = "withdrawn"
DETAILS = ("round", "date", "person", "planned", "decided", "handed_out", "decided_by", "model", "seed", "stratum",
           "probability", "reason")  # fmt: skip
COUPON_COLUMNS = ("coupon", "holder", "site", "issued", "first_day", "last_day", "void", "used_by", "used", "imported")


def decision_rows(ids: Mapping[str, str], settings: Settings, columns: Sequence[str]) -> Iterator[list[str]]:
    """Decisions about some people, by the columns of the decision log or by `DETAILS`.

    Typed reasons are left out. The stratum of all who withdrew is the same word, because a stratum reveals answers.
    """
    day = days_of(settings)
    gone = set(models.Person.objects.exclude(withdrawn_at=None).values_list("person", flat=True))
    strata, randomise = "+".join(settings.plan_strata), f"{settings.plan_randomise:g}"
    fields = ("round", "at", "person_id", "planned", "decided", "coupons", "decided_by", "model", "seed", "stratum",
              "probability", "reason")  # fmt: skip
    decisions = models.Decision.objects.order_by("round", "person").values_list(*fields, named=True)
    for each in decisions.iterator(chunk_size=2_000):
        if each.person_id not in ids:
            continue
        withdrew, typed = each.person_id in gone, each.decided_by == DecidedBy.OVERRIDE
        reason = "" if withdrew or "reason" not in columns else one_line(str(reason_from_text(each.reason)))
        row = {
            "study": settings.name,
            "round": each.round,
            "date": day(each.at),
            "person": ids[each.person_id],
            "planned": "" if each.planned is None else each.planned,
            "decided": each.decided,
            "handed_out": each.coupons,
            "coupons": each.coupons,
            "decided_by": each.decided_by,
            "model": each.model,
            "seed": each.seed,
            "stratum": WITHDRAWN if each.stratum and withdrew else one_line(each.stratum),
            "strata": strata,
            "randomise": randomise,
            "probability": "" if each.probability is None else f"{each.probability:.6g}",
            "reason": "decided by the coordinator; see the audit" if typed else reason,
        }
        yield [str(row[name]) for name in columns]


def coupon_rows(ids: Mapping[str, str], settings: Settings, alias: Callable[[str], str]) -> Iterator[list[str]]:
    """Every coupon that some people handed on or came with, by `COUPON_COLUMNS`; codes of seeds have no holder."""
    day = days_of(settings)
    columns = ("code", "holder_id", "site_id", "issued_at", "first_day", "last_day", "voided_at", "imported",
               "redemption__person_id", "redemption__at")  # fmt: skip
    coupons = models.Coupon.objects.order_by("issued_at", "code").values_list(*columns)
    for code, holder, site, issued, first_day, last_day, void, imported, used_by, used in coupons.iterator(2_000):
        yield [
            alias(code_text(code)),
            ids.get(holder or "", ""),
            site,
            day(issued),
            first_day.isoformat(),
            last_day.isoformat(),
            "" if void is None else day(void),
            ids.get(used_by or "", ""),
            "" if used is None else day(used),
            mark(imported),
        ]


WITHDRAWN_COLUMNS = ("id", "withdrawn")


def withdrawn_rows(ids: Mapping[str, str], settings: Settings) -> Iterator[list[str]]:
    """The people who withdrew, and when."""
    day = days_of(settings)
    gone = models.Person.objects.exclude(withdrawn_at=None).order_by("withdrawn_at", "person")
    for person, at in gone.values_list("person", "withdrawn_at").iterator(2_000):
        if person in ids and at:
            yield [ids[person], day(at)]
