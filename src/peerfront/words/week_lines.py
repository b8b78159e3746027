"""The lines of a week's summary: what changed in the file, what to hand out, what to expect, which model."""

from collections.abc import Sequence

from peerfront.foundation.messages import Remedy
from peerfront.models.belief.belief import Misfit
from peerfront.study.week import NewWeek
from peerfront.study.week_changes import Changes, CouponsLeft, HandedOut
from peerfront.study.week_model import ModelChoice
from peerfront.study.week_plan import SameForAll, WeekPlan
from peerfront.words.fit_words import return_lines
from peerfront.words.language import Text, joined, n_coupons, n_people, percent, say, say_n, warn
from peerfront.words.messages import text_of
from peerfront.words.study_check import doubts

_LISTED = 5  # people in one sentence


def head_lines(new: NewWeek) -> list[object]:
    title = say(
        "Week {number}, {day}: {people} in {file}.",
        number=new.number,
        day=new.day.isoformat(),
        people=n_people(new.people),
        file=new.source,
    )
    skipped = say_n(
        "{n} week was skipped: the last plan is {days} days old.",
        "{n} weeks were skipped: the last plan is {days} days old.",
        new.skipped,
        days=new.days_since,
    )
    lines: list[object] = [joined([title, skipped]) if new.skipped else title]
    if new.later:
        lines.append(
            warn(
                "Left out: {people} who took part after {day} ({remedy} for a later day).",
                people=n_people(new.later),
                day=new.day.isoformat(),
                remedy=Remedy("date", "DATE"),
            )
        )
    file, schema = new.check
    return [*lines, *doubts(file, new.problems, f"peerfront check {file} --schema {schema}")]


def change_lines(changes: Changes) -> list[Text]:
    """What is new, missing or different in the file since last week."""
    lines = [
        say(
            "New: {recruits}, {seeds}; {coupons} handed out.",
            recruits=say_n("{n:,} recruit", "{n:,} recruits", changes.recruits),
            seeds=say_n("{n:,} seed", "{n:,} seeds", changes.seeds),
            coupons=n_coupons(changes.issued),
        )
    ]
    if changes.lost:
        lines.append(
            warn(
                "Missing from last week's file: {lost}. Rows that are lost take their recruits and coupons with them; "
                "restore them, unless these people withdrew.",
                lost=_listed(changes.lost),
            )
        )
    different = [
        say("{who} has {coupons}, last week {before:,}", who=who, coupons=n_coupons(has), before=had)
        for who, has, had in changes.fewer_coupons
    ]
    different += [
        say(
            "{who} is a recruit of {now}, last week of {before}",
            who=who,
            now=now or say("nobody"),
            before=before or say("nobody"),
        )
        for who, now, before in changes.other_recruiter
    ]
    if different:
        lines.append(say("Changed since last week: {changes}.", changes=_listed(different)))
    return lines


def handed_out_lines(done: HandedOut) -> list[Text]:
    """Last week's plan compared with what was handed out."""
    if not len(done.table):
        return [say("Last week nobody was waiting, so there was no sheet to follow.")]
    if done.assumed:
        return [warn("The file does not say who got how many coupons: last week's sheet counts as followed.")]
    there = done.table.dropna()
    right = there["planned"] == there["given"]
    lines = [
        say(
            "Sheet: {planned} planned for {people}, {given:,} handed out; {right:,} as planned.",
            planned=n_coupons(int(there["planned"].sum())),
            people=n_people(len(there)),
            given=int(there["given"].sum()),
            right=int(right.sum()),
        )
    ]
    wrong = there[~right]
    not_yet = [str(person) for person in wrong[wrong["given"] == 0]["person"]]
    if not_yet:
        lines.append(
            say(
                "  Nothing yet for {people}: on the sheet again.",
                people=_listed(not_yet),
            )
        )
    others = [
        say("{who} ({given:.0f}, planned {planned})", who=who, given=given, planned=planned)
        for who, planned, given in wrong[wrong["given"] > 0].to_numpy(dtype=object).tolist()
    ]
    if others:
        lines.append(say("  Another number: {people}.", people=_listed(others)))
    unplanned = [
        say("{who} ({given})", who=who, given=given) for who, given in done.unplanned.to_numpy(dtype=object).tolist()
    ]
    if unplanned:
        lines.append(say("  Not on the sheet, and got coupons: {people}.", people=_listed(unplanned)))
    return lines


