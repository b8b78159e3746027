"""A reproduction in words: what was reproduced, what was not, and why; and its tables in Markdown and LaTeX."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy.special import stdtrit

from peerfront.experiments.reproduction import PUBLISHED
from peerfront.experiments.reproduction_tables import (
    EPISODES,
    METHODS,
    METRICS,
    RECRUITS,
    REPRODUCED_WITHIN,
    REWARD,
    Difference,
    ReproductionFindings,
)
from peerfront.foundation.messages import Measured
from peerfront.words.comparison_words import in_latex, markdown_table
from peerfront.words.language import Text, joined, say

_PAPER_ERRORS = float(stdtrit(EPISODES - 1, 0.975))  # standard errors to either side of a 95% interval

# Questions and answers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """A question about the reproduction, and its answer."""

    question: Text
    answer: Text


def answers(findings: ReproductionFindings, discounts: Sequence[float]) -> list[Answer]:
    """What the reproduction shows, most important first."""
    listed = [_is_gfp_best(findings), _ordering(findings, discounts), _training(findings)]
    if findings.cells:
        listed.insert(0, _reproduced(findings))
    if findings.shares_of_bound:
        shares = [say("{share:.1%}", share=share) for share in findings.shares_of_bound]
        earned = say("Repaired GFP earns {shares} of an upper bound on every policy (by discount).", shares=shares)
        listed.append(Answer(say("How much better could any method be?"), earned))
    listed.append(_early_speed(findings, max(discounts)))
    return listed


def _reproduced(findings: ReproductionFindings) -> Answer:
    cells = say(
        "{near} of {cells} cells of Table 1 are within {errors:g} standard errors of ours (the spread between "
        "trainings included).",
        near=findings.near,
        cells=findings.cells,
        errors=REPRODUCED_WITHIN,
    )
    missed = [
        say(
            "{method}: {cells} cells are not, by up to {worst:.1f}. {why}",
            method=each.method,
            cells=each.cells,
            worst=each.worst,
            why=_why_different(each.method),
        )
        for each in findings.missed
    ]
    return Answer(say("Is Table 1 reproduced?"), joined([cells, *missed]))


def _why_different(method: str) -> Text:
    training = say("One training depends on its luck; the published one is one.")
    reasons = {
        "Random": say(
            "Its total depends on the draw of the oracle: a standard deviation of 3.8 recruits between draws."
        ),
        "Budget-DQN": training,
        "Factorized RL": training,
        "IID-Population DP": say(
            "The paper's row is above what the method earns with the true capacities; its twenty episodes were lucky, "
            "and our fits of its count model cost a point or two."
        ),
        "GFP, as published": say("A few studies in a hundred die early; twenty without one have a higher mean."),
    }
    return reasons[method]


def _is_gfp_best(findings: ReproductionFindings) -> Answer:
    behind = [f"{lead.discount:g}" for lead in findings.leads if lead.difference.mean <= 0]
    unsure = [f"{lead.discount:g}" for lead in findings.leads if not lead.difference.low > 0]
    if behind:
        verdict = say("Not at {discounts}.", discounts=behind)
    elif unsure:
        verdict = say("Yes, but at {discounts} within the noise.", discounts=unsure)
    else:
        verdict = say("Yes.")
    parts = [
        say(
            "{discount:g}: {difference} above {method}",
            discount=lead.discount,
            difference=_interval(lead.difference),
            method=METHODS[lead.rival].lower(),
        )
        for lead in findings.leads
    ]
    by_discount = say(
        "Paired differences of repaired GFP to the best other method, by discount: {differences}.",
        differences=joined(parts, "; "),
    )
    return Answer(say("Is GFP best at every discount?"), joined([verdict, by_discount]))


def _ordering(findings: ReproductionFindings, discounts: Sequence[float]) -> Answer:
    orders = findings.orders
    methods = " > ".join(METHODS[policy] for policy in orders[0])
    text = say("The paper's five methods: {methods} at every discount.", methods=methods)
    if any(order != orders[0] for order in orders):
        text = say(
            "The paper's five methods: {methods} at {discount:g}; it changes with the discount.",
            methods=methods,
            discount=discounts[0],
        )
    return Answer(say("Is the ordering of the methods stable?"), text)


def _training(findings: ReproductionFindings) -> Answer:
    text = say(
        "Above the untrained planner, by discount: to the letter {letter}; repaired {repaired}.",
        letter=[_interval(gain) for gain in findings.gains["gfp-paper"]],
        repaired=[_interval(gain) for gain in findings.gains["gfp"]],
    )
    return Answer(say("Does the value network's training matter?"), text)


def _early_speed(findings: ReproductionFindings, discount: float) -> Answer:
    (gfp_early, gfp_final), (dp_early, dp_final) = findings.speed["gfp"], findings.speed["population_dp"]
    text = say(
        "At discount {discount:g}, after four rounds GFP has {gfp_early:.0f} recruits and IID-Population DP "
        "{dp_early:.0f}; in the end {gfp_final:.0f} and {dp_final:.0f}.",
        discount=discount,
        gfp_early=gfp_early,
        dp_early=dp_early,
        gfp_final=gfp_final,
        dp_final=dp_final,
    )
    return Answer(say("Does early speed predict the final result?"), text)


def _interval(difference: Difference) -> str:
    ends = "" if math.isnan(difference.low) else f" [{difference.low:.1f}, {difference.high:.1f}]"
    return f"{difference.mean:+.1f}{ends}"


# Tables ----------------------------------------------------------------------------------------------------------

Line = tuple[str, list[object]]
"""What a line of a table is (paper, short, own, spread, far), and its cells."""


def blocks(table: pd.DataFrame) -> list[tuple[Text, list[Line]]]:
    """Title and rows of each world and metric: for each method the paper's number, ours, and the difference."""
    titles = {
        REWARD: lambda world: say("Discounted reward, {world} world", world=world),
        RECRUITS: lambda world: say("Recruits, {world} world", world=world),
    }
    return [
        (titles[metric](world), _lines(part))
        for world in table["world"].unique()
        for metric in METRICS
        if len(part := table[(table["world"] == world) & (table["metric"] == metric)])
    ]


