"""Who recruited whom: from the codes and ids of a listing to an array of recruiters, with every fault on the way.

Where a file lists coupons, a person's recruiter is whoever was issued the coupon that person came with
(`link_coupons`). Recruiter-id tables and survey apps name the recruiter by id (`link_recruiters`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem, at
from peerfront.data.read.coupon_codes import (
    NOT_SAID,
    RECRUIT,
    SEED,
    IssuedCoupons,
    issued_coupons,
    own_code_seeds,
    seed_marks,
)
from peerfront.data.read.listing import Listing, Texts, each, of_people
from peerfront.data.read.near_codes import folded, folded_name, look_alike, near_codes, near_names, same_codes
from peerfront.foundation.messages import Message, first_of, note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.typed_dates import read_days

SEED_MARKS = ("seed", "0", "-1", "none", "seeds", "__seed__")
_LOST_DIGITS = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")  # 1.425E+21
_FEWEST, _SHARE = 3, 0.5  # recruiters that a column must name, and their share
_MOSTLY = 0.8  # share of different values in a column of names
_MOST_NAMED = 4  # codes and people that are equally near


@dataclass(frozen=True)
class Links:
    """Recruiters, seeds and numbers of coupons, as the file states them."""

    recruiter: NDArray[np.int64]  # [people], index; NOBODY for seeds and where it is not known
    seed: NDArray[np.bool_]  # [people]; somebody who has no recruiter and is no seed has an unknown one
    issued: NDArray[np.int64]  # [people], coupons issued, k
    problems: tuple[Problem, ...]
    own: Texts | None = None  # [people], the coupons people came with, as they were issued
    steps: tuple[Message, ...] = ()


def places_of(wanted: Texts, among: Texts) -> NDArray[np.int64]:
    """Return the first place of each wanted code, or NOBODY; the empty code stands nowhere."""
    first = np.flatnonzero(~pd.Series(among, dtype=object).duplicated().to_numpy() & (among != ""))
    if not len(first):
        return np.full(len(wanted), NOBODY, dtype=np.int64)
    place = pd.Index(among[first], dtype=object).get_indexer(pd.Index(wanted, dtype=object))
    return np.where(place < 0, NOBODY, first[place]).astype(np.int64)


def is_seed_mark(codes: Texts) -> NDArray[np.bool_]:
    """Mark the codes that usually mean "nobody recruited this person"; somebody's id may be the same."""
    return np.asarray(pd.Series(codes, dtype=object).str.lower().isin(SEED_MARKS), dtype=bool)


def _as_known(
    listing: Listing, role: str, wanted: Texts, among: Iterable[str], fold: Callable[[str], str] = folded
) -> tuple[Texts, list[Message]]:
    """Write the codes of a column as they are known, where only signs differ that nobody means."""
    same = same_codes(wanted, among, fold)
    if not same:
        return wanted, []
    found, known = next(iter(same.items()))
    n = sum(code in same for code in wanted)
    column = listing.columns.get(role, (role,))[0]
    written = np.array([*(same.get(code, code) for code in wanted), None], dtype=object)[:-1]
    return written, [note("steps.written_alike", column=column, n=n, found=found, known=known)]


