"""A coupon sheet in words: what to give out, what it brings, and how good that is.

`sheet_lines` stand below the table: first the decision and what it brings, then the result by each story of what a
coupon does, other spends, how good the plan is, and notes.
"""

import math
from collections.abc import Sequence

from peerfront.bounds.certificate import Certificate
from peerfront.foundation.messages import Severity
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.orders import AVERAGE, BELIEF
from peerfront.study.stories import StoryResult
from peerfront.words.language import Text, joined, n_coupons, n_people, percent, say, say_n
from peerfront.words.messages import text_of
from peerfront.words.story_phrases import story_phrase

_AS_GOOD = 0.005  # recruits, or a share of the best possible: a smaller loss is not mentioned
_FLAT = 0.01  # share of the value: spends that lose less lie on the flat part of the curve
_APART = 0.02  # if stories differ by more than this share of the recruits, totals are given as a range


def heading_line(heading: Heading) -> Text:
    """Study, date and round, without empty parts."""
    number = None if heading.round is None else say("round {number:,}", number=heading.round)
    return joined([heading.study, heading.date, number], ", ")


def page_title(heading: Heading) -> Text:
    """The title of a sheet to print; a missing name is left blank, to be filled in by hand."""
    return say("Coupon sheet: {study}", study=heading.study or "_" * 30)


def page_facts(sheet: CouponSheet, heading: Heading) -> Text:
    """The line below the title."""
    return say(
        "Date: {date}      Round: {round} ({left:,} left, this one included)      {coupons} for {people}",
        date=heading.date or "_" * 14,
        round=f"{heading.round:,}" if heading.round is not None else "_" * 6,
        left=sheet.rounds_left,
        coupons=n_coupons(sheet.spend),
        people=n_people(len(sheet.table)),
    )


def page_columns() -> list[Text]:
    """The columns of a sheet to print."""
    return [
        say("Person"), say("Coupons"), say("Coupon numbers"), say("Date"), say("Initials"), say("Why"),
    ]  # fmt: skip


def page_footer() -> Text:
    """The footer: how to store the sheet safely."""
    return say("Holds participants' ids: keep it as you keep them.")


def sheet_lines(sheet: CouponSheet) -> list[Text]:
    """What a coordinator reads below the table, one statement a line."""
    notes = [text_of(each) for each in sheet.notes]
    if sheet.certificate is None:
        return notes
    return [*main_lines(sheet), *_belief(sheet), *_by_story(sheet), *_alternatives(sheet), *_how_good(sheet), *notes]


def main_lines(sheet: CouponSheet) -> list[Text]:
    """The decision and what it is expected to bring: two lines."""
    getting = int((sheet.table["coupons"] > 0).sum())
    coupons, people = n_coupons(sheet.spend), n_people(len(sheet.table))
    decision = say("Give out {coupons} to {getting:,} of {people}.", coupons=coupons, getting=getting, people=people)
    reserve = sheet.order.reserve
    reserved = say_n("{n:,} stays in reserve.", "{n:,} stay in reserve.", reserve) if reserve else None
    return [joined([decision, _kept(sheet), reserved]), joined([_now(sheet), *_in_all(sheet)])]


def promise_lines(sheet: CouponSheet) -> list[Text]:
    """What the plan brings by each story, and how good that is: sentences without counts of people."""
    return [] if sheet.certificate is None else [*_by_story(sheet), *_how_good(sheet)]


def warning_lines(sheet: CouponSheet) -> list[Text]:
    """Warnings of the plan and of its model, each once."""
    warnings = [each for each in (*sheet.notes, *sheet.warnings) if each.severity is Severity.WARNING]
    return [text_of(each) for number, each in enumerate(warnings) if each not in warnings[:number]]


def _indented(text: Text) -> Text:
    return joined(["  ", text], "")


def _kept(sheet: CouponSheet) -> Text:
    kept = sheet.order.available - sheet.spend
    if sheet.rounds_left > 1:
        if not kept:
            return say("None is kept for later rounds.")
        return say_n("{n:,} is kept for later rounds.", "{n:,} are kept for later rounds.", kept)
    if not kept:
        return say("This is the last round.")
    return say("This is the last round, and {coupons} cannot be used within the limits.", coupons=n_coupons(kept))


def _belief(sheet: CouponSheet) -> list[Text]:
    """The belief that the order asks for, if any."""
    response = sheet.order.response
    if response in (AVERAGE, BELIEF):
        return []
    return [say("Planned as asked for one story only: that {story}.", story=story_phrase(response))]


def _now(sheet: CouponSheet) -> Text:
    each = [story.now for story in sheet.by_story]
    if not each:
        recruits = _number(float(sheet.table["expected_now"].sum()))
    elif max(each) - min(each) > max(_APART * max(each), 0.05):
        recruits = say("{low:.1f} to {high:.1f}", low=min(each), high=max(each))
    else:
        recruits = _number(sum(story.weight * story.now for story in sheet.by_story))
    return say("Expected from this round, by the model: {recruits} recruits.", recruits=recruits)


def _in_all(sheet: CouponSheet) -> list[Text]:
    """The recruits expected in all, later rounds included."""
    after, each = sheet.rounds_left - 1, [story.expected for story in sheet.by_story]
    if not after:
        return []
    if _stories_differ(sheet.by_story):
        recruits = say("{low:.1f} to {high:.1f}", low=min(each), high=max(each))
    elif sheet.expected_error is None:
        recruits = _number(sheet.expected)
    else:
        recruits = _with_error(sheet.expected, sheet.expected_error)
    lines = [
        say_n(
            "With the round after it: {recruits} in all.",
            "With the {n:,} rounds after it: {recruits} in all.",
            after,
            recruits=recruits,
        )
    ]
    if sheet.discount != 1.0:
        lines.append(say("A recruit a round later counts {discount:g} times as much.", discount=sheet.discount))
    return lines


