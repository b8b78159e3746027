"""A sheet by groups, as a coordinator thinks of it: how many people get how many coupons, and what they share."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.study.reasons import Reason, ReasonCode

_MOST = 0.6  # share of a group who have the answers that are named
_TIMES = 2.0  # an answer is named if it is this many times as frequent as among people who get fewer

Answer = tuple[str, str]


@dataclass(frozen=True)
class Group:
    """People who get the same number of coupons."""

    coupons: int
    people: int
    answers: tuple[Answer, ...] = ()
    """Field and category: at most two answers that set most of them apart from people who get fewer."""


def groups_of(table: pd.DataFrame) -> tuple[Group, ...]:
    """The groups of a sheet's table, the most coupons first."""
    numbers, reasons = table["coupons"].to_numpy(), table["reason"].to_numpy()
    groups = []
    for coupons in np.unique(numbers)[::-1].tolist():
        own = numbers == coupons
        answers = _telling(reasons[own], reasons[numbers < coupons]) if coupons and own.sum() > 1 else ()
        groups.append(Group(coupons, int(own.sum()), answers))
    return tuple(groups)


def _telling(own: Sequence[Reason], fewer: Sequence[Reason]) -> tuple[Answer, ...]:
    """One or two answers that most of these people have, and far fewer of those who get fewer coupons."""
    often, others = _answers(own), _answers(fewer)
    rare = [each for each, n in often.most_common() if n * len(fewer) > _TIMES * others[each] * len(own)]
    for named in (rare[:1], rare[:2]):
        if sum(often[each] for each in named) >= _MOST * len(own):
            return tuple(named)
    return ()


def _answers(reasons: Sequence[Reason]) -> Counter[Answer]:
    """How often each answer is why somebody is more likely than most to bring others."""
    likely = [each for each in reasons if each.code is ReasonCode.MORE_LIKELY]
    return Counter((each.field, each.category) for each in likely if each.field and each.category)
