"""The page: complete in itself, about nobody in particular, and readable in a real browser at every width."""

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.study.coupon_sheet import Heading
from peerfront.study.homophily import homophily_table
from peerfront.study.orders import PlanOrder
from peerfront.study.report import ReportSettings, study_report
from peerfront.words.charts import drawn
from peerfront.words.disclosure import disclosures
from peerfront.words.report_charts import MOST_TREES, homophily_chart, tree_pictures, wave_chart
from peerfront.words.report_page import page_environment, report_page
from study.small_advice import a_fit, a_frontier, a_study, page_of, study_csv

HEADINGS = (
    "What to do",
    "What to expect",
    "The study and what is known",
    "Coupons by group",
    "What plan and forecast rest on",
    "Why it may slow down",
    "The calendar",
    "Do people recruit their like?",
    "The data and its problems",
    "The recruitment trees",
    "How well the model fits",
    "Settings",
    "What a paper has to disclose",
)
HEADING = Heading("Harbour study", "2026-03-02", 4)
QUICK = ReportSettings(episodes=40, heading=HEADING)
ORDER = PlanOrder(12, rounds_left=3, target=100)


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(a_fit(), *a_study(), ORDER, settings=QUICK)


class _Balance(HTMLParser):
    """Whether every tag that is opened is closed, in order, and what is asked for from elsewhere."""

    ALONE = ("meta", "img", "source", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attributes) -> None:
        self.addresses += [value for name, value in attributes if name in ("src", "srcset", "href")]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_for_nothing(page: str) -> None:
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    assert page.lstrip().startswith("<!doctype html>")
    assert all(address.startswith(("data:image/", "#")) for address in parser.addresses)
    assert "<script" not in page
    assert [heading for heading in HEADINGS if f"<h2>{heading}</h2>" not in page] == []
    for word in (
        "STROBE-RDS (White et al., 2015)",
        "decided by peerfront",
        "Target 100",
        "None were found",
    ):
        assert word in page
    assert "Warning." not in page
    assert page_of(a_fit(), *a_study(), ORDER, settings=QUICK) == page  # byte for byte


def text_of(page: str) -> str:
    return re.sub(r"data:image/[^\"]+", "", page)


def test_nobody_s_id_or_coupon_is_on_the_page_unless_asked_for(page: str) -> None:
    assert not re.search(r"person-\d|SECRET", page)
    asked = dataclasses.replace(QUICK, with_ids=True)
    named = text_of(page_of(a_fit(), *a_study(), ORDER, a_frontier(6), asked))
    assert set(re.findall(r"waiting-\d", named)) == set(a_frontier(6).ids)
    assert not re.search(r"person-\d|SECRET", named)
    sheet = named[named.index('class="handout') : named.index('id="appendix"')]
    for room in ("Coupon sheet", "Coupon numbers", "Initials", "If asked", "Harbour study", "2026-03-02", "Round: 4"):
        assert room in sheet
    assert "As planned for this round." in sheet
    assert "likely" not in sheet  # it is read beside the person
    groups = named[named.index('id="groups"') : named.index('id="data"')]
    assert "under 5" in groups  # groups too small to be described


def test_it_begins_with_study_date_round_and_plan(page: str) -> None:
    body = page[page.index("<body>") :]
    places = [
        body.index(part)
        for part in ("<h1>Harbour study</h1>", "2026-03-02, round 4", 'id="plan"', 'id="forecast"', 'id="data"')
    ]
    assert places == sorted(places)
    assert [page.index(f"<h2>{heading}</h2>") for heading in HEADINGS] == sorted(
        page.index(f"<h2>{heading}</h2>") for heading in HEADINGS
    )
    unnamed = page_of(a_fit(), *a_study(), ORDER, settings=ReportSettings(episodes=10, with_trees=False))
    assert "<h1>study</h1>" in unnamed  # after its file
    assert "The recruitment trees" not in unnamed
    assert '<p class="when">' not in unnamed


def test_four_lines_come_first_and_the_rest_is_an_appendix() -> None:
    order = PlanOrder(12, rounds_left=3, target=100)
    report = study_report(a_fit(), *a_study(), order, settings=QUICK)
    page = report_page(report)
    main, appendix = text_of(page[page.index("<body>") :]).split('<div id="appendix"')
    assert len(re.sub(r"<[^>]+>", " ", main).split()) <= 900
    assert "What a paper has to disclose" in appendix
    lines = re.findall(r"<li>(.*?)</li>", main[: main.index('id="forecast"')])
    assert len(lines) <= 5
    assert lines[0].startswith("Give out")
    assert "about " in lines[0] or "under 5" in lines[0]  # people are counted to five
    assert report.sheet is not None
    assert lines[1] == str(report.sheet.lines()[1])  # the figures of the sheet