def faults_of_codes(listing: Listing) -> list[Problem]:
    """Find missing and repeated ids, and codes that a spreadsheet has cut short."""
    ids, place = listing.ids, listing.place
    absent = np.flatnonzero(ids == "")
    faults = of_people(listing, "missing-id", absent, "problems.no_id")
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    earlier = listing.rows[places_of(ids[again], ids)]
    repeated = [note("problems.id_again", id=ids[i], at=at(place, row)) for i, row in zip(again, earlier, strict=True)]
    faults += each(listing, "repeated-id", again, repeated, mends=_same_rows(listing, again, earlier))
    forms = pd.Series([re.sub(r"(?<!\d)0+(?=\d)", "", folded(id)) for id in ids], dtype=object)
    alike = forms.duplicated().to_numpy() & ~pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != "")
    first = forms.drop_duplicates().reset_index().set_index(0)["index"]
    others = [int(first[forms[i]]) for i in np.flatnonzero(alike)]
    pairs = zip(np.flatnonzero(alike), others, strict=True)
    doubts = [note("problems.alike_ids", id=ids[i], other=ids[o], at=at(place, listing.rows[o])) for i, o in pairs]
    faults += each(listing, "alike-ids", np.flatnonzero(alike), doubts)
    columns = [codes for codes in (ids, listing.own_coupons, listing.recruiters) if codes is not None]
    columns += list(listing.coupons.T) if listing.coupons is not None else []
    for codes in columns:
        candidates = (i for i, code in enumerate(codes) if "+" in code)
        short = np.array([i for i in candidates if _LOST_DIGITS.fullmatch(codes[i])], dtype=np.intp)
        faults += of_people(listing, "digits-lost", short, "problems.cut_short", coupon=codes)
    return faults


def _same_rows(
    listing: Listing, again: NDArray[np.intp], earlier: NDArray[np.int64]
) -> list[tuple[str, str, None, Message] | None]:
    """Propose to leave out the rows that say the same as the earlier row of the person."""
    held = [listing.people.to_numpy(dtype=object), listing.coupons]
    own = None  # one of two may be mended already
    if listing.own_coupons is not None:
        own = np.array([*map(look_alike, listing.own_coupons), None], dtype=object)[:-1]
    single = (own, listing.recruiters, listing.issued, listing.seed_marks)
    held += [values[:, None] for values in single if values is not None]
    everything = np.hstack([values.astype(object) for values in held if values is not None])
    first = places_of(listing.ids[again], listing.ids)
    column = listing.columns["id"][0]
    return [
        (column, str(listing.ids[i]), None, note("mends.same_as", at=at(listing.place, row)))
        if (everything[i] == everything[j]).all()
        else None
        for i, j, row in zip(again, first, earlier, strict=True)
    ]


def without_self(listing: Listing, recruiter: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Problem]]:
    """Remove recruiters that are the person themselves, as faults."""
    selves = np.flatnonzero(recruiter == np.arange(len(recruiter)))
    faults = of_people(listing, "self-recruited", selves, "problems.own_recruiter")
    return np.where(recruiter == np.arange(len(recruiter)), NOBODY, recruiter), faults


def link_coupons(listing: Listing) -> Links:
    """Find everybody's recruiter by coupon; seeds came without one."""
    assert listing.own_coupons is not None
    assert listing.coupons is not None
    faults = faults_of_codes(listing)
    coupons = issued_coupons(listing, listing.coupons)
    known, steps = _as_known(listing, "own_coupon", listing.own_coupons, [*coupons.code, *coupons.id_code])
    own = np.where(is_seed_mark(known) & (places_of(known, coupons.code) == NOBODY), "", known)
    came = own != ""
    place = places_of(own, coupons.code)
    recruiter = np.append(coupons.holder, NOBODY)[place]  # a place of -1 is the last one: NOBODY
    id_place = places_of(own, coupons.id_code)
    by_id = (recruiter == NOBODY) & (id_place != NOBODY)
    recruiter = np.where(by_id, np.append(coupons.id_code_holder, NOBODY)[id_place], recruiter)

    void = came & pd.Series(own, dtype=object).isin(coupons.placeholders).to_numpy() & ~by_id
    recruiter = np.where(void, NOBODY, recruiter).astype(np.int64)
    orphan = came & (recruiter == NOBODY)
    faults += [*coupons.problems, *coupons.issued_twice(own), *_ambiguous(listing, own, coupons)]
    faults += _redeemed_twice(listing, own, ~(by_id | void | orphan))
    made, holders = np.flatnonzero(by_id), listing.ids[recruiter]
    faults += of_people(listing, "made-from-id", made, "problems.person_from_id", coupon=own, recruiter=holders)
    assumed = _assumed_seeds(listing, own, orphan & ~void, recruiter != NOBODY, coupons.code)
    recruiter, selves = without_self(listing, recruiter)
    faults += selves
    seed, doubts = _seeds(listing, own, ~came, assumed, recruiter)
    faults += [*doubts, *_not_issued(listing, own, orphan & ~seed, coupons, recruiter)]
    if listing.recruiters is not None:
        faults += _disagreements(listing, listing.recruiters, recruiter)
    return Links(recruiter, seed, coupons.count, tuple(faults), known, tuple(steps))


