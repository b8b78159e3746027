"""What a paper must report about planned coupon numbers: the relevant points of STROBE-RDS, in our own words.

STROBE-RDS (White et al., 2015, Journal of Clinical Epidemiology 68:1463-1471) asks studies that sample by referral to
report, among other things, seeds, coupons, eligibility, incentives and whatever was changed while data were collected.
Coupon numbers that follow a plan are such a change. Each point says who decides it, what this program knows about it,
and a text to start from; [square brackets] are for the study to fill in.
"""

from dataclasses import dataclass

import peerfront
from peerfront.data.read.read_settings import APP, COUPONS, RDSAT
from peerfront.study.published_counts import HIDDEN
from peerfront.study.report import StudyReport
from peerfront.words.language import Text, joined, say

GUIDELINE = "STROBE-RDS (White et al., 2015)"


@dataclass(frozen=True)
class Disclosure:
    """One point to report."""

    topic: Text
    decided_by: Text
    basis: Text
    """What this program knows about it."""
    draft: Text
    """A text to start from."""


def disclosures(report: StudyReport) -> list[Disclosure]:
    """The points, in the order of a methods section; numbers as the page may publish them."""
    study, rules, facts = report.study, report.rules, report.counts.facts
    tool, the_study, both = say("peerfront"), say("the study"), say("both")
    seeds = say("[number]") if facts["seeds"] == HIDDEN else facts["seeds"]
    issued = sorted(count for count in report.summary.coupons_per_person if count)
    numbers = _range(issued)
    most = rules.max_per_person
    per_person = say("as many as the plan gave") if most is None else say("at most {most:,}", most=most)
    used = list(report.schema.schema.names)
    tracked = {
        COUPONS: say("by coupon codes"),
        RDSAT: say("by coupon codes"),
        APP: say("by the survey app's codes"),
    }.get(study.format, say("by the recruiter's id"))
    return [
        Disclosure(
            say("Seeds: how many, how they were found, and any that were added later"),
            the_study,
            say("{seeds} seeds in the file; chains reach wave {wave:,}.", seeds=seeds, wave=report.summary.waves),
            say(
                "Recruitment began with {seeds} seeds, chosen by [how]. [No / N] further seeds were added on [dates] "
                "because [reason].",
                seeds=seeds,
            ),
        ),
        Disclosure(
            say("Eligibility, of seeds and of recruits"),
            the_study,
            say("Nothing. The program takes everybody in the file as eligible."),
            say("Eligible were [criteria]; [the same held for recruits]. Eligibility was checked by [how]."),
        ),
        Disclosure(
            say("Coupons: number per person, kind, and how long they were valid"),
            both,
            _coupons_issued(report, numbers),
            say(
                "Participants received {numbers} [paper / electronic] coupons each, valid for [days].", numbers=numbers
            ),
        ),
        Disclosure(
            say("Changes of coupon numbers during the study"),
            tool,
            say(
                "From the date of the first plan on, coupon numbers differ between people and rounds ({most} a "
                "person).",
                most=per_person,
            ),
            say(
                "Until [date] every participant received [number] coupons. From then on the number varied between "
                "participants ({span}) and between rounds, as described below. Dates and numbers of every round are in "
                "[supplement].",
                span=say("from 0 on") if most is None else say("0 to {most:,}", most=most),
            ),
        ),
        Disclosure(say("How recruitment was adapted"), tool, *_adapted(report, per_person, used)),
        Disclosure(
            say("Incentives, for taking part and for recruiting"),
            the_study,
            say("Nothing. The plan takes incentives as they were when the data were collected."),
            say(
                "Participants received [amount] for taking part and [amount] for each recruit. Incentives [did not "
                "change]."
            ),
        ),
        Disclosure(
            say("How recruiter and recruit were linked, and how repeat participation was prevented"),
            the_study,
            joined(
                [
                    say("Links were read {how}.", how=tracked),
                    say("Problems were found in the file, and are listed above.")
                    if study.problems
                    else say("No problem was found."),
                ]
            ),
            say("Recruits were linked to recruiters {how}. Repeat participation was detected by [how].", how=tracked),
        ),
        Disclosure(
            say("The question about network size"),
            the_study,
            say("Not in the file.")
            if study.network_column is None
            else say("Column {column!r}.", column=study.network_column),
            say("Network size was asked as: [wording]."),
        ),
        Disclosure(
            say("The analysis, given that coupons were not the same for everybody"),
            the_study,
            say(
                "The program makes no population estimates. Estimators for referral samples mostly assume that coupon "
                "numbers do not depend on what is measured; here they depend on the fields named above."
            ),
            say(
                "Coupon numbers depended on [fields], so that inclusion chances did too. We [used / compared] "
                "estimators [names] and report [analyses restricted to the time before adaptation, or weighted by "
                "coupons]."
            ),
        ),
    ]


def _coupons_issued(report: StudyReport, numbers: Text) -> Text:
    facts = report.counts.facts
    given = (
        say("{numbers} coupons per person", numbers=numbers)
        if facts["coupons issued"] == HIDDEN
        else say("{coupons} coupons issued, {numbers} per person", coupons=facts["coupons issued"], numbers=numbers)
    )
    return say(
        "{given}; {back} came back. Kind and validity are not in the file.",
        given=given,
        back=facts["coupons redeemed"],
    )


def _adapted(report: StudyReport, per_person: Text, used: list[str]) -> tuple[Text, Text]:
    """What was adapted and by what, and a text about it."""
    rules, fit, left_out = report.rules, report.fit, report.schema.left_out
    limits = {"budget": rules.budget, "rounds": rules.rounds, "most": per_person}
    basis = [
        say("Budget {budget:,}, {rounds:,} rounds, {most} a person.", **limits)
        if rules.max_per_round is None
        else say(
            "Budget {budget:,}, {rounds:,} rounds, {most} a person, at most {cap:,} a round.",
            **limits,
            cap=rules.max_per_round,
        ),
        say("Columns that distinguish people: {fields}.", fields=used),
        say("Left out on purpose: {fields}.", fields=list(left_out)) if left_out else "",
    ]
    worth = (
        say("as much as")
        if fit.discount == 1.0
        else say("{discount:g} times as much, round by round, as", discount=fit.discount)
    )
    draft = say(
        "Coupons were allotted with peerfront {version}, which plans for many expected recruits under a budget of "
        "{budget:,} coupons and a horizon of {rounds:,} rounds; a later recruit counted {worth} an earlier one. From "
        "the study's own earlier recruitment it estimated how many people somebody recruits and what recruits are "
        "like, given {fields}, and gave each round's coupons where they were expected to bring the most recruits, then "
        "and later. Staff [followed the plan / changed it in N cases]. The model was fitted to data with fingerprint "
        "{fingerprint}.",
        version=peerfront.__version__,
        budget=rules.budget,
        rounds=rules.rounds,
        worth=worth,
        fields=used,
        fingerprint=fit.data_fingerprint[:16] or say("[none]"),
    )
    return joined(basis), draft


def _range(issued: list[int]) -> Text:
    if not issued:
        return say("{n}", n=0)
    if len(issued) == 1:
        return say("{n}", n=issued[0])
    return say("{low} to {high}", low=issued[0], high=issued[-1])
