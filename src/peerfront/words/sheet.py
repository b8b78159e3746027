"""A coupon sheet in words: what to give out, what it brings, and how good that is.

`sheet_lines` stand below the table: four lines. `sheet_details` are for who asks: results by each part of the belief,
other spends, how good the plan is, and notes.
"""

import math

from peerfront.foundation.messages import Severity
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.orders import AVERAGE, BELIEF
from peerfront.words.language import Text, joined, n_coupons, n_people, percent, say, say_n
from peerfront.words.messages import text_of
from peerfront.words.outlook_words import (
    band,
    choice_lines,
    doubt_lines,
    expectation_line,
    gain_lines,
    outlook_details,
    target_lines,
)
from peerfront.words.story_phrases import story_phrase

_AS_GOOD = 0.005  # recruits, or a share of the best possible: a smaller loss is not mentioned
_FLAT = 0.01  # share of the value: spends that lose less lie on the flat part of the curve


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


def sheet_lines(sheet: CouponSheet) -> list[object]:
    """What a coordinator reads first: what to do, what to expect, what could make it wrong, what to do next."""
    if sheet.certificate is None:
        return [text_of(each) for each in sheet.notes]
    return [*main_lines(sheet), *warning_lines(sheet), *_next(sheet)]


def sheet_details(sheet: CouponSheet) -> list[object]:
    """The rest: other spends, how good the plan is, notes, and what the outlook rests on."""
    if sheet.certificate is None:
        return []
    notes = [text_of(each) for each in sheet.notes if each.severity is not Severity.WARNING]
    ahead = [] if sheet.outlook is None else outlook_details(sheet.outlook)
    ahead = [line for line in ahead if line not in sheet.notes]
    return [*_belief(sheet), *_by_part(sheet), *_alternatives(sheet), *_how_good(sheet), *notes, *ahead]


def main_lines(sheet: CouponSheet) -> list[object]:
    """The decision, what it is expected to bring, and what the plan gains."""
    outlook = sheet.outlook
    if outlook is None:
        expected = say("Expect {recruits:.1f} recruits in all, by the plan's own value.", recruits=sheet.promised)
        return [_decision(sheet), expected]
    ahead = joined([expectation_line(outlook), *target_lines(outlook)])
    doubt = joined([*gain_lines(outlook), *doubt_lines(outlook)])
    return [_decision(sheet), ahead, doubt] if str(doubt) else [_decision(sheet), ahead]


def _decision(sheet: CouponSheet) -> Text:
    getting = int((sheet.table["coupons"] > 0).sum())
    coupons, people = n_coupons(sheet.spend), n_people(len(sheet.table))
    decision = say("Give out {coupons} to {getting:,} of {people}.", coupons=coupons, getting=getting, people=people)
    reserve, none = sheet.order.reserve, len(sheet.table) - getting
    reserved = say_n("{n:,} stays in reserve.", "{n:,} stay in reserve.", reserve) if reserve else None
    waiting = None
    if none and sheet.rounds_left > 1:
        waiting = say_n(
            "{n:,} who gets none stays on the list for the next round.",
            "{n:,} who get none stay on the list for the next round.",
            none,
        )
    return joined([decision, _kept(sheet), reserved, waiting])


def _next(sheet: CouponSheet) -> list[Text]:
    """The prices of other plans, and what to do after this sheet."""
    choices = [] if sheet.outlook is None else choice_lines(sheet.outlook)
    then = say("Next: hand these out, enter who comes, and plan again with the new file.")
    return [joined([*choices, then if sheet.rounds_left > 1 else None])] if choices or sheet.rounds_left > 1 else []


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


def _by_part(sheet: CouponSheet) -> list[Text]:
    """What the plan brings if each part of the belief is true."""
    if sheet.outlook is None or len(own := sheet.outlook.parts_of()) < 2:
        return []
    lines = [say("More people in all, by what a coupon does (8 of 10):")]
    for row in own.to_dict("records"):
        values = {**band(row), "story": story_phrase(row["part"]), "weight": percent(row["weight"])}
        line = say("{recruits:.0f} ({low:.0f} to {high:.0f}) if {story} (weight {weight})", **values)
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
    share = sheet.share_of_best
    if share is None:
        return lines
    values = {"share": math.floor(100 * share)}
    best = say("The plan brings at least {share}% of what the best plan could, by the model.", **values)
    if share > 1.0 - _AS_GOOD:
        best = say("No plan could bring more, by the model.")
    proofs = {each.proof for each in sheet.certificates.values()}
    how = say("That is proved for this model; it says nothing about errors of the model itself.")
    if "estimated" in proofs:
        how = say("That is an estimate, and says nothing about errors of the model itself.")
    elif "statistical" in proofs:
        how = say("That is proved up to chance in the sampling; it says nothing about errors of the model itself.")
    return [*lines, joined([best, how])]
