"""The schema of an exported study: which column is what, and which answers plans may use."""

from collections.abc import Mapping
from dataclasses import replace

from peerfront.data.columns.column_findings import is_sensitive
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.fixed_layouts import NETWORK_SIZE, OWN_COUPON
from peerfront.data.read.read_settings import COUPONS, MOST_DAYS_VALID, PLAIN, ROLES, Columns, ReadSettings
from peerfront.data.study import Study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.messages import Message, note
from peerfront.web.live.rules.settings import Question, QuestionKind, Settings

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
    """How the table of a study is read: no column is guessed, whatever questions are called.

    A coupon that is valid from a days after its issue on, for v days, can be used until a + v - 1 days after it.
    """
    coupons = tuple(name for name in columns if name.startswith("coupon."))
    known = {**_ROLES, "coupons": coupons}
    until = min(settings.active_after_days + settings.valid_days - 1, MOST_DAYS_VALID)
    return ReadSettings(
        format=COUPONS,
        columns={role: known.get(role, ()) for role in ROLES},
        preset=PLAIN,
        valid_days=float(until),
        active_after_days=float(min(settings.active_after_days, until)),
    )


def export_schema(
    study: Study, settings: Settings, columns: Mapping[str, str]
) -> tuple[StudySchema, dict[str, Message]]:
    """The schema of an exported study, and why columns are left out; `columns` are those of the questions.

    Plans may use the network size and the answers that the settings allow. What the settings allow is used although it
    is sensitive: the study decided so. What is known only afterwards stays out whatever they say.
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
    """How a column becomes a field, so that people who come later with another answer can be planned for, too."""
    use = True if sensitive else guessed.use
    if question is None or question.kind is not QuestionKind.CHOICE:
        unlisted = not guessed.cuts and guessed.other is None
        return replace(guessed, others_unknown=unlisted, use=use)
    choices = tuple(each.strip() for each in question.choices)
    told = study.people[guessed.name]
    others = tuple(sorted(set(told[told != ""]) - set(choices)))
    categories = choices + others if len(choices) + len(others) <= max(_MOST_CATEGORIES, len(choices)) else choices
    return FieldRule(guessed.name, categories, others_unknown=True, use=use)
