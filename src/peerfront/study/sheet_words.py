"""A coupon sheet in words: what to give out, what comes of it by each story of what a coupon does, how good it is."""

import math
from typing import TYPE_CHECKING

from peerfront.bounds.certificate import Certificate
from peerfront.foundation.words import counted, n_coupons, n_people, percent
from peerfront.study.stories import AVERAGE, CAUTIOUS, IN_WORDS, StoryResult

if TYPE_CHECKING:
    from peerfront.study.sheet import CouponSheet

_AS_GOOD = 0.005  # recruits, or a share of the best possible: a smaller loss is called none
_FLAT = 0.01  # share of the value: spends that lose less lie on the flat part of the curve
_APART = 0.02  # share of the recruits by which stories must differ before totals are told as a range


def lines_of(sheet: "CouponSheet") -> list[str]:
    """What a coordinator reads below the table, one statement a line."""
    if sheet.certificate is None:
        return list(sheet.notes)
    return [*_total(sheet), *_by_story(sheet), *_alternatives(sheet), *_how_good(sheet), *sheet.notes]


def promises_of(sheet: "CouponSheet") -> list[str]:
    """What comes of the plan by each story, and how good that is: sentences without counts of people."""
    return [] if sheet.certificate is None else [*_by_story(sheet), *_how_good(sheet)]


def _total(sheet: "CouponSheet") -> list[str]:
    order, getting = sheet.order, int((sheet.table["coupons"] > 0).sum())
    given = f"Give out {n_coupons(sheet.spend)} to {getting:,} of {n_people(len(sheet.table))}"
    reserve = f", and {order.reserve} stay in reserve" if order.reserve else ""
    return [
        f"{given}; {_rest(sheet)}{reserve}.",
        *_believed(sheet),
        f"Expected from this round: {_now(sheet)} recruits.{_in_all(sheet)} All of this is by the model.",
    ]


def _believed(sheet: "CouponSheet") -> list[str]:
    """Say what the plan was told to believe, if it was."""
    if sheet.order.response == AVERAGE:
        return []
    if sheet.order.response == CAUTIOUS:
        return ["Planned cautiously, as asked: the smallest loss if the wrong story is true."]
    return [f"Planned as asked for one story only: that {IN_WORDS[sheet.order.response]}."]


def _now(sheet: "CouponSheet") -> str:
    each = [story.now for story in sheet.by_story]
    if not each:
        return f"{float(sheet.table['expected_now'].sum()):.1f}"
    if max(each) - min(each) > max(_APART * max(each), 0.05):
        return f"between {min(each):.1f} and {max(each):.1f}"
    return f"{sum(story.weight * story.now for story in sheet.by_story):.1f}"


def _rest(sheet: "CouponSheet") -> str:
    kept = sheet.order.available - sheet.spend
    if sheet.rounds_left == 1:
        return "this is the last round" + (f", and {n_coupons(kept)} cannot be used within the limits" if kept else "")
    return f"{counted(kept, 'is', 'are')} kept for later rounds" if kept else "none is kept for later rounds"


def _in_all(sheet: "CouponSheet") -> str:
    if sheet.rounds_left == 1 and len(sheet.by_story) < 2:
        return ""
    error = "" if sheet.expected_error is None else f" (+- {2 * sheet.expected_error:.1f} for chance in the simulation)"
    counts = "" if sheet.discount == 1.0 else f", where a recruit a round later counts {sheet.discount:g} times as much"
    after = f" With the {counted(sheet.rounds_left - 1, 'round', 'rounds')} after it" if sheet.rounds_left > 1 else ""
    if not _stories_differ(sheet.by_story):
        return f"{after}, {sheet.expected:.1f} in all{error}{counts}." if after else ""
    low, high = (extreme(each.expected for each in sheet.by_story) for extreme in (min, max))
    lead = f"{after}," if after else " That is"
    return f"{lead} between {low:.1f} and {high:.1f} in all, by what a coupon does{counts}."


def _stories_differ(stories: tuple[StoryResult, ...]) -> bool:
    """Whether the stories expect clearly different numbers of recruits: by more than chance, and more than a little."""
    if len(stories) < 2:
        return False
    expected = [each.expected for each in stories]
    chance = 2.0 * max(each.error for each in stories)
    return max(expected) - min(expected) > max(chance, _APART * max(expected))


