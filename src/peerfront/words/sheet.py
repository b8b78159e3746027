"""A coupon sheet in words: what to give out, what it brings, and how good that is.

`sheet_lines` are four lines: what to do, what to expect, what could make it wrong, what to do next. `sheet_details` are
for who asks: the other warnings, gains, results by each part of the belief, other spends, how good the plan is, notes.
"""

import math

import pandas as pd

from peerfront.foundation.messages import Severity
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.orders import AVERAGE, BELIEF
from peerfront.study.rivals import Verdict
from peerfront.study.sheet_groups import Group
from peerfront.words.language import Text, first_warning, joined, n_coupons, n_people, percent, say, say_n
from peerfront.words.messages import text_of
from peerfront.words.outlook_words import (
    band,
    choice_lines,
    doubt_lines,
    dying_lines,
    expectation_line,
    gain_line,
    gain_lines,
    indented,
    outlook_details,
    part_lines,
    target_lines,
)
from peerfront.words.reason_words import reason_text, short_reason
from peerfront.words.result_table import ResultTable
from peerfront.words.story_phrases import story_phrase

_AS_GOOD = 0.005  # recruits, or a share of the best possible: a smaller loss is not mentioned
_SHOWN = 40  # people in a table on the screen
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
        "Date: {date}      Round: {round} ({left:,} left, this one included)      {coupons}: {groups}",
        date=heading.date or "_" * 14,
        round=f"{heading.round:,}" if heading.round is not None else "_" * 6,
        left=sheet.rounds_left,
        coupons=n_coupons(sheet.spend),
        groups=groups_text(sheet, described=False),
    )


def page_columns() -> list[Text]:
    """The columns of a sheet to print."""
    return [
        say("Person"), say("Coupons"), say("Coupon numbers"), say("Date"), say("Initials"), say("If asked"),
    ]  # fmt: skip


def page_footer() -> Text:
    """The footer: how to store the sheet safely."""
    return say("Holds participants' ids: keep it as you keep them.")


def sheet_lines(sheet: CouponSheet, *, every_warning: bool = False, with_groups: bool = True) -> list[object]:
    """What a coordinator reads first: what to do, what to expect, what could make it wrong, what to do next.

    Of several warnings only the first is there, unless all are asked for. A page that lists the groups needs them not.
    """
    if sheet.certificate is None:
        outlook = sheet.outlook  # of open coupons
        lines: list[object] = [text_of(each) for each in sheet.notes]
        if outlook is not None:
            lines += [joined([expectation_line(outlook), *target_lines(outlook)]), *dying_lines(outlook)]
        return lines
    return [*main_lines(sheet, with_groups=with_groups), *_doubt(sheet, every_warning), *_next(sheet)]


def sheet_details(sheet: CouponSheet) -> list[object]:
    """The rest: other warnings, gains, other spends, how good the plan is, notes, and what the outlook rests on."""
    if sheet.certificate is None:
        return []
    notes = [text_of(each) for each in sheet.notes if each.severity is not Severity.WARNING]
    ahead: list[object] = []
    if sheet.outlook is not None:
        shown = [*_doubt(sheet, every_warning=False), *part_lines(sheet.outlook)]
        ahead = [*gain_lines(sheet.outlook), *_by_part(sheet), *outlook_details(sheet.outlook, shown)]
    ahead = [line for line in ahead if line not in sheet.notes]
    return [*warning_lines(sheet)[1:], *_belief(sheet), *ahead, *_alternatives(sheet), *_how_good(sheet), *notes]


def fact_lines(sheet: CouponSheet) -> list[object]:
    """Every line but warnings, for pages that list these apart."""
    lines = (*sheet_lines(sheet), *sheet_details(sheet))
    return [line for line in lines if getattr(line, "severity", None) is not Severity.WARNING]


def main_lines(sheet: CouponSheet, *, with_groups: bool = True) -> list[object]:
    """What to do and what to expect."""
    return [_decision(sheet, with_groups), _expected(sheet)]


def _decision(sheet: CouponSheet, with_groups: bool) -> Text:
    getting = int((sheet.table["coupons"] > 0).sum())
    values = {"coupons": n_coupons(sheet.spend), "getting": getting, "people": n_people(len(sheet.table))}
    decision = say("Give out {coupons} to {getting:,} of {people}.", **values)
    if with_groups:
        decision = say("Give out {coupons} to {getting:,} of {people}: {groups}.", **values, groups=groups_text(sheet))
    reserve = sheet.order.reserve
    reserved = say_n("{n:,} stays in reserve.", "{n:,} stay in reserve.", reserve) if reserve else None
    return joined([decision, _kept(sheet), reserved])


