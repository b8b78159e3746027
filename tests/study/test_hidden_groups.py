"""Groups of fewer than five stay hidden: what a page tells is solved for them, over many made studies.

`pytest tests/study/test_hidden_groups.py -s` prints how many small groups there were, and how many were recovered.
"""

import os
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.study import Study, summarise
from peerfront.foundation.covariates import Field
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.stored import rounded_count
from peerfront.study.findings import rounded_use
from peerfront.study.homophily import homophily_table
from peerfront.study.orders import PlanOrder
from peerfront.study.planning import plan_coupons
from peerfront.study.published_counts import (
    Precision,
    PublishedCount,
    Sum,
    about,
    possible_values,
    publish_plan,
    publish_study,
    published,
    published_share,
    safe_counts,
)
from peerfront.study.published_tables import published_homophily
from peerfront.study.report import ReportSettings
from study.small_advice import a_fit, a_frontier, a_study, page_of
from study.small_outlook import ahead
from study.subtraction_attack import recovered_cells

STUDIES = int(os.environ.get("HIDDEN_GROUP_STUDIES", "40"))


def made_study(seed: int) -> Study:
    """Trees of 12 to 300 people; coupons the same for all or not; some lost recruiters, some open coupons."""
    rng = np.random.default_rng([16, seed])
    people, seeds, most = int(rng.integers(12, 300)), int(rng.integers(1, 12)), int(rng.integers(1, 6))
    recruiter = np.array([NOBODY if i < seeds else rng.integers(i) for i in range(people)])
    for person in range(seeds, people):  # nobody brings more than the coupons they have
        while np.sum(recruiter[:person] == recruiter[person]) >= most:
            recruiter[person] = rng.integers(person)
    lost = rng.random(people) < rng.choice([0.0, 0.01, 0.05])
    is_seed = np.arange(people) < seeds
    recruiter = np.where(lost & ~is_seed, NOBODY, recruiter)
    recruits = np.bincount(recruiter[recruiter != NOBODY], minlength=people)
    issued = np.full(people, most) if rng.random() < 0.5 else np.maximum(recruits, rng.integers(0, most + 1, people))
    issued = np.where((recruits == 0) & (rng.random(people) < rng.choice([0.0, 0.02, 0.2])), 0, issued)
    is_open = (np.arange(people) >= people - rng.choice([0, 3, 20])) & (issued > 0)
    return Study(
        "made", "recruiter", "row", ReadSettings(), {}, np.arange(people) + 2,
        np.array([f"p{i}" for i in range(people)], dtype=object), recruiter, is_seed, issued,
        pd.DataFrame(index=range(people)), None, None, None, None, is_open, (),
    )  # fmt: skip