def _lines(table: pd.DataFrame) -> list[Line]:
    lines: list[Line] = []
    for method, part in table.groupby("method", sort=False):
        cells = [row for _, row in part.iterrows()]
        in_paper = bool(part["paper"].notna().any())
        if in_paper:
            name = say("{method}: the paper", method=method)
            lines.append(
                ("paper", [name, *(_cell(Measured.of(c["paper"], c["paper_error"], _PAPER_ERRORS)) for c in cells)])
            )
            if (part["world"] == PUBLISHED).all():
                name = say("{method}: ours, {episodes} episodes", method=method, episodes=EPISODES)
                lines.append(("short", [name, *(_own(c, f"_{EPISODES}") for c in cells)]))
        lines.append(("own", [str(method), *(_own(c) for c in cells)]))
        if part["spread"].notna().any():
            name = say("standard deviation between {n} trainings", n=int(part["trainings"].max()))
            lines.append(("spread", [name, *("" if pd.isna(c["spread"]) else f"{c['spread']:.1f}" for c in cells)]))
        if in_paper:
            distances = [c["difference_in_errors"] for c in cells]
            distances = ["" if pd.isna(distance) else f"{distance:+.1f}" for distance in distances]
            lines.append(("far", [say("difference in standard errors"), *distances]))
    return lines


def _own(row: "pd.Series[Any]", which: str = "") -> str:
    return _cell(Measured(row[f"mean{which}"], row[f"high{which}"] - row[f"mean{which}"]))


def _cell(number: Measured) -> str:
    return "" if pd.isna(number.number) else f"{number:.1f}"


def what_intervals_are() -> Text:
    """What ± means in the tables."""
    return say(
        "“±” is a 95% interval: over episodes where there is one draw, between draws or trainings where there are "
        "several. The paper's are made from its standard errors over {episodes} episodes of one draw.",
        episodes=EPISODES,
    )


def markdown_text(table: pd.DataFrame, discounts: Sequence[float], listed: list[Answer]) -> str:
    """Answers and tables in Markdown."""
    lines = [f"# {say('Generative Frontier Planning, reproduced')}", ""]
    lines += [f"- **{each.question}** {each.answer}" for each in listed]
    lines += ["", str(what_intervals_are())]
    header = ["", *(f"{discount:g}" for discount in discounts)]
    for title, block in blocks(table):
        lines += ["", f"## {title}", "", markdown_table(header, [cells for _, cells in block])]
    return "\n".join(lines) + "\n"


def latex_table(table: pd.DataFrame, discounts: Sequence[float]) -> str:
    """The tables in LaTeX (booktabs)."""
    text = [
        f"% {what_intervals_are()}",
        r"\begin{tabular}{l" + "r" * len(discounts) + "}",
        r"\toprule",
        " & ".join(["", *(f"$\\gamma = {discount:g}$" for discount in discounts)]) + r" \\",
    ]
    for title, lines in blocks(table):
        text += [r"\midrule", rf"\multicolumn{{{len(discounts) + 1}}}{{l}}{{\emph{{{in_latex(str(title))}}}}} \\"]
        text += [" & ".join(in_latex(str(cell)) for cell in cells) + r" \\" for _, cells in lines]
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"
