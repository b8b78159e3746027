"""What to expect, in words: the band, the target, what the plan gains, what it rests on; and the tables."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from typing import Any

from peerfront.study.outlook import Outlook
from peerfront.study.rivals import Gain, Verdict
from peerfront.words.language import Text, in_digits, joined, n_coupons, n_people, percent, say, say_n
from peerfront.words.result_table import ResultTable
from peerfront.words.sign_words import sign_line
from peerfront.words.story_phrases import story_phrase

Row = Mapping[Hashable, Any]
_LONG_QUEUE = 0.5
_APART = 0.1  # parts of the belief are named if they differ by more than this share of the recruits


def outlook_lines(outlook: Outlook) -> list[object]:
    """What to expect, what could make it wrong, and what the plan gains."""
    lines = [expectation_line(outlook), *target_lines(outlook), *gain_lines(outlook), *doubt_lines(outlook)]
    return [*lines, *choice_lines(outlook), *dying_lines(outlook)]


def outlook_details(outlook: Outlook, shown: Sequence[object] | None = None) -> list[object]:
    """The state of the study, what slows it down, coupons, the queue, assumptions, and what the bands include.

    `shown` are lines about what could make it wrong that stand elsewhere; by default those of `outlook_lines`.
    """
    shown = doubt_lines(outlook) if shown is None else shown
    plan = outlook.of_plan
    used = say(
        "Of {coupons} left to give out {spent:.0f} are given and {kept:.0f} are not (averages).",
        coupons=n_coupons(outlook.budget),
        spent=plan["spent"],
        kept=plan["never_issued"],
    )
    dies_out = say(
        "Chance that the study stops by itself while coupons are left: {chance}.", chance=chance_text(plan["dies_out"])
    )
    said = dying_lines(outlook)
    return [
        _stands(outlook),
        *_target_days(outlook),
        *(line for line in (*sign_lines(outlook), *part_lines(outlook)) if line not in shown),
        used,
        *([] if said else [dies_out]),
        *_seeds_table(outlook),
        *_queue_lines(outlook),
        *outlook.notes,
        _caveat(outlook),
    ]


def expectation_line(outlook: Outlook) -> Text:
    """How many people come, with the band of 8 in 10 simulated studies."""
    values = {**band(outlook.of_plan), "until": horizon_text(outlook)}
    expected = say(
        "Expect {low:.0f} to {high:.0f} more people {until} (8 of 10 simulations), {recruits:.0f} on average.",
        **values,
    )
    from_open = [say("{n:.0f} with open coupons.", n=outlook.from_open)] if round(outlook.from_open) else []
    return joined([expected, *from_open, *_trust_lines(outlook)])


def _trust_lines(outlook: Outlook) -> list[Text]:
    """That forecasts of the study's past so far ahead missed, where they did."""
    trust = outlook.trust
    if trust is None or trust.relied_on:
        return []
    values = {"factor": trust.factor, "held": trust.held, "all": trust.forecasts}
    return [say("Not to be relied on: earlier ones so far ahead were off by a factor of {factor:.1f}.", **values)]


def horizon_text(outlook: Outlook) -> Text:
    """How far is looked ahead, as part of a sentence."""
    if outlook.horizon.until is not None:
        return say("by {day}", day=long_date(outlook.horizon.until))
    return say_n("in this round", "in {n:,} rounds", outlook.horizon.days)


def target_lines(outlook: Outlook) -> list[Text]:
    """The chance of the target, and its date if enough simulated studies reach it."""
    if outlook.target is None:
        return []
    plan, wanted = outlook.of_plan, outlook.still_wanted
    if not wanted:
        return [say("The target of {target:,} is reached already.", target=outlook.target)]
    if wanted > outlook.budget + outlook.in_hand:
        far = {"target": outlook.target, "wanted": wanted, "coupons": n_coupons(outlook.budget + outlook.in_hand)}
        return [say("The target of {target:,} ({wanted:,} to come) is out of reach: {coupons} bring no more.", **far)]
    values = {"target": outlook.target, "wanted": wanted, "chance": chance_text(float(plan["reaches_target"]))}
    if not (middle := str(plan["target_date"])):
        return [say("Target {target:,} ({wanted:,} to come): chance {chance}.", **values)]
    return [
        say("Target {target:,} ({wanted:,} to come): chance {chance}, about {day}.", **values, day=_iso_date(middle))
    ]


def _target_days(outlook: Outlook) -> list[Text]:
    """When half of the simulated studies reach the target."""
    early, late = (str(outlook.of_plan[name]) for name in ("target_p25", "target_p75"))
    if not outlook.still_wanted or not early:
        return []
    last = _iso_date(late) if late else say("a day after the last")
    return [
        say(
            "Half of the simulated studies reach the target between {early} and {late}.",
            early=_iso_date(early),
            late=last,
        )
    ]