def attack_on_study(study: Study) -> tuple[int, list[str]]:
    """Everything that page and model tell in numbers, against the counts of the study: small groups, and recovered."""
    summary = summarise(study)
    page = publish_study(study, summary)
    facts = {what: count.span for what, count in page.facts.items()}
    people, usable = summary.people, study.informative
    brought = np.bincount(study.recruits)
    issued = np.bincount(study.issued)
    seen = np.bincount(study.recruits[usable], minlength=1)
    truth = {f"brought {n}": int(c) for n, c in enumerate(brought)} | {
        f"issued {n}": int(c) for n, c in enumerate(issued)
    }
    truth |= {f"seen {n}": int(c) for n, c in enumerate(seen)}
    truth |= {"unknown": summary.recruiter_unknown, "usable": summary.triples, "not usable": people - summary.triples}
    truth |= {"seeds": summary.seeds, "pairs": summary.pairs, "coupons": summary.coupons_issued}
    spans: dict[str, tuple[float, float]] = dict.fromkeys(truth, (0, people))
    spans |= {
        "unknown": facts["recruiter unknown"],
        "usable": facts["people with usable recruitment counts"],
        "seeds": facts["seeds"],
        "pairs": facts["recruiter-recruit pairs"],
        "coupons": facts["coupons issued"],
    }
    for number, by_recruits, by_coupons in page.rows:
        for what, count in (("brought", by_recruits), ("issued", by_coupons)):
            if f"{what} {number}" in truth:
                spans[f"{what} {number}"] = count.span
    if page.rows:  # numbers without a row are nobody's
        listed = {number for number, _, _ in page.rows}
        for name in truth:
            what, _, number = name.partition(" ")
            if what in ("brought", "issued") and int(number) not in listed:
                spans[name] = (0, 0)
    every = lambda what, counts, weight=lambda n: 1.0: {f"{what} {n}": weight(n) for n in range(len(counts))}  # noqa: E731
    sums = [
        ({"seeds": 1, "unknown": 1, "pairs": 1}, people, people),
        ({"usable": 1, "not usable": 1}, people, people),
        (every("brought", brought), people, people),
        (every("issued", issued), people, people),
        (every("brought", brought, float) | {"pairs": -1}, 0, 0),
        (every("issued", issued, float) | {"coupons": -1}, 0, 0),
        (every("seen", seen) | {"usable": -1}, 0, 0),
        ({"usable": 1, "issued 0": 1}, 0, people),
        *(({f"seen {n}": 1, f"brought {n}": -1}, -people, 0) for n in range(len(seen))),
    ]
    told = [("pairs", {"pairs": 1}), ("usable", {"usable": 1})]  # by the model, to the nearest five
    told += [("", {f"seen {n}": 1 for n in range(least, len(seen))}) for least in range(1, len(seen))]
    if not study.still_open.any() and truth["not usable"] == truth["issued 0"]:
        sums.append(({"not usable": 1, "issued 0": -1}, 0, 0))
        sums += [({f"seen {n}": 1, f"brought {n}": -1}, 0, 0) for n in range(1, len(seen))]
        told += [("", {f"issued {n}": 1 for n in range(least, len(issued))}) for least in range(1, len(issued))]
    for _, weights in told:
        middle = rounded_count(sum(truth[name] for name in weights))
        sums.append((weights, max(middle - 2, 0), middle + 2))
    protected = {name: count for name, count in truth.items() if name not in ("seeds", "coupons")}
    small = sum(0 < count < 5 for count in protected.values())
    found = [name for name in recovered_cells(truth, spans, sums) if name in protected]
    return small, found


def test_no_small_group_of_a_study_follows_from_page_and_model(capsys) -> None:
    groups, recovered, kinds = 0, [], Counter()
    for seed in range(STUDIES):
        study = made_study(seed)
        small, found = attack_on_study(study)
        groups += small
        recovered += [(seed, name) for name in found]
        page = publish_study(study, summarise(study))
        kinds.update(count.precision for row in page.rows for count in row[1:])
    with capsys.disabled():
        print(f"\n{STUDIES} studies, {groups} small groups, {len(recovered)} recovered; counts: {dict(kinds)}")
    assert recovered == []
    assert groups > STUDIES
    assert kinds[Precision.ROUNDED] > 2 * kinds[Precision.HIDDEN] > 0, "few counts are hidden beside small ones"


def test_the_attack_works_on_plain_tables() -> None:
    """Hiding the small numbers alone, as pages did, gives most of them away."""
    hidden = recovered = 0
    for seed in range(STUDIES):
        counts = np.bincount(made_study(seed).recruits)
        truth = {str(n): int(count) for n, count in enumerate(counts)}
        spans = {name: (0, 4) if 0 < count < 5 else (count, count) for name, count in truth.items()}
        total = sum(truth.values())
        hidden += sum(0 < count < 5 for count in truth.values())
        recovered += len(recovered_cells(truth, spans, [(dict.fromkeys(truth, 1), total, total)]))
    assert recovered > 0.3 * hidden > 5


# The plan ------------------------------------------------------------------------------------------------------------