def test_problems_are_counted_and_not_told(tmp_path: Path) -> None:
    lines = study_csv().splitlines()
    lines[5] = lines[5].replace(lines[5].split(",")[1], "SECRET-nobody")
    lines[-1] = lines[-1].replace(lines[-1].split(",")[1], "SECRET-too-late-for-a-seed")
    (tmp_path / "study.csv").write_text("\n".join(lines))
    _, schema = a_study()
    study = read_study(tmp_path / "study.csv", dataclasses.replace(schema.reading, still_open="none"))
    page = page_of(a_fit(), study, schema, ORDER, settings=QUICK)
    assert "redeemed coupon nobody was issued" in page
    assert not re.search(r"person-\d|SECRET", page)
    assert "This file is not the one the model was fitted to" in page  # a warning, and the page all the same
    assert "There is no plan on this page" in page  # nobody's coupons are open
    assert 'id="forecast"' not in page


def test_another_schema_is_an_error() -> None:
    study, schema = a_study()
    other = StudySchema((FieldRule("town", ("north", "south")),), reading=schema.reading)
    with pytest.raises(DataFileError, match="another schema"):
        page_of(a_fit(), study, other, ORDER, settings=QUICK)


def test_names_of_columns_cannot_break_the_page() -> None:
    shown = page_environment().from_string("{{ name }} {{ share|percent }}")
    assert shown.render(name="<b>&sex", share=0.999) == "&lt;b&gt;&amp;sex over 99%"


# Parts ---------------------------------------------------------------------------------------------------------------


