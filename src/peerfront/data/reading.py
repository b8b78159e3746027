"""Read a study's file and check it.

It is listed (one entry per person, whatever the layout), linked (who recruited whom) and checked; errors stop with a
list of all of them.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.dates import read_dates
from peerfront.data.links import Links, link_coupons, link_recruiters
from peerfront.data.listing import Listing, each
from peerfront.data.problems import Problem, in_file_order, stop_on
from peerfront.data.read_settings import APP, RECRUITER, ReadSettings
from peerfront.data.study import Study
from peerfront.data.study_calendar import still_open
from peerfront.data.study_files import Listed, list_file, list_text
from peerfront.data.trees import NOBODY, Trees, trees_of
from peerfront.foundation.messages import note
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.typed_values import read_numbers

_SHOWN_OF_CIRCLE = 8
MOST_KNOWN = 100_000
"""People whom one person can know; more is a typing error."""


def read_study(file: Path | str | pd.DataFrame, settings: ReadSettings | None = None) -> Study:
    """Read and check a study: a file of any known format, or a pandas table, which is read as its CSV file would be.

    Errors stop the reading, with all of them in one message; warnings are kept in `problems`, and what was done to
    bring the file into shape in `steps`.

    >>> study = pf.read_study(pf.demo_study(people=120).study)  # or a file: pf.read_study("study.xlsx")
    >>> len(study), len(study.problems)
    (..., 0)
    """
    if isinstance(file, pd.DataFrame):
        return study_from_table(file, settings)
    path = Path(file)
    return _checked(list_file(path, settings or ReadSettings()))


def study_from_table(table: pd.DataFrame, settings: ReadSettings | None = None, name: str = "the table") -> Study:
    """Read a study from a pandas table, as from its CSV file; messages count rows from 2 and call it `name`."""
    return _checked(list_text(Path(name), csv_text(table), settings or ReadSettings(), ()))


def _checked(listed: Listed) -> Study:
    """Link the people of a listing, look for every kind of fault, and make the study."""
    listing, settings = listed.listing, listed.settings
    links = link_recruiters(listing) if listing.format in (RECRUITER, APP) else link_coupons(listing)
    trees = trees_of(links.recruiter)
    dates = read_dates(listing, links.recruiter, links.issued, settings)
    network_size, size_faults = _network_sizes(listing)
    problems = [*listing.problems, *links.problems, *_circles(listing, trees), *dates.problems, *size_faults]
    problems += _too_many_recruits(listing, links)
    stop_on(problems, listing.source, listing.place, strict=settings.strict)
    return Study(
        source=listing.source,
        format=listing.format,
        place=listing.place,
        settings=settings,
        columns=listing.columns,
        rows=listing.rows,
        ids=listing.ids,
        recruiter=links.recruiter,
        seed=links.seed,
        issued=links.issued,
        people=listing.people.reset_index(drop=True),
        days=dates.taken_part,
        network_size=network_size,
        own_coupons=listing.own_coupons,
        coupons=listing.coupons,
        still_open=still_open(settings, dates.taken_part, trees.wave, dates.last, listing.source),
        problems=in_file_order(problems),
        steps=listed.steps,
        day=dates.last,
        issued_days=dates.issued,
        redeemed_days=dates.redeemed,
        valid_days=dates.valid_days,
        numbered_days=dates.numbered,
    )


def _circles(listing: Listing, trees: Trees) -> list[Problem]:
    faults = []
    for circle in trees.circles:
        shown = [repr(str(listing.ids[person])) for person in (*circle, circle[0])]
        if len(shown) > _SHOWN_OF_CIRCLE:
            shown = [*shown[: _SHOWN_OF_CIRCLE - 2], "...", shown[-1]]
        fault = note("problems.circle", n=len(circle), people=" <- ".join(shown))
        faults += each(listing, "cycle", np.array(circle[:1], dtype=np.intp), [fault])
    return faults


def _network_sizes(listing: Listing) -> tuple[NDArray[np.float64] | None, list[Problem]]:
    if "network_size" not in listing.columns:
        return None, []
    name = listing.columns["network_size"][0]
    texts = listing.people[name].reset_index(drop=True)
    sizes = read_numbers(texts)
    with np.errstate(invalid="ignore"):
        impossible = ~((sizes >= 0) & (sizes <= MOST_KNOWN))
    unreadable = np.flatnonzero(impossible & (texts != "").to_numpy())
    faults = [note("problems.bad_network_size", column=name, value=texts[i], most=MOST_KNOWN) for i in unreadable]
    return np.where(impossible, np.nan, sizes), each(listing, "bad-network-size", unreadable, faults, name)


def _too_many_recruits(listing: Listing, links: Links) -> list[Problem]:
    recruits = np.bincount(links.recruiter[links.recruiter != NOBODY], minlength=len(listing.ids))
    people = np.flatnonzero(recruits > links.issued)
    faults = [
        note(
            "problems.too_many_recruits",
            person=listing.ids[i],
            recruits=int(recruits[i]),
            coupons=int(links.issued[i]),
        )
        for i in people
    ]
    return each(listing, "too-many-recruits", people, faults)