def gain_lines(outlook: Outlook) -> list[Text]:
    """What the plan gains against the best simple rule, and against what the study has done so far."""
    return [gain_line(gain) for gain in outlook.gains.shown]


def gain_line(gain: Gain) -> Text:
    """What the plan gains against one rule, with its interval."""
    values = {"rule": gain.described, "recruits": gain.recruits, **vars(gain.lead)}
    if gain.verdict is Verdict.SAME:
        return say("{rule}: {recruits:.0f}, about the same as the plan.", **values)
    return say("{rule}: {recruits:.0f}. The plan gains {mean:+.1f} (95%: {low:+.1f} to {high:+.1f}).", **values)


def doubt_lines(outlook: Outlook) -> list[Text]:
    """What could make it wrong, one line at most: a study that slows down, or parts of the belief that differ."""
    sign = None if outlook.signs is None else outlook.signs.strongest
    if sign is not None and sign.lost >= _apart(outlook) / 2:
        return [sign_line(sign)]
    return part_lines(outlook)


def sign_lines(outlook: Outlook) -> list[Text]:
    """Why the study may slow down, the most important reason first."""
    return [] if outlook.signs is None else [sign_line(sign) for sign in outlook.signs.each]


def _apart(outlook: Outlook) -> float:
    """How far the parts of the belief differ, as a share of the recruits; 0 where it makes no difference."""
    recruits = outlook.parts_of()["recruits"]
    apart = float(recruits.max() - recruits.min()) / max(float(outlook.of_plan["recruits"]), 1e-9)
    return apart if apart >= _APART else 0.0


def part_lines(outlook: Outlook) -> list[Text]:
    """What the plan brings if a part of the belief is true, where that makes a difference."""
    if not _apart(outlook):
        return []
    own = outlook.parts_of().to_dict("records")
    each = [say("{recruits:.0f} if {story}", recruits=row["recruits"], story=story_phrase(row["part"])) for row in own]
    return [say("This study cannot say yet what a coupon does: {each}.", each=joined(each, "; "))]


def choice_lines(outlook: Outlook) -> list[Text]:
    """What other plans would cost or bring: at least one coupon each, and a plan without limits."""
    return [_choice(gain) for gain in outlook.choices.each]


def _choice(gain: Gain) -> Text:
    values = {"plan": gain.described, "recruits": gain.recruits, "less": -gain.lead.mean}
    if gain.verdict is Verdict.SAME:
        return say("{plan}: about the same.", **values)
    return say("{plan}: {recruits:.0f} ({less:+.0f}).", **values)


def dying_lines(outlook: Outlook) -> list[Text]:
    """The chance that the study stops by itself, by when, and what new seeds make of it, where these bring people."""
    dying = outlook.dying_out
    best = None if dying is None else dying.enough or next(iter(dying.with_seeds[::-1]), None)
    if dying is None or best is None or round(best.recruits) < 1:  # or hardly any coupons are left
        return []
    until = say_n("in this round", "in {n:,} rounds", dying.steps)
    if dying.by is not None:
        until = say("by {day}", day=long_date(dying.by))
    values = {"seeds": best.seeds, "chance": percent(best.dies_out), "people": n_people(round(best.recruits))}
    return [
        joined(
            [
                say(
                    "Chance that the study stops by itself: {chance}, half of it {until}.",
                    chance=chance_text(dying.chance),
                    until=until,
                ),
                say("With {seeds:,} new seeds: {chance}, and {people} more.", **values),
            ]
        )
    ]


def _seeds_table(outlook: Outlook) -> list[Text]:
    dying = outlook.dying_out
    if dying is None or not dying.with_seeds:
        return []
    lines = [say("With new seeds, who get {coupons} each of those left (8 of 10):", coupons=n_coupons(dying.coupons))]
    for each in dying.with_seeds:
        values = {**vars(each), "chance": percent(each.dies_out)}
        lines.append(
            indented(say("{seeds:,} seeds: {chance}, {recruits:+.0f} people ({p10:+.0f} to {p90:+.0f})", **values))
        )
    return lines


def _stands(outlook: Outlook) -> Text:
    values = {
        "waiting": n_people(outlook.waiting), "left": n_coupons(outlook.budget), "open": n_coupons(outlook.in_hand),
    }  # fmt: skip
    if outlook.today is None:
        return say("{waiting} waiting for coupons, {left} left to give out; open coupons are not counted.", **values)
    return say(
        "On {today}: {waiting} waiting for coupons, {left} left to give out, {open} in people's hands.",
        today=long_date(outlook.today),
        **values,
    )


def _queue_lines(outlook: Outlook) -> list[Text]:
    limit = outlook.interviews_per_week
    if limit is None:
        return []
    own = outlook.steps_of().to_dict("records")
    longest = max(own, key=lambda row: float(row["queue"]))
    if longest["queue"] < _LONG_QUEUE:
        return [say("{limit:g} interviews a week are enough: hardly anybody waits for one.", limit=limit)]
    return [
        say(
            "With {limit:g} interviews a week people queue: about {longest:.0f} wait for theirs on {day}, and "
            "{at_end:.0f} at the end. Coupons that were presented in time count.",
            limit=limit,
            longest=longest["queue"],
            day=_iso_date(longest["until"]) if longest["until"] else longest["step"],
            at_end=own[-1]["queue"],
        )
    ]


