"""Why each person gets their number of coupons, in a sentence or two."""

from peerfront.foundation.messages import Message
from peerfront.study.reasons import Draw, Limit, Reason, ReasonCode
from peerfront.words.language import Text, joined, n_coupons, ordinal, percent, say, say_n
from peerfront.words.messages import text_of


def short_reason(reason: Reason) -> Text:
    """Why somebody gets this number of coupons, in a few words."""
    if reason.code is ReasonCode.NOTHING:
        return text_of(Message(reason.because))
    plain = {
        ReasonCode.STRATUM: joined([reason.stratum]),
        ReasonCode.STRATUM_LOT: say("{stratum}; by lot", stratum=reason.stratum),
        ReasonCode.STRATUM_CHANCES: say("{stratum}; at random", stratum=reason.stratum),
        ReasonCode.RANDOM: say("at random"),
        ReasonCode.USUAL: say("the usual number"),
        ReasonCode.SAME_FOR_ALL: say("as for everybody"),
        ReasonCode.SAME_FOR_ALL_LOT: say("as for everybody; by lot"),
        ReasonCode.NO_MORE_FREE: say("no more are free"),
        ReasonCode.AS_LIKELY: say("as likely as others"),
        ReasonCode.MORE_LIKELY: say("more likely"),
        ReasonCode.LESS_LIKELY: say("less likely"),
        ReasonCode.ALONE: Text(""),
    }
    why = plain[reason.code]
    if reason.is_minimum:
        why = say("everybody gets as many")
    elif reason.field is not None:
        why = say("{why}: {field} {category}", why=why, field=reason.field, category=reason.category)
    drawn = {Draw.LOT: say("by lot"), Draw.TO_LEARN: say("at random"), None: None}[reason.draw]
    return joined([why, drawn], "; ")


def reason_text(reason: Reason) -> Text:
    """Why somebody gets this number of coupons, in a sentence or two."""
    rule = _rule(reason)
    if rule:
        return joined([rule, _fewer_free(reason)])
    return joined([_likely(reason), _minimum(reason), _no_more(reason), _drawn(reason), _beyond(reason)])


_BY_LOT = {ReasonCode.STRATUM_LOT, ReasonCode.STRATUM_CHANCES, ReasonCode.RANDOM, ReasonCode.SAME_FOR_ALL_LOT}


def spoken_reason(reason: Reason, *, last: bool = False) -> Text:
    """A sentence about the number that can be said to the person, and does not judge them.

    `last` says that no other round follows.
    """
    if reason.code is ReasonCode.NOTHING:
        return say("No coupon: {why}.", why=Message(reason.because))
    if reason.code is ReasonCode.NO_MORE_FREE:
        return say("No more coupons are free.")
    if reason.coupons == 0 and not last:
        return say("None this time. Who gets none stays on the list for the next round.")
    if reason.draw is not None or reason.code in _BY_LOT:
        return say("Drawn by lot.")
    if reason.code in (ReasonCode.USUAL, ReasonCode.SAME_FOR_ALL):
        return say("The same number as for everybody.")
    return say("As planned for this round.")


def _rule(reason: Reason) -> Text:
    """The reason if a rule for many people decides; empty if this person's own chance does."""
    stratum, coupons = reason.stratum, n_coupons(reason.coupons)
    match reason.code:
        case ReasonCode.STRATUM:
            return say("Everybody in {stratum} gets {coupons}.", stratum=stratum, coupons=coupons)
        case ReasonCode.STRATUM_LOT:
            return say("Drawn by lot among the people of {stratum}, all with the same chance.", stratum=stratum)
        case ReasonCode.STRATUM_CHANCES:
            return say(
                "Drawn with the chances of everybody in {stratum}: {chance} for {coupons}.",
                stratum=stratum, chance=percent(reason.chance or 0.0), coupons=coupons,
            )  # fmt: skip
        case ReasonCode.RANDOM:
            return say("Drawn at random, so that estimates from the study stay possible.")
        case ReasonCode.USUAL:
            usual = say("{coupons}: everybody gets the usual number while coupons last.", coupons=coupons)
            return joined([usual, _drawn(reason)])
        case ReasonCode.SAME_FOR_ALL:
            return say("{coupons}, as for everybody: the study is too small to tell people apart.", coupons=coupons)
        case ReasonCode.SAME_FOR_ALL_LOT:
            return say_n(
                "{coupons}, drawn by lot with {n} other: the study is too small to tell people apart.",
                "{coupons}, drawn by lot with {n:,} others: the study is too small to tell people apart.",
                reason.tied_with,
                coupons=coupons,
            )
        case ReasonCode.NO_MORE_FREE:
            return say("{coupons}: no more are free.", coupons=coupons)
        case ReasonCode.NOTHING:
            return say("No coupon: {why}.", why=Message(reason.because))
    return Text("")