def _assumed_seeds(
    listing: Listing, own: Texts, orphan: NDArray[np.bool_], recruited: NDArray[np.bool_], issued: Texts
) -> NDArray[np.bool_]:
    """Mark the people who came with a code of their own and are taken for seeds, [people]."""
    misspelt = near_codes(own[orphan], issued, slips=False)
    candidates = orphan & np.array([code not in misspelt for code in own], dtype=bool)
    if listing.recruiters is not None:
        candidates &= places_of(listing.recruiters, listing.ids) == NOBODY
    near = near_codes(own[candidates], issued)
    near = {code: codes for code, codes in near.items() if not all(each.startswith(code) for each in codes)}
    typos = np.array([code in near for code in own], dtype=bool)
    return own_code_seeds(listing, own, candidates, recruited, issued, typos)


def _seeds(
    listing: Listing,
    own: Texts,
    without_code: NDArray[np.bool_],
    assumed: NDArray[np.bool_],
    recruiter: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], list[Problem]]:
    """Decide who is a seed, [people]: whoever is marked, or else came without a code or with one of their own."""
    ids = listing.ids
    marks = np.full(len(ids), NOT_SAID) if listing.seed_marks is None else seed_marks(listing.seed_marks)
    alone = recruiter == NOBODY
    seed = alone & np.where(marks == NOT_SAID, without_code | assumed, marks == SEED)
    guessed = np.flatnonzero(seed & assumed & (marks == NOT_SAID))
    faults = of_people(listing, "assumed-seed", guessed, "problems.assumed_seed", coupon=own)
    wrong = np.flatnonzero((marks == SEED) & ~alone)
    faults += of_people(listing, "seed-with-coupon", wrong, "problems.seed_recruited", recruiter=ids[recruiter])
    unmarked = np.flatnonzero(without_code & (marks == RECRUIT) & alone)
    return seed, faults + of_people(listing, "not-marked-seed", unmarked, "problems.not_marked_seed")


def _ambiguous(listing: Listing, own: Texts, coupons: IssuedCoupons) -> list[Problem]:
    """Find people whose coupon was issued to two."""
    shared = pd.Series(coupons.code, dtype=object).duplicated(keep=False).to_numpy()
    holders_of = pd.Series(coupons.holder[shared]).groupby(coupons.code[shared]).agg(list)
    wrong = np.flatnonzero(pd.Series(own, dtype=object).isin(holders_of.index).to_numpy())
    texts = []
    for person in wrong:
        first, second = (
            note("problems.value_at", value=listing.ids[holder], at=at(listing.place, listing.rows[holder]))
            for holder in holders_of[own[person]][:2]
        )
        holders = note("problems.two", first=first, second=second)
        texts.append(note("problems.ambiguous", person=listing.ids[person], code=own[person], holders=holders))
    return each(listing, "ambiguous-coupon", wrong, texts)


def _redeemed_twice(listing: Listing, own: Texts, real: NDArray[np.bool_]) -> list[Problem]:
    """Find people who came with a real coupon that somebody above them came with."""
    again = np.flatnonzero(pd.Series(own, dtype=object).duplicated().to_numpy() & (own != "") & real)
    first = dict(zip(again, listing.rows[places_of(own[again], own)], strict=True))
    values = {"coupon": own, "at": lambda person: at(listing.place, first[person])}
    return of_people(listing, "redeemed-twice", again, "problems.redeemed_already", **values)