def test_homophily_of_people_who_recruit_only_their_like_and_of_those_who_do_not_care(tmp_path: Path) -> None:
    rng = named_generator("homophily")
    rows = [(f"s{n}", "", "ab"[n % 2], "xy"[n % 2]) for n in range(40)]
    rows += [(f"r{n}", f"s{n // 3}", "ab"[n // 3 % 2], "xy"[rng.integers(2)]) for n in range(120)]
    body = "\n".join(f"{person},{recruiter},3,{like},{any_}" for person, recruiter, like, any_ in rows)
    (tmp_path / "s.csv").write_text("id,recruiter,coupons_issued,alike,mixed\n" + body + "\n")
    study = read_study(tmp_path / "s.csv", ReadSettings(columns={"coupons_issued": ("coupons_issued",)}))
    schema = StudySchema((FieldRule("alike", ("a", "b")), FieldRule("mixed", ("x", "y"))))
    alike, mixed = homophily_table(study, schema).to_dict("records")
    assert (alike["same"], alike["index"], alike["pairs"]) == (1.0, 1.0, 120)
    assert alike["chance"] == pytest.approx(0.5, abs=0.01)
    assert alike["low"] > alike["chance_high"]
    assert 0.85 < alike["low"] < 1.0  # forty recruiters, not a hundred and twenty pairs
    assert mixed["low"] < mixed["chance"] < mixed["high"]
    assert abs(mixed["index"]) < 0.25


def test_a_large_study_is_drawn_by_its_largest_trees_and_waves_are_rounded() -> None:
    study, _ = a_study()
    copies = 3_000 // len(study) + 1
    offsets = np.repeat(np.arange(copies) * len(study), len(study))
    recruiter = np.tile(study.recruiter, copies)
    many = dataclasses.replace(
        study,
        ids=np.tile(study.ids, copies),
        recruiter=np.where(recruiter == NOBODY, NOBODY, recruiter + offsets),
        seed=np.tile(study.seed, copies),
    )
    pictures = tree_pictures(many)
    assert len(pictures) == MOST_TREES
    assert sum(map(len, pictures)) < 300_000
    dots = [picture.count("h0") for picture in tree_pictures(study)]
    assert dots == sorted(dots, reverse=True)
    sizes = np.unique(study.trees.root, return_counts=True)[1]
    assert sum(dots) == sizes[sizes > 1].sum(), "seeds who brought nobody are left out"
    assert {picture.count("h0.01") for picture in tree_pictures(study)} == {1}, "a seed is seen on paper, too"
    assert all(point.y % 5 == 0 for point in wave_chart(study).series[0].points)


def test_what_to_disclose_says_who_decides() -> None:
    fit, order = a_fit(), PlanOrder(15)
    report = study_report(fit, *a_study(), order, settings=ReportSettings(episodes=5))
    points = disclosures(report)
    by_tool = [str(point.topic) for point in points if str(point.decided_by) == "peerfront"]
    assert by_tool == ["Changes of coupon numbers during the study", "How recruitment was adapted"]
    adapted = next(point for point in points if str(point.topic) == "How recruitment was adapted")
    for fact in ("sex, town", fit.data_fingerprint[:16], "15 coupons", "4 rounds", "0.95 times as much"):
        assert fact in str(adapted.draft)
    assert all("[" in str(point.draft) for point in points)


# In a browser --------------------------------------------------------------------------------------------------------

_FRAME = """<!doctype html><html><body style="margin:0">
<iframe id="page" src="page.html{place}" style="width:{width}px;height:900px;border:0"></iframe>
<pre id="found">nothing</pre><script>
document.getElementById("page").onload = () => {{
  const inside = document.getElementById("page").contentDocument;
  const charts = [...inside.querySelectorAll("img, .plot")].filter(each => each.getBoundingClientRect().width > 0);
  document.getElementById("found").textContent = JSON.stringify({{
    overflow: inside.documentElement.scrollWidth - {width},
    broken: charts.filter(each => each.tagName === "IMG" && !each.naturalWidth).length,
    charts: charts.length,
    widest: Math.max(...charts.map(each => each.getBoundingClientRect().right)),
    smallest: Math.min(...charts.map(each => each.getBoundingClientRect().width)),
    headings: [...inside.querySelectorAll("h2")].map(heading => heading.textContent),
  }});
}};
</script></body></html>"""


@pytest.mark.parametrize(("width", "place", "charts"), [(1280, "", 2), (1280, "#fit", 9), (390, "#appendix", 9)])
def test_it_renders_in_a_browser(page: str, tmp_path: Path, width: int, place: str, charts: int) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed here")
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "frame.html").write_text(_FRAME.format(width=width, place=place))
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    ran = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *quiet,
         "--allow-file-access-from-files", "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}",
         "--window-size=1400,1000", "--virtual-time-budget=8000", "--dump-dom", (tmp_path / "frame.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    told = re.search(r'<pre id="found">(\{.*?\})</pre>', ran.stdout, re.DOTALL)
    assert told, ran.stderr[-2000:]
    found = json.loads(told[1].replace("&amp;", "&"))
    assert found["headings"] == list(HEADINGS)
    assert found["overflow"] <= 0, "the page is wider than the window"
    assert (found["broken"], found["charts"]) == (0, charts), "the appendix opens by a link into it"
    assert found["smallest"] > 250
    assert found["widest"] <= width, "a chart runs off the page"
    assert "CONSOLE" not in ran.stderr


def test_it_prints_on_pages_that_break_where_a_person_would(tmp_path: Path) -> None:
    browser, reader = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("pdftotext")
    if browser is None or reader is None:
        pytest.skip("no chromium or no pdftotext is installed here")
    asked = dataclasses.replace(QUICK, with_ids=True)
    (tmp_path / "page.html").write_text(page_of(a_fit(), *a_study(), ORDER, a_frontier(40), asked))
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-pdf-header-footer",
         f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={tmp_path / 'page.pdf'}",
         (tmp_path / "page.html").as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    layout = [reader, "-layout", str(tmp_path / "page.pdf"), "-"]
    printed = subprocess.run(layout, capture_output=True, text=True, check=True).stdout
    pages = [
        [line.strip() for line in page.splitlines() if line.strip()] for page in printed.split("\f") if page.strip()
    ]
    assert 8 <= len(pages) <= 14
    assert pages[0][1] == "Harbour study"
    assert any("The plan" in line for line in pages[0])
    for lines in pages:
        assert re.fullmatch(r"\d+ / \d+", lines[-1])
        assert lines[-2] not in HEADINGS, "a heading stands alone at the end of a page"
    sheet = [lines for lines in pages if any("waiting-" in line for line in lines)]
    assert len(sheet) > 1
    for lines in sheet:  # title and header on every page of the sheet
        assert any("Harbour study" in line and "Round: 4" in line for line in lines)
        assert any("Coupon numbers" in line and "Initials" in line for line in lines)
    for person in a_frontier(40).ids:
        assert sum(bool(re.search(rf"{person}\b", " ".join(lines))) for lines in sheet) == 1


def test_typed_names_are_seen_as_they_are_on_the_page_and_in_its_pictures() -> None:
    names = ["$x$", "$\\frac$", "[/x]", "<script>", "\x1b[31m", "\u202ex"]
    rows = {"field": names, "pairs": 9, "same": 0.5, "low": 0.4, "high": 0.6, "chance": 0.3}
    table = pd.DataFrame({**rows, "chance_low": 0.2, "chance_high": 0.4, "index": 0.3})
    chart = drawn(homophily_chart(table))
    for name in ("$x$", "$\\frac$", "[/x]", "&lt;script&gt;", "\\x1b[31m", "\\u202ex"):
        assert f'<th scope="row">{name}</th>' in chart
    page = page_environment().from_string("{% for name in names %}{{ name }}\n{% endfor %}").render(names=names)
    assert page.split() == ["$x$", "$\\frac$", "[/x]", "&lt;script&gt;", "\\x1b[31m", "\\u202ex"]