def groups_text(sheet: CouponSheet, *, described: bool = True) -> Text:
    """How many people get how many coupons, and what most of them share, as part of a sentence.

    Without descriptions it may be read by anybody.
    """
    return joined([_group(each, sheet.rounds_left > 1, described) for each in sheet.groups], "; ")


def _group(group: Group, another_round: bool, described: bool) -> Text:
    if not group.coupons and another_round:
        return say_n("{n:,} waits for the next round", "{n:,} wait for the next round", group.people)
    get = say_n("{n:,} gets {coupons:,}", "{n:,} get {coupons:,}", group.people, coupons=group.coupons)
    if not described or not group.answers:
        return get
    answers = [say("{field} {category}", field=field, category=category) for field, category in group.answers]
    who = say("{first} or {second}", first=answers[0], second=answers[1]) if len(answers) == 2 else answers[0]
    return say("{get} ({who})", get=get, who=who)


def _expected(sheet: CouponSheet) -> Text:
    """What comes of it, with its band, and what the study's own practice would bring."""
    outlook = sheet.outlook
    if outlook is None:
        return say("Expect {recruits:.1f} recruits in all, by the plan's own value.", recruits=sheet.promised)
    practice = outlook.gains.practice
    so_far = None
    if practice is not None:
        so_far = say("{rule}: {recruits:.0f}.", rule=practice.described, recruits=practice.recruits)
    return joined([expectation_line(outlook), *target_lines(outlook), so_far])


def _doubt(sheet: CouponSheet, every_warning: bool) -> list[Text]:
    """The one thing that could make it wrong: a warning, a study that slows down, parts that differ, a rule as good."""
    warnings, outlook = warning_lines(sheet), sheet.outlook
    if warnings or outlook is None:
        return warnings if every_warning else first_warning(warnings)
    best = outlook.gains.best
    as_good = [gain_line(best)] if best is not None and best.verdict is not Verdict.MORE else []
    return [*doubt_lines(outlook), *as_good][:1]


def _next(sheet: CouponSheet) -> list[Text]:
    """The prices of other plans, new seeds, and what to do after this sheet."""
    choices = [] if sheet.outlook is None else [*choice_lines(sheet.outlook), *dying_lines(sheet.outlook)]
    then = say("Next: hand out, enter recruits, replan.")
    return [joined([*choices, then if sheet.rounds_left > 1 else None])] if choices or sheet.rounds_left > 1 else []


def people_table(table: pd.DataFrame, *, details: bool = False) -> ResultTable:
    """Who gets coupons and why, the most coupons first; with details everybody, every number and the whole reason."""
    numbers = [say("chance used"), say("now + later")] if details else []
    headings = (say("person"), say("coupons"), *numbers, say("reason"))
    getting = table[table["coupons"] > 0].sort_values("coupons", ascending=False, kind="stable")
    shown = table if details else getting
    rows: list[tuple[object, ...]] = []
    for row in shown.head(_SHOWN).to_dict("records"):
        named, reason = (row["person"], row["coupons"]), row["reason"]
        values = {"now": row["expected_now"], "later": row["expected_later"]}
        expected = Text("{now:.2f} + {later:.2f}", values)
        every = (row["chance_used"], expected, reason_text(reason))
        rows.append((*named, *every) if details else (*named, short_reason(reason)))
    more = len(shown) - _SHOWN
    caption = say("... and {n:,} more people, in the sheet's file.", n=more) if more > 0 else None
    return ResultTable(Text(""), headings, tuple(rows), n_names=len(headings), caption=caption)


def warning_lines(sheet: CouponSheet) -> list[Text]:
    """Warnings of the plan and of its model, each once; those about what the study shows come first."""
    warnings = [each for each in (*sheet.notes, *sheet.warnings) if each.severity is Severity.WARNING]
    once = [each for number, each in enumerate(warnings) if each not in warnings[:number]]
    return [text_of(each) for each in sorted(once, key=lambda each: not each.code.startswith("evidence."))]


def _kept(sheet: CouponSheet) -> Text:
    kept = sheet.order.available - sheet.spend
    if sheet.rounds_left > 1:
        if not kept:
            return say("None is kept.")
        return say_n("{n:,} is kept.", "{n:,} are kept.", kept)
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
        lines.append(indented(line))
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
        lines.append(indented(line))
    if not lines:
        return []
    near = curve.index[curve.to_numpy() >= (1.0 - _FLAT) * optimal]
    flat = say("Every other number loses more than 1%.")
    if len(near) > 1:
        flat = say("Anything from {low:,} to {high:,} loses less than 1%.", low=int(near.min()), high=int(near.max()))
    return [say("Other numbers of coupons this round:"), *lines, indented(flat)]


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
