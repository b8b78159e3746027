"""What a paper has to say about recruitment that was steered: the relevant points of STROBE-RDS, in our own words.

STROBE-RDS (White et al., 2015, Journal of Clinical Epidemiology 68:1463-1471) asks studies that sample by referral to
report, among other things, seeds, coupons, eligibility, incentives and whatever was changed while data were collected.
Coupon numbers that follow a plan are such a change. Each point says who decides it, what this program knows about it,
and a text to start from; [square brackets] are for the study to fill in.
"""

from dataclasses import dataclass

import peerfront
from peerfront.data.read_settings import APP, COUPONS, RDSAT
from peerfront.data.study import Study, Summary
from peerfront.data.study_schema import StudySchema
from peerfront.problem import Rules
from peerfront.study.artifacts import Fit
from peerfront.study.published_counts import HIDDEN, PublishedStudy

GUIDELINE = "STROBE-RDS (White et al., 2015)"
THE_TOOL, THE_STUDY, BOTH = "peerfront", "the study", "both"


@dataclass(frozen=True)
class Disclosure:
    """One point to report."""

    topic: str
    decided_by: str
    known: str
    text: str


def disclosures(
    fit: Fit, study: Study, summary: Summary, counts: PublishedStudy, schema: StudySchema, rules: Rules
) -> list[Disclosure]:
    """The points, in the order in which a methods section tells them; numbers as the page may tell them."""
    facts = counts.facts
    seeds = "[number]" if facts["seeds"] == HIDDEN else facts["seeds"]
    issued = sorted(count for count in summary.coupons_per_person if count)
    numbers = _range(issued)
    given = (
        f"{facts['coupons issued']} coupons issued, {numbers} per person"
        if facts["coupons issued"] != HIDDEN
        else f"{numbers} coupons per person"
    )
    most = "as many as the plan gave" if rules.max_per_person is None else f"at most {rules.max_per_person}"
    span = "from 0 on" if rules.max_per_person is None else f"0 to {rules.max_per_person}"
    used = ", ".join(schema.schema.names)
    excluded = f" Left out on purpose: {', '.join(schema.left_out)}." if schema.left_out else ""
    links = {COUPONS: "by coupon codes", RDSAT: "by coupon codes", APP: "by the survey app's codes"}
    tracked = links.get(study.format, "by the recruiter's id")
    late = "as much as" if fit.discount == 1.0 else f"{fit.discount:g} times as much, round by round, as"
    return [
        Disclosure(
            "Seeds: how many, how they were found, and any that were added later",
            THE_STUDY,
            f"{seeds} seeds in the file; chains reach wave {summary.waves:,}.",
            f"Recruitment began with {seeds} seeds, chosen by [how]. [No / N] further seeds were added on "
            "[dates] because [reason].",
        ),
        Disclosure(
            "Eligibility, of seeds and of recruits",
            THE_STUDY,
            "Nothing. The program takes everybody in the file as eligible.",
            "Eligible were [criteria]; [the same held for recruits]. Eligibility was checked by [how].",
        ),
        Disclosure(
            "Coupons: number per person, kind, and how long they were valid",
            BOTH,
            f"{given}; {facts['coupons redeemed']} came back. Kind and validity are not in the file.",
            f"Participants received {numbers} [paper / electronic] coupons each, valid for [days].",
        ),
        Disclosure(
            "Changes of coupon numbers during the study",
            THE_TOOL,
            f"From the date of the first plan on, coupon numbers differ between people and rounds ({most} a person).",
            f"Until [date] every participant received [number] coupons. From then on the number varied between "
            f"participants ({span}) and between rounds, as described below. Dates and numbers of every round are in "
            "[supplement].",
        ),
        Disclosure(
            "How recruitment was adapted",
            THE_TOOL,
            f"Budget {rules.budget:,}, {rules.rounds:,} rounds, {most} a person"
            + ("" if rules.max_per_round is None else f", at most {rules.max_per_round:,} a round")
            + f". People are told apart by: {used}.{excluded}",
            f"Coupons were allotted with peerfront {peerfront.__version__}, which plans for many expected recruits "
            f"under a budget of {rules.budget:,} coupons and a horizon of {rules.rounds:,} rounds; a later recruit "
            f"counted {late} an earlier one. From the study's own earlier recruitment it estimated how many people "
            f"somebody recruits and what recruits are like, given {used}, and gave each round's coupons where they "
            "were expected to bring the most recruits, then and later. Staff [followed the plan / changed it in N "
            f"cases]. The model was fitted to data with fingerprint {fit.data_fingerprint[:16] or '[none]'}.",
        ),
        Disclosure(
            "Incentives, for taking part and for recruiting",
            THE_STUDY,
            "Nothing. The plan takes incentives as they were when the data were collected.",
            "Participants received [amount] for taking part and [amount] for each recruit. Incentives [did not "
            "change].",
        ),
        Disclosure(
            "How recruiter and recruit were linked, and how repeat participation was prevented",
            THE_STUDY,
            f"Links were read {tracked}. "
            + ("Problems were found in the file, and are listed above." if study.problems else "No problem was found."),
            f"Recruits were linked to recruiters {tracked}. Repeat participation was detected by [how].",
        ),
        Disclosure(
            "The question about network size",
            THE_STUDY,
            "Not in the file." if study.network_column is None else f"Column {study.network_column!r}.",
            "Network size was asked as: [wording].",
        ),
        Disclosure(
            "The analysis, given that coupons were not the same for everybody",
            THE_STUDY,
            "The program makes no population estimates. Estimators for referral samples mostly assume that coupon "
            "numbers do not depend on what is measured; here they depend on the fields named above.",
            "Coupon numbers depended on [fields], so that inclusion chances did too. We [used / compared] estimators "
            "[names] and report [analyses restricted to the time before adaptation, or weighted by coupons].",
        ),
    ]


def _range(issued: list[int]) -> str:
    if not issued:
        return "0"
    return str(issued[0]) if len(issued) == 1 else f"{issued[0]} to {issued[-1]}"