def attack_on_plan(seed: int) -> tuple[int, list[str], Counter]:
    """People waiting by category and number of coupons: what totals, numbers and averages tell of each cell.

    Two fields are told, and attacked together: the numbers of coupons tie them.
    """
    rng = np.random.default_rng([17, seed])
    waiting, most = int(rng.integers(6, 120)), int(rng.integers(1, 4))
    coupons = np.zeros(waiting, dtype=np.int64)
    fields, codes = [], []
    for number in range(2):
        categories = int(rng.integers(2, 5))
        fields.append(Field(f"field{number}", tuple("abcdef"[:categories])))
        shares = rng.dirichlet(np.full(categories + 1, 0.6))
        codes.append(rng.choice(np.arange(-1, categories), waiting, p=shares).astype(np.int16))
    chances = rng.dirichlet(np.full(most + 1, 1.0), len(fields[0]) + 1)
    coupons = np.array([rng.choice(most + 1, p=chances[code]) for code in codes[0]])
    plan = publish_plan(coupons, most, fields, np.array(codes).T)
    truth, sums = {f"gets {c}": int((coupons == c).sum()) for c in range(most + 1)}, []
    spans: dict[str, tuple[float, float]] = dict.fromkeys(truth, (0, waiting + 5))
    if plan.numbers:
        spans |= dict.fromkeys(truth, (0, 0)) | {f"gets {n}": count.span for n, count in plan.numbers}
    sums.append(({f"gets {c}": c for c in range(most + 1)}, *plan.coupons.span))
    sums.append(({f"gets {c}": 1 for c in range(most + 1)}, *plan.people.span))
    for field, mine in zip(fields, codes, strict=True):
        groups = plan.fields[field.name]
        names = {category: f"{field.name} {category}" for category in (*field.categories, None)}
        for code, name in enumerate(names.values()):
            there = coupons[mine == (code if code < len(field) else -1)]
            truth |= {name: len(there)} | {f"{name} gets {c}": int((there == c).sum()) for c in range(most + 1)}
            sums.append(({f"{name} gets {c}": 1 for c in range(most + 1)} | {name: -1}, 0, 0))
        sums += [
            ({f"{name} gets {c}": 1 for name in names.values()} | {f"gets {c}": -1}, 0, 0) for c in range(most + 1)
        ]
        spans |= {name: (0, waiting + 5) for name in truth if name not in spans}
        if groups:
            spans |= dict.fromkeys(names.values(), (0, 0))  # what is not listed is nobody
        for group in groups:
            name = names[group.category]
            spans[name] = group.people.span
            if group.mean is not None:
                assert spans[name][0] >= 18
                ends = group.mean - 0.05 - 1e-9, group.mean + 0.05 + 1e-9
                weights = {f"{name} gets {c}": float(c) for c in range(most + 1)}
                sums.append((weights | {name: -ends[0]}, 0, np.inf))
                sums.append((weights | {name: -ends[1]}, -np.inf, 0))
    kinds = Counter(group.people.precision for groups in plan.fields.values() for group in groups)
    kinds["means"] = sum(group.mean is not None for groups in plan.fields.values() for group in groups)
    return sum(0 < count < 5 for count in truth.values()), recovered_cells(truth, spans, sums), kinds


def test_no_small_group_of_a_plan_follows_from_its_tables(capsys) -> None:
    groups, recovered, kinds = 0, [], Counter()
    for seed in range(STUDIES):
        small, found, of_plan = attack_on_plan(seed)
        groups += small
        recovered += [(seed, name) for name in found]
        kinds += of_plan
    with capsys.disabled():
        print(f"\n{STUDIES} plans, {groups} small groups, {len(recovered)} recovered; {dict(kinds)}")
    assert recovered == []
    assert groups > STUDIES
    assert kinds["means"] > STUDIES


# The saved model, and forecasts --------------------------------------------------------------------------------------


def attack_on_model(study: Study) -> tuple[int, list[str]]:
    """Counts of people by recruits, from what the manifest tells: people, usable counts, pairs, use of each coupon."""
    usable = study.informative
    recruits, issued = study.recruits[usable], study.issued[usable]
    if not usable.any():
        return 0, []
    given = [issued >= level for level in range(1, int(issued.max()) + 1)]
    rows = [(n + 1, int(mine.sum()), 0.5, (recruits[mine] > n).mean()) for n, mine in enumerate(given)]
    told = rounded_use(pd.DataFrame(rows, columns=["coupon", "people", "predicted", "observed"]))
    seen = np.bincount(recruits)
    truth = {f"seen {n}": int(count) for n, count in enumerate(seen)} | {"pairs": int((study.recruiter >= 0).sum())}
    truth["unknown"] = int(study.orphan.sum())
    spans: dict[str, tuple[float, float]] = dict.fromkeys(truth, (0, 10**4))
    near = lambda count: (max(rounded_count(count) - 2, 0), rounded_count(count) + 2)  # noqa: E731
    sums = [({f"seen {n}": 1 for n in range(len(seen))}, *near(len(recruits)))]
    sums += [({"pairs": 1}, *near(truth["pairs"])), ({"pairs": 1, "unknown": 1}, 0, near(len(study))[1])]
    for row in told:
        names = {f"seen {n}": 1 for n in range(row["coupon"], len(seen))}
        people = row["people"]
        used = (0, 4) if row["by"] == "hardly any" else (people - 7, people + 2)
        if row["observed"] is not None:
            middle = 5 * round(row["observed"] * people / 5)
            assert middle == rounded_count(sum(truth[name] for name in names))
            used = (middle - 2, middle + 2)
        sums.append((names, max(used[0], 0), used[1]))
    return sum(0 < count < 5 for count in truth.values()), recovered_cells(truth, spans, sums)


