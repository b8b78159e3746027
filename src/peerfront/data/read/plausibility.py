"""Whether what was read can be a study: a file that was half read must not become a plan.

Too many people whose recruiter is unknown, seeds without end, or dates that are none are errors that say what probably
happened and what to do. `ReadSettings.read_anyway` makes warnings of them, for studies that are like that.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from peerfront.data.problems import Problem
from peerfront.data.read.coupon_codes import SEED, order_of_arrival, seed_marks
from peerfront.data.read.links import Links
from peerfront.data.read.listing import Listing
from peerfront.data.read.near_codes import folded, folded_name
from peerfront.data.read.read_settings import RECRUITER
from peerfront.foundation.messages import Lines, Message, Remedies, Remedy, note
from peerfront.foundation.recruitment_trees import NOBODY

_UNKNOWN = 0.1  # share of recruits whose recruiter may be unknown
_SEEDS = 0.5  # share of people who may be seeds though nothing marks them
_MISSPELT = 0.3  # share of them that look misspelt if that is the cause
_LOST = 0.5  # share of dates that may be unreadable
_FEWEST = 3  # people or dates; fewer are no reason to refuse a file
_PEOPLE = 30  # a smaller study may have any number of seeds
_MOST_CAUSES = 3


def half_read(listing: Listing, links: Links, problems: Sequence[Problem]) -> list[Problem]:
    """Find what cannot be right of the study as a whole, with likely causes."""
    kinds = Counter(problem.kind for problem in problems)
    recruit = ~links.seed
    orphan = recruit & (links.recruiter == NOBODY)
    marked = seed_marks(listing.seed_marks) == SEED if listing.seed_marks is not None else np.zeros_like(orphan)
    seeds = links.seed & ~marked
    date = listing.columns.get("date", ("",))[0]
    dated = int((listing.people[date] != "").sum()) if date in listing.people else 0
    lost = sum(problem.kind == "bad-date" and problem.column == date for problem in problems)
    found: list[tuple[str, str, int, int, Iterator[Message]]] = []
    n, of = int(orphan.sum()), int(recruit.sum())
    if n >= _FEWEST and n > _UNKNOWN * of and not kinds["unknown-recruiter"]:
        found.append(
            ("unknown-coupons", "problems.unknown_coupons", n, of, _of_codes(listing, links, orphan, problems))
        )
    n, of = int(seeds.sum()), len(listing.ids)
    if of >= _PEOPLE and n > _SEEDS * of and _come_late(listing, seeds, recruit):
        found.append(("many-seeds", "problems.many_seeds", n, of, _of_seeds(listing, links, seeds)))
    if lost >= _FEWEST and lost > _LOST * dated:
        found.append(("lost-dates", "problems.lost_dates", lost, dated, _of_dates(problems)))
    faults = []
    for kind, code, n, of, causes in found:
        likely = Lines([cause for cause, _ in zip(causes, range(_MOST_CAUSES), strict=False)])
        fault = note(code, n=n, people=of, causes=likely)
        faults.append(Problem(kind, None, "", fault, tolerated=listing.settings.read_anyway))
    return faults


def _come_late(listing: Listing, seeds: NDArray[np.bool_], recruit: NDArray[np.bool_]) -> bool:
    """Tell whether most people are seeds even after the first recruits came; a study that begins has seeds first."""
    order = order_of_arrival(listing)
    if int(recruit.sum()) < _FEWEST:
        return False
    late = order > np.sort(order[recruit])[_FEWEST - 1]
    return int((seeds & late).sum()) > max(_SEEDS * int(late.sum()), _PEOPLE * _SEEDS)


def _of_codes(
    listing: Listing, links: Links, orphan: NDArray[np.bool_], problems: Sequence[Problem]
) -> Iterator[Message]:
    """Likely causes of coupons that nobody was given, the likeliest first."""
    offered = sum(problem.kind == "not-issued" and problem.proposal is not None for problem in problems)
    if offered > _MISSPELT * orphan.sum():
        yield note("causes.misspelt", n=offered, mend=Remedies((Remedy("mend", True),)))
    own = [] if links.own is None else [folded(code) for code in links.own[orphan]]
    issued = set() if listing.coupons is None else {folded(code) for code in listing.coupons.ravel()} - {""}
    matched = int((~orphan & (links.recruiter != NOBODY)).sum())
    column, n = _holding(listing, issued)
    if n > matched:
        yield note("causes.own_column", column=column, n=n, remedy=_map("own_coupon", column))
    column, n = _holding(listing, set(own) - {""})
    if n >= _FEWEST and listing.coupons is not None:
        columns = (*listing.columns["coupons"], column)
        yield note("causes.coupon_column", column=column, n=n, remedy=_map("coupons", *columns))
    code, n = Counter(links.own[orphan] if links.own is not None else ()).most_common(1)[0] if own else ("", 0)
    if n >= _FEWEST and code:
        yield note("causes.not_known", code=code, n=n, remedy=Remedies((Remedy("missing", code),)))
    if listing.recruiters is not None:
        n = int(np.isin(listing.recruiters[orphan], listing.ids).sum())
        if n >= _FEWEST:
            yield note("causes.recruiter_ids", n=n, remedy=Remedies((Remedy("format", RECRUITER),)))
    yield note("causes.other_coupons", remedy=_map("coupons"))
    yield note("causes.other_own", remedy=_map("own_coupon"))
    yield note("causes.seeds_with_codes", remedy=_map("seed"))


def _of_seeds(listing: Listing, links: Links, seeds: NDArray[np.bool_]) -> Iterator[Message]:
    """Likely causes of too many seeds."""
    column, n = _holding(listing, {folded_name(id) for id in listing.ids} - {""}, of=seeds)
    if n >= _FEWEST:
        yield note("causes.recruiter_column", column=column, n=n, remedy=_map("recruiter", column))
    if listing.coupons is not None:
        column, n = _holding(listing, {folded(code) for code in listing.coupons.ravel()} - {""}, of=seeds)
        if n >= _FEWEST:
            yield note("causes.own_column", column=column, n=n, remedy=_map("own_coupon", column))
    yield note("causes.other_own", remedy=_map("own_coupon"))
    yield note("causes.other_recruiter", remedy=_map("recruiter"))
    yield note("causes.unmarked_seeds", remedy=_map("seed"))


def _of_dates(problems: Sequence[Problem]) -> Iterator[Message]:
    """Likely causes of unreadable dates."""
    offered = sum(problem.kind == "bad-date" and problem.proposal is not None for problem in problems)
    if offered:
        yield note("causes.misspelt_dates", n=offered, mend=Remedies((Remedy("mend", True),)))
    yield note("causes.other_date", remedy=_map("date"))
    yield note("causes.date_codes", remedy=Remedies((Remedy("missing", "CODE"),)))
    yield note("causes.no_date", remedy=_map("date", ""))


def _holding(listing: Listing, codes: set[str], of: NDArray[np.bool_] | None = None) -> tuple[str, int]:
    """The column without a part in the study that holds most of these codes, and in how many of these people's rows."""
    used = {name for names in listing.columns.values() for name in names}
    rows = listing.people if of is None else listing.people[of]
    counts = {
        name: sum(folded(text) in codes for text in rows[name]) for name in map(str, rows.columns) if name not in used
    }
    return max(counts.items(), key=lambda each: each[1], default=("", 0))


def _map(role: str, *columns: str) -> Remedies:
    """The line that names the columns of a part; "" for none."""
    return Remedies((Remedy("map", (role, *columns)),))