def _by_story(sheet: "CouponSheet") -> list[str]:
    """What comes by each story, and what planning with it known would add."""
    if len(sheet.by_story) < 2:
        return []
    lines = ["What a coupon does cannot be told from this study alone. Recruits expected in all:"]
    for each in sheet.by_story:
        more = (
            "knowing it would not help"
            if each.regret <= max(2 * each.regret_error, _AS_GOOD)
            else f"knowing it would add {each.regret:.1f}"
        )
        error = f" +- {2 * each.error:.1f}" if each.error else ""
        lines.append(f"  {each.expected:.1f}{error} if {IN_WORDS[each.name]} (weight {percent(each.weight)}; {more})")
    return lines


def _alternatives(sheet: "CouponSheet") -> list[str]:
    curve = sheet.curve.set_index("spend")["value"]
    best = float(curve[sheet.spend])
    optimal = best if sheet.order.spend is None else float(curve.max())
    lowest, highest = int(curve.index.min()), int(curve.index.max())
    alternatives = {
        "half": sheet.spend // 2,
        "a quarter fewer": round(0.75 * sheet.spend),
        "a quarter more": round(1.25 * sheet.spend),
        "all that may be given": highest,
    }
    if sheet.order.spend is not None:
        alternatives = {"the best": int(curve.index[int(curve.to_numpy().argmax())]), **alternatives}
    lines, listed = [], {sheet.spend}
    for name, spend in alternatives.items():
        spend = min(max(spend, lowest), highest)
        if spend in listed or spend not in curve.index:
            continue
        listed.add(spend)
        lost = best - float(curve[spend])
        share = percent(abs(lost) / max(best, 1e-9))
        more_or_fewer = f"{abs(lost):.2f} recruits {'fewer' if lost > 0 else 'more'} in all ({share})"
        loss = "as good" if lost < _AS_GOOD and (sheet.order.spend is None or lost > -_AS_GOOD) else more_or_fewer
        lines.append(f"  {name}, {spend:,}: {loss}")
    if not lines:
        return []
    near = curve.index[curve.to_numpy() >= (1.0 - _FLAT) * optimal]
    flat = (
        f"Anything from {int(near.min()):,} to {int(near.max()):,} loses less than {percent(_FLAT)}."
        if len(near) > 1
        else "Every other number loses more than 1%."
    )
    return ["Other numbers of coupons this round:", *lines, f"  {flat}"]


def _how_good(sheet: "CouponSheet") -> list[str]:
    by_price = (
        []
        if sheet.gap is None
        else [
            f"Planned by a common price of a coupon, because the file is large: at most {_share_of_percent(sheet.gap)} "
            "below the best plan by the same value."
        ]
    )
    expected = {each.name: each.expected for each in sheet.by_story}
    lines = [
        _bound_line(
            sheet, certificate, expected.get(name, sheet.expected), name if len(sheet.certificates) > 1 else None
        )
        for name, certificate in sheet.certificates.items()
    ]
    return [*by_price, *lines, "Bounds hold by the model; they say nothing about errors of the model itself."]


def _bound_line(sheet: "CouponSheet", certificate: Certificate, expected: float, story: str | None) -> str:
    short = certificate.shortfall(expected)
    surety = {
        "exact": "proved for these models",
        "statistical": "proved for these models, up to chance in the sampling",
        "estimated": "an estimate, not a proof",
    }[certificate.proof]
    too_high = sheet.expected_error is None and expected > certificate.high
    close = (
        "The plan's own total lies above that, so it is too high"
        if too_high
        else "No plan can do better"
        if short < _AS_GOOD
        else f"So this plan is within {math.ceil(100 * short)}% of the best possible, perhaps much closer"
    )
    condition = "By the model, no" if story is None else f"If {IN_WORDS[story]}, no"
    return (
        f"{condition} plan whatever can expect more than {certificate.high:.1f} recruits "
        f"({certificate.explanation}; {surety}). {close}."
    )


def _share_of_percent(share: float) -> str:
    """A small share, rounded up: .000312 is .04%."""
    return f"{math.ceil(1e4 * share) / 100:.2f}%"