def test_no_small_group_follows_from_a_saved_model(capsys) -> None:
    groups, recovered = 0, []
    for seed in range(STUDIES):
        small, found = attack_on_model(made_study(seed))
        groups += small
        recovered += [(seed, name) for name in found]
    with capsys.disabled():
        print(f"\n{STUDIES} models, {groups} small groups, {len(recovered)} recovered")
    assert recovered == []
    assert groups > STUDIES / 2


def test_forecast_files_tell_of_simulated_studies_alone() -> None:
    """Their columns are averages and bands over simulated studies: no count of people of the study is among them."""
    outlook = ahead(a_fit(), a_frontier(12), PlanOrder(12), None, studies=20)
    bands = {"p10", "p25", "median", "p75", "p90"}
    assert set(outlook.steps.columns) == bands | {f"total_{name}" for name in bands} | {
        "policy", "step", "until", "days", "recruits", "total", "arrivals", "queue", "spent", "spent_so_far", "open",
    }  # fmt: skip
    assert set(outlook.summary.columns) == bands | {
        "policy", "described", "recruits", "reaches_target", "target_p25", "target_date", "target_p75", "dies_out",
        "spent", "unused", "never_issued", "open", "queue", "plan_lead", "plan_lead_low", "plan_lead_high",
    }  # fmt: skip


# Shares, and what a span is -----------------------------------------------------------------------------------------


def test_homophily_shows_no_few_pairs() -> None:
    rows = {"field": list("abcd"), "pairs": [60, 60, 58, 3], "same": [58 / 60, 2 / 60, 30 / 58, 1 / 3]}
    bounds = {"low": 0.3, "high": 0.6, "chance": 0.301, "chance_low": 0.2, "chance_high": 0.4, "index": 0.5}
    table = published_homophily(pd.DataFrame({**rows, **bounds}))
    assert table["pairs"].tolist() == [60, 60, 60, 5]
    assert table["same"].tolist() == [1.0, 0.0, 0.5, 0.0]
    assert np.isnan(table["low"].to_numpy()).tolist() == [True, True, False, True]
    assert np.isnan(table["index"].to_numpy()).tolist() == [True, True, False, True]


def test_shares_of_few_people_are_words() -> None:
    assert [str(published_share(part, 90)) for part in (0, 3, 9, 88, 90)] == [
        "0.0", "under 5 people", "0.1", "nearly all", "1.0",
    ]  # fmt: skip
    assert published_share(0, 0) is None


def test_counts_are_rounded_to_five_and_hidden_under_five() -> None:
    assert [str(published(count)) for count in (0, 4, 5, 7, 8, 1203)] == [
        "under 5", "under 5", "about 5", "about 5", "about 10", "about 1,205",
    ]  # fmt: skip
    assert [published(count).span for count in (0, 4, 5, 8)] == [(0, 4), (0, 4), (5, 7), (8, 12)]
    assert [about(count) for count in (0, 2, 3, 7, 8)] == [(0, 2), (0, 2), (3, 7), (3, 7), (8, 12)]
    assert str(PublishedCount(Precision.EXACT, 1203)) == "1,203"


def test_what_a_reader_can_compute() -> None:
    spans = {"a": (0, 9), "b": (5, 9), "c": (3, 3)}
    total = Sum.equal(dict.fromkeys(spans, 1.0), 12)
    assert possible_values(spans, [total])["a"] == (0, 4)
    assert possible_values(spans, [total, Sum({"a": 1.0, "b": -1.0}, -1.0, 9.0)])["a"] == (4, 4)