def _number(recruits: float) -> Text:
    return say("{recruits:.1f}", recruits=recruits)


def _with_error(recruits: float, error: float) -> Text:
    return say("{recruits:.1f} +- {error:.1f}", recruits=recruits, error=2 * error) if error else _number(recruits)


def _stories_differ(stories: Sequence[StoryResult]) -> bool:
    """Whether the stories' expected recruits differ by more than chance and by a relevant amount."""
    if len(stories) < 2:
        return False
    expected = [each.expected for each in stories]
    chance = 2.0 * max(each.error for each in stories)
    return max(expected) - min(expected) > max(chance, _APART * max(expected))


def _by_story(sheet: CouponSheet) -> list[Text]:
    """What the plan brings by each story, and what planning for that story alone would add."""
    if len(sheet.by_story) < 2:
        return []
    lines = [say("This study cannot say yet what a coupon does. Recruits expected in all:")]
    for each in sheet.by_story:
        recruits = _with_error(each.expected, each.error)
        values = {"recruits": recruits, "story": story_phrase(each.name), "weight": percent(each.weight)}
        if each.regret <= max(2 * each.regret_error, _AS_GOOD):
            line = say("{recruits} if {story} (weight {weight}; knowing it would not help)", **values)
        else:
            line = say(
                "{recruits} if {story} (weight {weight}; knowing it would add {regret:.1f})",
                **values,
                regret=each.regret,
            )
        lines.append(_indented(line))
    return lines


def _alternatives(sheet: CouponSheet) -> list[Text]:
    """What other spends this round would bring, by the plan's own value."""
    curve = sheet.curve.set_index("spend")["value"]
    best, lowest, highest = float(curve[sheet.spend]), int(curve.index.min()), int(curve.index.max())
    optimal = best if sheet.order.spend is None else float(curve.max())
    names = {
        "half": (say("half"), sheet.spend // 2),
        "fewer": (say("a quarter fewer"), round(0.75 * sheet.spend)),
        "more": (say("a quarter more"), round(1.25 * sheet.spend)),
        "all": (say("all that may be given"), highest),
    }
    if sheet.order.spend is not None:
        names = {"best": (say("the best"), int(curve.index[int(curve.to_numpy().argmax())])), **names}
    lines, listed = [], {sheet.spend}
    for name, wanted in names.values():
        spend = min(max(wanted, lowest), highest)
        if spend in listed or spend not in curve.index:
            continue
        listed.add(spend)
        lost = best - float(curve[spend])
        values = {"name": name, "spend": spend, "recruits": abs(lost), "share": percent(abs(lost) / max(best, 1e-9))}
        if lost < _AS_GOOD and (sheet.order.spend is None or lost > -_AS_GOOD):
            line = say("{name}, {spend:,}: as good", **values)
        elif lost > 0:
            line = say("{name}, {spend:,}: {recruits:.2f} recruits fewer in all ({share})", **values)
        else:
            line = say("{name}, {spend:,}: {recruits:.2f} recruits more in all ({share})", **values)
        lines.append(_indented(line))
    if not lines:
        return []
    near = curve.index[curve.to_numpy() >= (1.0 - _FLAT) * optimal]
    flat = say("Every other number loses more than 1%.")
    if len(near) > 1:
        flat = say("Anything from {low:,} to {high:,} loses less than 1%.", low=int(near.min()), high=int(near.max()))
    return [say("Other numbers of coupons this round:"), *lines, _indented(flat)]


def _how_good(sheet: CouponSheet) -> list[Text]:
    lines = []
    if sheet.gap is not None:
        gap = math.ceil(1e4 * sheet.gap) / 100
        lines.append(
            say(
                "Planned by a common price of a coupon, because the file is large: at most {gap:.2f}% below the best "
                "plan by the same value.",
                gap=gap,
            )
        )
    expected = {each.name: each.expected for each in sheet.by_story}
    several = len(sheet.certificates) > 1
    for name, certificate in sheet.certificates.items():
        lines.append(_bound(sheet, certificate, expected.get(name, sheet.expected), name if several else None))
    proofs = {each.proof for each in sheet.certificates.values()}
    if "estimated" in proofs:
        return [*lines, say("These bounds are estimates, and hold by the model, whose own errors they do not know.")]
    if "statistical" in proofs:
        return [
            *lines,
            say(
                "Bounds are proved for these models, up to chance in the sampling; they say nothing about errors of "
                "the model itself."
            ),
        ]
    return [*lines, say("Bounds are proved for these models; they say nothing about errors of the model itself.")]


def _bound(sheet: CouponSheet, certificate: Certificate, expected: float, story: str | None) -> Text:
    """The upper bound on any plan, and how close this one is."""
    short, most = certificate.shortfall(expected), certificate.high
    if story is None:
        limit = say("No plan can expect more than {most:.1f} recruits.", most=most)
    else:
        limit = say(
            "If {story}, no plan can expect more than {most:.1f} recruits.", story=story_phrase(story), most=most
        )
    if sheet.expected_error is None and expected > most:
        close = say("The plan's own total lies above that, so it is too high.")
    elif short < _AS_GOOD:
        close = say("No plan can do better.")
    else:
        close = say("This plan is within {share}% of the best possible.", share=math.ceil(100 * short))
    return joined([limit, close])