def _listed(texts: Sequence[object]) -> Text:
    """The first few people, and how many more there are."""
    first, more = list(texts[:_LISTED]), len(texts) - _LISTED
    if more <= 0:
        return say("{list}", list=first)
    return say_n("{list} and {n:,} more", "{list} and {n:,} more", more, list=first)


# The plan --------------------------------------------------------------------------------------------------------


def left_line(coupons: CouponsLeft) -> Text:
    left = say("{left} left to give out, of {budget:,}.", left=n_coupons(coupons.left), budget=coupons.budget)
    if not coupons.of_missing:
        return left
    missing = say(
        "{coupons} of people who are no longer in the file count as handed out.", coupons=n_coupons(coupons.of_missing)
    )
    return joined([left, missing])


def sheet_lines(plan: WeekPlan) -> list[object]:
    """What to hand out, what to expect, what could make it wrong, what to do next."""
    return [_same_for_all(plan.same_for_all)] if plan.same_for_all is not None else plan.sheet.lines()


def detail_lines(plan: WeekPlan) -> list[object]:
    """The details of this week's sheet: other warnings, gains, other spends, bounds, assumptions."""
    if plan.same_for_all is not None:
        return []
    lines = plan.sheet.details()
    if plan.by_rounds_because is not None:
        lines.append(say("Looked ahead by rounds, not by date: {why}.", why=plan.by_rounds_because))
    if plan.late:
        share = percent(plan.in_time)
        lines.append(say("Of the recruits whom this week's coupons bring, {share} come by then.", share=share))
    return lines


def _same_for_all(share: SameForAll) -> Text:
    if not share.people:
        return say("Nobody waits for coupons.")
    if not share.available and share.wanted:
        return say("{people} waiting, and no coupon for this week.", people=n_people(share.people))
    if share.one_more:
        return say(
            "Give {coupons} to {people}, drawn by lot, and {each} to the others who wait.",
            coupons=n_coupons(share.each + 1),
            people=n_people(share.one_more),
            each=share.each,
        )
    return say_n(
        "Give {coupons} to the person who waits.",
        "Give {coupons} to each of the {n:,} people who wait.",
        share.people,
        coupons=n_coupons(share.each),
    )


# The model -------------------------------------------------------------------------------------------------------


def model_lines(choice: ModelChoice) -> list[object]:
    """Whether the model is new and why, what surprised the one before, when people come, and warnings."""
    if choice.model is None:
        return model_news(choice)
    fit = choice.model.fit
    return [_age(choice), *model_news(choice), *return_lines(fit), *map(text_of, fit.warnings)]


def model_news(choice: ModelChoice) -> list[object]:
    """What is to know at once: the model cannot be made yet, or the study has surprised the one before."""
    return [choice.too_small] if choice.too_small is not None else [_surprise(each) for each in choice.surprises]


def model_details(choice: ModelChoice) -> list[object]:
    """The age of the model, and everything that it says."""
    if choice.model is None:
        return []
    return [_age(choice), *choice.model.summary.lines(), *choice.model.summary.details()]


def _age(choice: ModelChoice) -> Text:
    if choice.refitted:
        fitted = say("Fitted to {people} who have had coupons.", people=n_people(choice.fitted_to.holders))
        return joined([fitted, say("The fit before was of {day}.", day=choice.before) if choice.before else None])
    kept = {"day": choice.before, "news": choice.news}
    if choice.kept_as_asked:
        return say("The model of {day} is kept, as asked: {news:,} holders and recruits are new since.", **kept)
    return say("The model of {day} is kept: {news:,} holders and recruits since, too few to change it.", **kept)


def _surprise(misfit: Misfit) -> Text:
    return say(
        "{brought:,} of {people:,} people with {coupons} from earlier sheets brought somebody; {low:,} to {high:,} "
        "were expected. The new fit has taken that in.",
        brought=misfit.brought, people=misfit.people, coupons=n_coupons(misfit.coupons), low=misfit.low,
        high=misfit.high,
    )  # fmt: skip
