"""Rules of the study as a whole: begin it, change its settings, add sites."""

from peerfront.web.live.rules.codes import is_prefix
from peerfront.web.live.rules.events import SettingsChanged, SiteAdded, StudyBegun
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import AddSite, BeginStudy, ChangeSettings
from peerfront.web.live.rules.settings import Settings
from peerfront.web.live.rules.situation import Outcome, Situation, bad_identifier, bad_text, no_reason, out_of_range


def begin_study(wish: BeginStudy) -> Outcome:
    """Begin a study with settings in range and a prefix of its own."""
    if bad := _bad_settings(wish.settings):
        return bad
    if not is_prefix(wish.prefix):
        raise ValueError(f"{wish.prefix!r} is no prefix of a study; draw one with codes.new_prefix().")
    return (StudyBegun(wish.prefix, wish.settings),)


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


def add_site(situation: Situation, wish: AddSite) -> Outcome:
    """Add a site with a short name that no other site has."""
    if bad := bad_identifier("site", wish.site) or bad_text("name", wish.name, longest=100, needed=True):
        return bad
    if situation.records.site(wish.site) is not None:
        return refusal(Reason.SITE_EXISTS, site=wish.site)
    return (SiteAdded(wish.site, wish.name),)


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