def _caveat(outlook: Outlook) -> Text:
    """What the bands include and what they do not."""
    inside = say(
        "The bands include luck and what the data leave open, also how many people can be reached and interviewed. Not "
        "in them: people or staff who change."
    )
    if outlook.trust is None or outlook.trust.wider == 1.0:
        return inside
    wider = say("For what earlier forecasts missed they are {wider:.1f} times as wide.", wider=outlook.trust.wider)
    return joined([inside, wider])


# Tables --------------------------------------------------------------------------------------------------------------


_SHOWN = 0.05  # less is 0.0 in the table


def outlook_tables(outlook: Outlook) -> list[ResultTable]:
    """The tables that a terminal or a page shows: week by week or round by round, and the plan beside its rivals."""
    return [_steps_table(outlook), policies_table(outlook)]


def _steps_table(outlook: Outlook) -> ResultTable:
    queues = outlook.interviews_per_week is not None
    step, title = say("round"), say("The plan, round by round")
    if not outlook.by_rounds:
        step, title = say("until"), say("The plan, week by week")
    headings = (
        step, say("given"), say("recruits"), say("8 of 10"), say("in all"), say("8 of 10"), say("open"),
        *([say("queue")] if queues else []),
    )  # fmt: skip
    rows: list[tuple[str | Text, ...]] = []
    n_busy = 1
    for row in outlook.steps_of().to_dict("records"):
        if max(row["spent"], row["recruits"], row["p90"], row["queue"]) >= _SHOWN:
            n_busy = len(rows) + 1
        in_all, low, high = (outlook.already + row[name] for name in ("total", "total_p10", "total_p90"))
        cells = (
            str(row["until"] or row["step"]), in_digits(row["spent"], ".1f"), in_digits(row["recruits"], ".1f"),
            band_text(row["p10"], row["p90"]), in_digits(in_all, ".1f"), band_text(low, high),
            in_digits(row["open"], ".1f"),
        )  # fmt: skip
        rows.append((*cells, in_digits(row["queue"], ".1f")) if queues else cells)
    caption = say("given: coupons at the start; open: coupons at the end")
    if n_busy < len(rows):
        caption = say("given: coupons at the start; open: coupons at the end. Nobody is expected after the last line.")
    return ResultTable(title, headings, tuple(rows[:n_busy]), caption=caption)


def policies_table(outlook: Outlook) -> ResultTable:
    """The plan beside its rivals."""
    with_target = bool(outlook.still_wanted)
    leads = [gain.lead for gain in outlook.gains.each]
    gains = [Text(""), *(Text("{mean:+.1f} ({low:+.1f} - {high:+.1f})", vars(lead)) for lead in leads)]
    rows = tuple(
        (
            row["described"], in_digits(row["recruits"], ".1f"), band_text(row["p10"], row["p90"]),
            *([percent(row["reaches_target"])] if with_target else []), percent(row["dies_out"]), gain,
        )
        for row, gain in zip(outlook.summary.to_dict("records"), gains, strict=True)
    )  # fmt: skip
    headings = (
        say("rule"), say("recruits"), say("8 of 10"), *([say("target")] if with_target else []), say("dies out"),
        say("the plan's gain (95%)"),
    )  # fmt: skip
    return ResultTable(say("The plan and simple rules"), headings, rows)


# Small parts ---------------------------------------------------------------------------------------------------------


def band(row: Any) -> dict[str, Any]:
    """The mean of a rule and its 80% band, as values of a sentence."""
    return {"recruits": row["recruits"], "low": row["p10"], "high": row["p90"]}


def band_text(low: float, high: float) -> str:
    """A band in a table; a single number if both ends are shown alike."""
    ends = f"{low:.0f}", f"{high:.0f}"
    return ends[0] if ends[0] == ends[1] else " - ".join(ends)


def indented(text: Text) -> Text:
    """A line of a list."""
    return joined(["  ", text], "")


def chance_text(share: float) -> Text:
    """A chance in percent; none or all of the simulated studies are named as such, not as never or always."""
    return say("{share:.0%} of the simulated studies", share=share) if share in (0.0, 1.0) else percent(share)


def long_date(day: date) -> Text:
    """A date such as 5 March 2027."""
    months = (
        say("January"), say("February"), say("March"), say("April"), say("May"), say("June"),
        say("July"), say("August"), say("September"), say("October"), say("November"), say("December"),
    )  # fmt: skip
    return say("{day} {month} {year}", day=day.day, month=months[day.month - 1], year=day.year)


def _iso_date(text: str) -> Text:
    return long_date(date.fromisoformat(text))
