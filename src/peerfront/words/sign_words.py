"""Why a study may slow down, in words: one line for each sign."""

from peerfront.study.signs import CarryingTree, Drift, Expiry, Pace, Reach, Sign
from peerfront.words.language import Text, joined, percent, say


def sign_line(sign: Sign) -> Text:
    """What a study shows about one reason."""
    match sign:
        case Drift():
            return _drift(sign)
        case Reach():
            return _reach(sign)
        case Pace():
            return _pace(sign)
        case CarryingTree():
            return _tree(sign)
        case Expiry():
            return say(
                "{soon:,} of {open:,} open coupons expire within two weeks; two weeks longer would bring about "
                "{recruits:.0f} more.",
                soon=sign.soon, open=sign.open, recruits=sign.recruits,
            )  # fmt: skip


def _drift(sign: Drift) -> Text:
    wave = say("a wave") if sign.days is None else say("a wave of {days:.0f} days", days=sign.days)
    if sign.high < 0.0:
        values = {"fall": -sign.change, "wave": wave, "low": -sign.high, "high": -sign.low}
        return say("Recruits per coupon fell by {fall:.0%} {wave} (80%: {low:.0%} to {high:.0%}).", **values)
    values = {"wave": wave, "low": sign.low, "high": sign.high}
    return say("Recruits per coupon do not clearly fall: {low:+.0%} to {high:+.0%} {wave} (80%).", **values)


def _reach(sign: Reach) -> Text:
    low, _, high = sign.share
    share = percent(low) if low == high else say("{low} to {high} (80%)", low=percent(low), high=percent(high))
    line = say("Of the people who can be reached, {share} took part.", share=share)
    if sign.matters:
        line = say("People may run out: {share} of those who can be reached took part.", share=share)
    if sign.nobody_left is None:
        return line
    none = percent(sign.nobody_left)
    return joined([line, say("Of the people waiting, {share} know nobody who is left.", share=none)])


def _pace(sign: Pace) -> Text:
    chance = percent(sign.chance)
    if sign.limit is None:
        return say("Interviews are hardly the limit (chance {chance}).", chance=chance)
    return say("Interviews look like the limit: {limit:.0f} a week (chance {chance}).", limit=sign.limit, chance=chance)


def _tree(sign: CarryingTree) -> Text:
    carries = say("Of the recruits expected next, {share} belong to one tree.", share=percent(sign.share))
    if sign.share_of_last is None:
        return carries
    return joined([carries, say("It brought {share} of the latest ones.", share=percent(sign.share_of_last))])