def _not_issued(
    listing: Listing, own: Texts, orphan: NDArray[np.bool_], coupons: IssuedCoupons, recruiter: NDArray[np.int64]
) -> list[Problem]:
    """Report the people whose coupon nobody was issued, with the code that was probably meant."""
    assert listing.own_coupons is not None
    people = np.flatnonzero(orphan)
    whole = not any(problem.kind == "bad-range" for problem in listing.problems)  # else the right codes may be missing
    near = near_codes(own[people], coupons.code) if len(people) and whole else {}
    counts = Counter(coupons.code)
    holder = {code: int(who) for code, who in zip(coupons.code, coupons.holder, strict=True) if counts[code] == 1}
    used_by = {code: int(who) for who, code in enumerate(own) if code and recruiter[who] != NOBODY}
    possible = [[code for code in near.get(own[i], ()) if code in holder] for i in people]
    free = [[(code, holder[code]) for code in codes if len(codes) > 1 or code not in used_by] for codes in possible]
    offers = _offers(listing, recruiter, people, free, once=True)
    texts, mends = [], []
    column = listing.columns.get("own_coupon", ("",))[0]
    for i, codes, offer in zip(people, possible, offers, strict=True):
        values = {"person": listing.ids[i], "code": own[i]}
        mend = None
        if offer is not None:
            who = listing.ids[holder[offer]]
            texts.append(note("problems.not_issued_but_near", near=offer, holder=who, **values))
            mend = (column, str(listing.own_coupons[i]), offer, note("mends.issued_to", person=who))
        elif len(codes) == 1 and codes[0] in used_by:
            others = {"holder": listing.ids[holder[codes[0]]], "other": listing.ids[used_by[codes[0]]]}
            texts.append(note("problems.not_issued_but_used", near=codes[0], **others, **values))
        elif codes:
            named = [note("problems.code_of", code=code, holder=listing.ids[holder[code]]) for code in codes]
            texts.append(note("problems.not_issued_but_several", codes=first_of(named, _MOST_NAMED), **values))
        else:
            texts.append(note("problems.not_issued", **values))
        mends.append(mend if column and listing.place != "record" else None)
    return each(listing, "not-issued", people, texts, column, mends)


def _offers(
    listing: Listing,
    recruiter: NDArray[np.int64],
    people: NDArray[np.intp],
    candidates: Sequence[Sequence[tuple[str, int]]],
    *,
    once: bool,
) -> list[str | None]:
    """The text that each of these people should have, of candidates with their holders; None without a certain one.

    It must be the only candidate, and possible: no circle, and not of somebody who came later; and, if a text can be
    had only `once`, nobody else wants it. All of the offers can be accepted together.
    """
    tree, days = recruiter.copy(), _days(listing)
    likely: list[tuple[str, int] | None] = []
    for person, mine in zip(people, candidates, strict=True):
        only = mine[0] if len(mine) == 1 else None
        likely.append(only if only is not None and not days[only[1]] > days[person] else None)
    wanted = Counter(each for each, _ in set(zip(likely, listing.ids[people], strict=True)))
    offers: list[str | None] = []
    for person, found in zip(people, likely, strict=True):
        offers.append(None)
        if found is not None and not (once and wanted[found] > 1) and not _circle(tree, person, found[1]):
            tree[person] = found[1]
            offers[-1] = found[0]
    return offers


def _circle(tree: NDArray[np.int64], person: int, recruiter: int) -> bool:
    """Tell whether the person is the recruiter, or above them."""
    seen: set[int] = set()
    while recruiter != NOBODY and recruiter not in seen:
        if recruiter == person:
            return True
        seen.add(recruiter)
        recruiter = int(tree[recruiter])
    return False


def _days(listing: Listing) -> NDArray[np.float64]:
    """The day on which each person took part, nan where it is not known."""
    if "date" not in listing.columns:
        return np.full(len(listing.ids), np.nan)
    return read_days(listing.people[listing.columns["date"][0]].reset_index(drop=True))


