"""A coupon sheet in sentences: how many now, what else could be done, how good it is."""

import math
from typing import TYPE_CHECKING

from peerfront.advice.words import counted, n_coupons, n_people, percent

if TYPE_CHECKING:
    from peerfront.advice.sheet import CouponSheet

_FLAT = 0.01  # spends that lose less than this are as good
_SAME = 0.005  # recruits


def sheet_lines(sheet: "CouponSheet") -> list[str]:
    """What a coordinator reads below the table."""
    if sheet.certificate is None:
        return list(sheet.notes)
    return [*_total(sheet), *_alternatives(sheet), *_how_good(sheet), *sheet.notes]


def _total(sheet: "CouponSheet") -> list[str]:
    order, getting = sheet.order, int((sheet.table["coupons"] > 0).sum())
    given = f"Give out {n_coupons(sheet.spend)} to {getting:,} of {n_people(len(sheet.table))}"
    reserve = f", and {order.reserve} stay in reserve" if order.reserve else ""
    now = float(sheet.table["expected_now"].sum())
    return [
        f"{given}; {_rest(sheet)}{reserve}.",
        f"Expected from this round: {now:.1f} recruits.{_in_all(sheet)} All of this is by the model.",
    ]


def _rest(sheet: "CouponSheet") -> str:
    kept = sheet.order.available - sheet.spend
    if sheet.rounds_left == 1:
        return "this is the last round" + (f", and {n_coupons(kept)} cannot be used within the limits" if kept else "")
    return f"{counted(kept, 'is', 'are')} kept for later rounds" if kept else "none is kept for later rounds"


def _in_all(sheet: "CouponSheet") -> str:
    if sheet.rounds_left == 1:
        return ""
    error = "" if sheet.expected_error is None else f" (+- {2 * sheet.expected_error:.1f} for chance in the simulation)"
    counts = "" if sheet.discount == 1.0 else f", where a recruit a round later counts {sheet.discount:g} times as much"
    after = counted(sheet.rounds_left - 1, "round", "rounds")
    return f" With the {after} after it, {sheet.expected:.1f} in all{error}{counts}."


def _alternatives(sheet: "CouponSheet") -> list[str]:
    curve = sheet.curve.set_index("spend")["value"]
    best = float(curve[sheet.spend])
    lowest, highest = int(curve.index.min()), int(curve.index.max())
    wanted = {
        "half": sheet.spend // 2,
        "a quarter fewer": round(0.75 * sheet.spend),
        "a quarter more": round(1.25 * sheet.spend),
        "all that may be given": highest,
    }
    lines, told = [], {sheet.spend}
    for name, spend in wanted.items():
        spend = min(max(spend, lowest), highest)
        if spend in told or spend not in curve.index:
            continue
        told.add(spend)
        lost = best - float(curve[spend])
        said = "as good" if lost < _SAME else f"{lost:.2f} recruits fewer in all ({percent(lost / max(best, 1e-9))})"
        lines.append(f"  {name}, {spend:,}: {said}")
    if not lines:
        return []
    near = curve.index[curve.to_numpy() >= (1.0 - _FLAT) * best]
    flat = (
        f"Anything from {int(near.min()):,} to {int(near.max()):,} loses less than {percent(_FLAT)}."
        if len(near) > 1
        else "Every other number loses more than 1%."
    )
    return ["Other numbers of coupons this round:", *lines, f"  {flat}"]


def _how_good(sheet: "CouponSheet") -> list[str]:
    certificate = sheet.certificate
    assert certificate is not None, "asked only where there is one"
    short = certificate.shortfall(sheet.expected)
    surety = {
        "exact": "proved for these models",
        "statistical": "proved for these models, up to chance in the sampling",
        "estimated": "an estimate, not a proof",
    }[certificate.proof]
    too_high = sheet.expected_error is None and sheet.expected > certificate.high
    close = (
        "The plan's own total lies above that, so it is too high"
        if too_high
        else "No plan can do better"
        if short < _SAME
        else f"So this plan is within {math.ceil(100 * short)}% of the best possible, perhaps much closer"
    )
    return [
        f"By the model, no plan whatever can expect more than {certificate.high:.1f} recruits "
        f"({certificate.explanation}; {surety}). {close}. This says nothing about errors of the model itself."
    ]