def test_one_more_count_is_hidden_where_a_sum_would_give_a_small_one_away() -> None:
    """12 + 12 + 4 are 28, and 10 + 10 + under 5 can be 28 only if the last one is 4."""
    counts = {"a": 12, "b": 12, "c": 4}
    total = Sum.equal(dict.fromkeys(counts, 1.0), 28)
    assert {name: str(count) for name, count in safe_counts(counts, [total]).items()} == {
        "a": "\N{EN DASH}", "b": "about 10", "c": "under 5",
    }  # fmt: skip
    assert str(safe_counts(counts, [])["a"]) == "about 10"


@pytest.mark.parametrize("with_ids", [False, True])
def test_the_page_tells_these_tables_and_no_other(with_ids: bool) -> None:
    """Every table is attacked above, or tells of nobody: forecast, open coupons, settings, the sheet asked for."""
    study, schema = a_study()
    people = a_frontier(23)
    settings = ReportSettings(episodes=10, with_ids=with_ids)
    page = re.sub(r"data:image/[^\"]+", "", page_of(a_fit(), study, schema, PlanOrder(12), people, settings))
    numbers = r'<details class="numbers">.*?aria-label="([^"]*)">(<table.*?</table>).*?</details>'
    charts = {title: _cells(table) for title, table in re.findall(numbers, page, re.DOTALL)}
    page = re.sub(numbers, "", page, flags=re.DOTALL)
    tables = [_cells(table) for table in re.findall(r"<table.*?</table>", page, re.DOTALL)]
    summary = summarise(study)
    counts = publish_study(study, summary)
    sheet = plan_coupons(a_fit(), people, PlanOrder(12)).table
    fit = a_fit()
    plan = publish_plan(sheet["coupons"].to_numpy(), fit.rules.max_per_person, fit.schema.fields, people.covariates)
    groups = [
        ["" if place else name, group.category or "not known", str(group.people), _mean(group.mean)]
        for name, groups in plan.fields.items()
        for place, group in enumerate(groups)
    ]
    sheets = ("sheet",) if with_ids else ()
    names = ("numbers", "forecast", "facts", *sheets, "groups", "open coupons", "homophily", "counts", "columns")
    by_name = dict(zip((*names, "settings"), tables, strict=True))
    assert by_name["numbers"][1:] == [[str(number), str(count)] for number, count in plan.numbers]
    assert by_name["groups"][1:] == groups
    lines = page[page.index('id="plan"') : page.index('id="forecast"')]
    assert ("23 people" in lines) == with_ids
    assert by_name["facts"] == [[name, str(count)] for name, count in counts.facts.items()]
    for _, number in by_name["open coupons"][1:]:  # coupons, each row rounded by itself
        assert number == "hardly any" or int(number.removeprefix("about ").replace(",", "")) % 5 == 0
    assert by_name["counts"][1:] == [list(map(str, row)) for row in counts.rows]
    homophily = published_homophily(homophily_table(study, schema))
    assert [row[1] for row in by_name["homophily"][1:]] == [str(pairs) for pairs in homophily["pairs"]]
    assert not re.search(r"\d+ trees", page)
    spends = ["Recruits expected in all, by coupons given out this round"] if with_ids else []
    of_nobody = ["People who have taken part", "Recruits by round", "People who can be reached", *spends]
    rounded = ["People by wave", "Recruits by week (at its last day)"]
    assert charts.keys() == {*of_nobody, *rounded, "Recruits per coupon", "Do people recruit their like?"}
    assert all(int(row[1]) % 5 == 0 for title in rounded for row in charts[title][1:])
    assert bool(charts["Recruits per coupon"][1][4]) == with_ids, "few coupons of seeds, so their share is not told"


def _cells(table: str) -> list[list[str]]:
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]


def _mean(mean: float | None) -> str:
    return "\N{EN DASH}" if mean is None else f"{mean:.1f}"


def test_a_study_with_many_different_numbers_is_published_without_its_table() -> None:
    people = 900
    study = made_study(0)
    many = Study(
        "made", "recruiter", "row", ReadSettings(), {}, np.arange(people) + 2,
        np.array([f"p{i}" for i in range(people)], dtype=object), np.full(people, NOBODY), np.ones(people, dtype=bool),
        np.arange(people), pd.DataFrame(index=range(people)), None, None, None, None, np.zeros(people, dtype=bool), (),
    )  # fmt: skip
    page = publish_study(many, summarise(many))
    assert page.rows == ()
    assert str(page.facts["people"]) == "900"
    assert publish_study(study, summarise(study)).rows