def _disagreements(listing: Listing, named: Texts, recruiter: NDArray[np.int64]) -> list[Problem]:
    """Find people whose recruiter by id is not their recruiter by coupon."""
    by_id = places_of(_as_known(listing, "recruiter", named, listing.ids, folded_name)[0], listing.ids)
    wrong = np.flatnonzero((by_id != NOBODY) & (by_id != recruiter))
    ids = listing.ids
    texts = [
        note("problems.disagrees", person=ids[i], by_id=ids[by_id[i]], by_coupon=ids[recruiter[i]])
        if recruiter[i] != NOBODY
        else note("problems.disagrees_with_nobody", person=ids[i], by_id=ids[by_id[i]])
        for i in wrong
    ]
    return each(listing, "recruiter-disagrees", wrong, texts)


def link_recruiters(listing: Listing) -> Links:
    """Find everybody's recruiter by id. Seeds have no recruiter id, or share a mark that is nobody's id."""
    assert listing.recruiters is not None
    faults = faults_of_codes(listing)
    named, steps = _as_known(listing, "recruiter", listing.recruiters, listing.ids, folded_name)
    named, done = _by_other_names(listing, named)
    steps += done
    recruiter = places_of(named, listing.ids)
    no_id = (recruiter == NOBODY) & (named != "")
    marks = no_id & is_seed_mark(named)
    if (named != "").all() and not marks.any() and len(set(named[no_id])) == 1:
        marks = no_id  # everybody has a recruiter, and one value is nobody's id: that is how R marks seeds
    if listing.seed_marks is not None:
        named = np.where(
            (seed_marks(listing.seed_marks) == SEED) & (no_id | (recruiter == np.arange(len(named)))), "", named
        )
        recruiter, no_id = np.where(named == "", NOBODY, recruiter), no_id & (named != "")
    recruiter, selves = without_self(listing, recruiter)
    faults += [*selves, *_unknown_recruiters(listing, named, np.flatnonzero(no_id & ~marks), recruiter)]
    issued = listing.issued
    if issued is None:
        assert listing.coupons is not None
        coupons = issued_coupons(listing, listing.coupons)
        issued = coupons.count
        faults += [*coupons.problems, *coupons.issued_twice(np.zeros(0, dtype=object))]
        if listing.own_coupons is not None:
            faults += _not_on_the_list(listing, listing.own_coupons, coupons, recruiter)
    nobody = np.zeros(len(named), dtype=bool)
    seed, doubts = _seeds(listing, named, (named == "") | marks, nobody, recruiter)
    return Links(recruiter, seed, issued, (*faults, *doubts), listing.own_coupons, tuple(steps))


def _by_other_names(listing: Listing, named: Texts) -> tuple[Texts, list[Message]]:
    """Write recruiters by id who are given by a coupon of theirs, or as another column calls them."""
    absent = set(named[(places_of(named, listing.ids) == NOBODY) & ~is_seed_mark(named)]) - {""}
    if not absent:
        return named, []
    columns = dict(_names(listing))
    if listing.coupons is not None:
        columns[listing.columns["coupons"][0]] = listing.coupons
    for name, texts in columns.items():
        holder = _only((folded_name(text), who) for who, row in enumerate(texts) for text in row)
        known = {text: holder[folded_name(text)] for text in absent if folded_name(text) in holder}
        if len(known) >= max(_FEWEST, _SHARE * len(absent)):
            written = [str(listing.ids[known[text]]) if text in known else text for text in named]
            found = next(text for text in named if text in known)
            n = sum(text in known for text in named)
            step = note("steps.recruiters_by", column=name, n=n, found=found, known=listing.ids[known[found]])
            return np.array([*written, None], dtype=object)[:-1], [step]
    return named, []


def _names(listing: Listing) -> Iterator[tuple[str, Texts]]:
    """Columns that may call people by other names, [people, 1]: nearly everybody has another one."""
    used = {name for names in listing.columns.values() for name in names}
    for name in map(str, listing.people.columns):
        if name not in used and listing.people[name].nunique() >= _MOSTLY * len(listing.ids):
            yield name, listing.people[[name]].to_numpy(dtype=object)