def _fewer_free(reason: Reason) -> Text:
    return say("Fewer coupons are free than the plan could give.") if reason.fewer_free else Text("")


def _likely(reason: Reason) -> Text:
    values = {"chance": percent(reason.chance or 0.0), "field": reason.field, "category": reason.category}
    match reason.code, reason.field is not None:
        case ReasonCode.MORE_LIKELY, True:
            return say(
                "More likely than most here to bring somebody ({chance} with one coupon), mainly because {field} is "
                "{category!r}.",
                **values,
            )
        case ReasonCode.MORE_LIKELY, False:
            return say("More likely than most here to bring somebody ({chance} with one coupon).", **values)
        case ReasonCode.LESS_LIKELY, True:
            return say(
                "Less likely than most here to bring somebody ({chance} with one coupon), mainly because {field} is "
                "{category!r}.",
                **values,
            )
        case ReasonCode.LESS_LIKELY, False:
            return say("Less likely than most here to bring somebody ({chance} with one coupon).", **values)
        case ReasonCode.AS_LIKELY, _:
            return say("About as likely as others here to bring somebody ({chance} with one coupon).", **values)
    return say("{chance} likely to bring somebody with one coupon.", **values)


def _minimum(reason: Reason) -> Text:
    if not reason.is_minimum:
        return Text("")
    return say_n(
        "Gets the {n} coupon that everybody gets.", "Gets the {n} coupons that everybody gets.", reason.coupons
    )


def _no_more(reason: Reason) -> Text:
    """Why this person gets no more."""
    values = {"number": ordinal(reason.coupons + 1), "gain": reason.next_gain, "weakest": reason.weakest}
    match reason.limit, reason.weakest is not None:
        case Limit.PERSON, _:
            return say_n("Gets the one coupon a person may have.", "Gets all {n} a person may have.", reason.coupons)
        case Limit.LATER, _:
            return say(
                "A {number} coupon would bring {gain:.2f} recruits in all; kept for a later round it brings more.",
                **values,
            )
        case Limit.ROUND, True:
            return say(
                "A {number} coupon would bring {gain:.2f} recruits in all; the round's limit is reached, and those "
                "given out bring {weakest:.2f} or more each.",
                **values,
            )
        case Limit.ROUND, False:
            return say(
                "A {number} coupon would bring {gain:.2f} recruits in all; the round's limit is reached.", **values
            )
        case Limit.BUDGET, True:
            return say(
                "A {number} coupon would bring {gain:.2f} recruits in all; no coupons are left, and those given out "
                "bring {weakest:.2f} or more each.",
                **values,
            )
        case Limit.BUDGET, False:
            return say("A {number} coupon would bring {gain:.2f} recruits in all; no coupons are left.", **values)
        case Limit.NO_GAIN, _:
            return say("A {number} coupon would bring {gain:.2f} recruits in all.", **values)
    return Text("")


def _drawn(reason: Reason) -> Text:
    if reason.draw is Draw.LOT:
        return say_n("Tied with {n} other; drawn by lot.", "Tied with {n:,} others; drawn by lot.", reason.tied_with)
    if reason.draw is Draw.TO_LEARN:
        return say("The number was drawn at random, to find out what a coupon does.")
    return say("Somebody with the same answers gets more.") if reason.twin_has_more else Text("")


def _beyond(reason: Reason) -> Text:
    """A warning if somebody gets more coupons than the study has data about."""
    if reason.most_shown is None:
        return Text("")
    return say(
        "What coupons after the {number} do is extrapolated: hardly anybody has had more.",
        number=ordinal(reason.most_shown),
    )
