"""Rules of the study as a whole: begin it, change its settings, add sites, note for the audit what changes no rows."""

from peerfront.web.live.rules.codes import is_prefix
from peerfront.web.live.rules.events import ActionNoted, SettingsChanged, SiteAdded, StudyBegun
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import AddSite, BeginStudy, ChangeSettings, NoteAction
from peerfront.web.live.rules.settings import Settings
from peerfront.web.live.rules.situation import (
    Outcome,
    Situation,
    bad_identifier,
    bad_text,
    no_reason,
    out_of_range,
    rule_of,
)

MOST_DETAILS = 50
LONGEST_SUBJECT = 100


def begin_study(wish: BeginStudy) -> Outcome:
    """Begin a study with settings in range and a prefix of its own."""
    if bad := _bad_settings(wish.settings):
        return bad
    if not is_prefix(wish.prefix):
        raise ValueError(f"{wish.prefix!r} is no prefix of a study; draw one with codes.new_prefix().")
    return (StudyBegun(wish.prefix, wish.settings),)


@rule_of(ChangeSettings, SettingsChanged)
def change_settings(situation: Situation, wish: ChangeSettings) -> Outcome:
    """Change the settings; the budget must cover what was issued and what the approved plan promises."""
    study = situation.study
    if bad := _bad_settings(wish.settings) or no_reason(wish.why):
        return bad
    plan = None if study.approved_plan is None else situation.records.plan(study.approved_plan)
    promised = 0 if plan is None else plan.promised
    issued = study.settings.budget - study.kept
    if wish.settings.budget < issued + promised:
        return refusal(Reason.OVER_BUDGET, coupons=issued + promised, free=wish.settings.budget)
    return (SettingsChanged(wish.settings, wish.why),)


@rule_of(AddSite, SiteAdded)
def add_site(situation: Situation, wish: AddSite) -> Outcome:
    """Add a site with a short name that no other site has."""
    if bad := bad_identifier("site", wish.site) or bad_text("name", wish.name, longest=100, needed=True):
        return bad
    if situation.records.site(wish.site) is not None:
        return refusal(Reason.SITE_EXISTS, site=wish.site)
    return (SiteAdded(wish.site, wish.name),)


@rule_of(NoteAction, ActionNoted)
def note_action(situation: Situation, wish: NoteAction) -> Outcome:
    """Note an action for a person whom the member may reach, or for a site or study that they may see."""
    if bad := bad_text("subject", wish.subject, longest=LONGEST_SUBJECT) or _bad_details(wish.details):
        return bad
    declared = wish.noted.declared
    if declared.about_person:
        person = situation.known_person(wish.subject, withdrawn_too=declared.after_withdrawal)
        if isinstance(person, Refusal):
            return person
    elif situation.request.site is None and (all_sites := situation.concerns_all_sites()):
        return all_sites
    return (ActionNoted(wish.noted, wish.subject, wish.details),)


def _bad_settings(settings: Settings) -> Refusal | None:
    for name, (least, most) in settings.limits().items():
        value = getattr(settings, name)
        if value is not None and (bad := out_of_range(name, value, least, most)):
            return bad
    if bad := bad_text("name", settings.name, longest=100, needed=True):
        return bad
    if fault := settings.fault_of_questions:
        return refusal(Reason.QUESTIONS, name=fault)
    if not settings.has_currency:
        return refusal(Reason.CURRENCY)
    return None if settings.has_timezone else refusal(Reason.TIMEZONE)


def _bad_details(details: tuple[tuple[str, str], ...]) -> Refusal | None:
    if bad := out_of_range("number_of_details", len(details), 0, MOST_DETAILS):
        return bad
    names = [name for name, _ in details]
    if len(set(names)) != len(names):
        return refusal(Reason.TWICE, name="detail")
    for name, value in details:
        if bad := bad_identifier("detail", name) or bad_text("detail", value):
            return bad
    return None