def _only(held: Iterable[tuple[str, int]]) -> dict[str, int]:
    """People by what only they have."""
    holders: dict[str, set[int]] = defaultdict(set)
    for text, who in held:
        holders[text].add(who)
    return {text: min(people) for text, people in holders.items() if text and len(people) == 1}


def _unknown_recruiters(
    listing: Listing, named: Texts, unknown: NDArray[np.intp], recruiter: NDArray[np.int64]
) -> list[Problem]:
    """Report recruiters who are not in the file, with the person who was probably meant."""
    assert listing.recruiters is not None
    ids, wanted = listing.ids, named[unknown]
    ways = [_nearest(wanted, ids)] if len(unknown) else []
    ways += [_nearest(wanted, texts[:, 0]) for _, texts in _names(listing)] if ways else []
    ways += [_by_number(listing, wanted, unknown)] if not any(ways) else []
    way = max(ways, key=lambda way: sum(len(way.get(text, ())) == 1 for text in wanted), default={})
    candidates = [[(str(ids[who]), who) for who in way.get(text, ())] for text in wanted]
    offers = _offers(listing, recruiter, unknown, candidates, once=False)
    column = listing.columns.get("recruiter", ("",))[0]
    texts, mends = [], []
    for i, mine, offer in zip(unknown, candidates, offers, strict=True):
        values = {"person": ids[i], "recruiter": named[i]}
        mend = None
        if offer is not None:
            why = note("mends.in_row", at=at(listing.place, listing.rows[dict(mine)[offer]]))
            mend = (column, str(listing.recruiters[i]), offer, why)
            texts.append(note("problems.recruiter_near", near=offer, **values))
        elif mine:
            names = first_of([repr(name) for name, _ in mine], _MOST_NAMED)
            texts.append(note("problems.recruiter_several", near=names, **values))
        else:
            texts.append(note("problems.recruiter_absent", **values))
        mends.append(mend if column and listing.place != "record" else None)
    return each(listing, "unknown-recruiter", unknown, texts, column, mends)


def _nearest(wanted: Texts, names: Texts) -> dict[str, list[int]]:
    """The people whose name is nearest to each text."""
    held: dict[str, list[int]] = defaultdict(list)
    for who, name in enumerate(names):
        held[name].append(who)
    return {text: [who for name in near for who in held[name]] for text, near in near_names(wanted, names).items()}


def _by_number(listing: Listing, wanted: Texts, people: NDArray[np.intp]) -> dict[str, list[int]]:
    """People by the number of their row, of their place or in their id, if only one of these fits."""
    places = list(range(len(listing.ids)))
    in_ids = [re.sub(r"\D", "", id).lstrip("0") for id in listing.ids]
    fitting: list[dict[str, list[int]]] = []
    for numbers in (listing.rows.tolist(), [place + 1 for place in places], in_ids):
        who = dict(zip(map(str, numbers), places, strict=True))
        found = [who.get(text, NOBODY) for text in wanted]
        fits = len(who) == len(places) and all(each in range(i) for each, i in zip(found, people, strict=True))
        if fits and listing.issued is not None:
            fits = bool((np.bincount(found, minlength=len(places)) <= listing.issued).all())
        way = {text: [each] for text, each in zip(wanted, found, strict=True)}
        if fits and way not in fitting:
            fitting.append(way)
    return fitting[0] if len(fitting) == 1 and len(wanted) >= _FEWEST else {}


def _not_on_the_list(
    listing: Listing, own: Texts, coupons: IssuedCoupons, recruiter: NDArray[np.int64]
) -> list[Problem]:
    """Find people whose code is not among those issued to the recruiter they name."""
    own, _ = _as_known(listing, "own_coupon", own, coupons.code)
    came = np.flatnonzero((recruiter != NOBODY) & (own != ""))
    held = pd.MultiIndex.from_arrays([coupons.holder, coupons.code])
    wanted = pd.MultiIndex.from_arrays([recruiter[came], own[came]])
    absent = came[~wanted.isin(held)]
    holders = listing.ids[recruiter]
    return of_people(listing, "not-on-list", absent, "problems.not_on_list", recruiter=holders, coupon=own)
