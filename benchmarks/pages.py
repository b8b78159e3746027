"""What each page of the app and of a live study costs: words, requests, bytes, first paint, barriers, touch targets.

python benchmarks/pages.py --json after.json --against before.json
python benchmarks/pages.py --only live --people 3000

Starts `peerfront app` with the made-up study, carried through every step, and `peerfront live demo`, and opens every
page that links of each role lead to in Chromium, at three sizes. Measured are the pages of the `peerfront` that Python
finds, so `PYTHONPATH=OTHER/src python benchmarks/pages.py --json before.json` measures another version.

Bytes and requests are of a first visit, without the browser's cache. First paint is the median of three loads on this
machine, server and browser on the same cores: compare versions within one hour, not with other machines.
"""

import argparse
import json
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

import peerfront as pf

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "web" / "app")]

from app_client import CHROMIUM_OPTIONS, running_app  # noqa: E402

from web.browsing import SIZES, barriers_of, log_in, running_demo  # noqa: E402

LOADS = 3
PATIENCE = 600.0  # seconds for the longest job
ROLES = ("interviewer-north", "cashier", "coordinator", "investigator", "analyst", "manager")
LOOK = """() => {
  const seen = (e) => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const words = [], small = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const told = node.data.trim().split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word));
    const holder = node.parentElement, box = holder.getBoundingClientRect();
    if (!told.length || !seen(holder) || box.width < 2 || box.height < 2) continue;
    if (["SCRIPT", "STYLE", "OPTION", "TITLE", "DESC"].includes(holder.tagName)) continue;
    words.push(...told);
    const scale = holder.getScreenCTM ? holder.getScreenCTM().a : 1;
    if (parseFloat(getComputedStyle(holder).fontSize) * scale < 10.95) small.add(holder);
  }
  const targets = [];
  for (const each of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (each.type === "hidden" || !seen(each)) continue;
    if (each.tagName === "A" && getComputedStyle(each).display === "inline") continue;
    let boxes = [each, ...(each.labels || [])].filter(seen).map((e) => e.getBoundingClientRect());
    boxes = boxes.filter((box) => box.width > 1 && box.height > 1 && box.right > 0 && box.bottom > 0);
    const side = Math.max(...boxes.map((box) => Math.min(box.width, box.height)));
    if (boxes.length) targets.push([side, each.outerHTML.slice(0, 90)]);
  }
  targets.sort((one, other) => one[0] - other[0]);
  const root = document.documentElement;
  return {words: words.length, small_text: small.size, target: targets.length ? Math.round(targets[0][0]) : null,
          target_of: targets.length ? targets[0][1] : "", sideways: root.scrollWidth > root.clientWidth};
}"""
FILL = "(each, value) => each.type === 'checkbox' ? (each.checked = true) : (each.value = value)"
PAINT = "() => performance.getEntriesByName('first-contentful-paint').map((each) => each.startTime)[0] ?? null"


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, as it is installed here."""
    with sync_playwright() as browsers:
        running = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
        yield running
        running.close()


def at_work(context: BrowserContext, address: str, name: str, password: str) -> Page:
    """A page of somebody who has logged in, and says where they work if asked."""
    page = log_in(context, address, name, password)
    page.goto(f"{address}/pay/")
    asked = page.locator("main form[action='/work-at/']")
    if asked.count():
        asked.first.evaluate("form => form.requestSubmit()")
        page.wait_for_load_state()
    return page


def import_people(folder: Path, people: int) -> None:
    """Import a made-up study of so many people into a live study."""
    file = folder.parent / "many.csv"
    others = pf.demo_study(people=people).study.assign(id=lambda table: "Q" + table["id"])  # not those of the demo
    others.to_csv(file, index=False)
    command = [sys.executable, "-m", "peerfront", "live", "import", str(folder), str(file), "--site", "north"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


# The app, step by step -----------------------------------------------------------------------------------------------


def send(page: Page, path: str, made: Path, field: str = "", **entries: str) -> None:
    """Send the form of a page that has this field, or that goes there, and wait for the file that it makes."""
    address = "{0.scheme}://{0.netloc}".format(urlsplit(page.url))
    before = made.stat().st_mtime_ns if made.exists() else 0
    form = page.locator(f"form:has([name={field}])" if field else f"form[action='{path}']").first
    if field and page.url != address + path:
        page.goto(address + path)
    for name, value in entries.items():
        form.locator(f"[name={name}]").first.evaluate(FILL, value)
    form.evaluate("form => HTMLFormElement.prototype.submit.call(form)")
    end = time.monotonic() + PATIENCE
    while not made.exists() or made.stat().st_mtime_ns == before or page.locator("progress").count():
        if time.monotonic() > end:
            raise TimeoutError(f"{path} makes no {made}: {page.inner_text('body')}")
        time.sleep(0.5)
        page.goto(address + (path if field else "/file/"))


def app_states(page: Page, folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Carry the made-up study from step to step; gives the name of each state and the pages that are new in it."""
    yield "empty folder", ("file", "week")
    send(page, "/file/example/", folder / "schema.toml")
    yield "file read", ("file", "columns", "fit")
    send(page, "/fit/", folder / "model" / "manifest.json", "budget", budget="60", rounds="6")
    yield "fitted", ("fit", "sheet")
    send(page, "/sheet/", folder / "sheet.csv", "budget", budget="60", target="300", deadline="2024-06-30")
    yield "planned", ("sheet", "forecast", "estimates", "report", "week")
    send(page, "/estimates/", folder / "estimates" / "estimates.csv", "outcome", outcome="")
    send(page, "/report/", folder / "report.html", "with_ids")
    send(page, "/week/", folder / "log.jsonl", "budget")
    yield "after a week", ("estimates", "report", "week")
    messy = folder.parent / "messy.csv"
    messy.write_text(MESSY)
    page.goto("{0.scheme}://{0.netloc}/file/".format(urlsplit(page.url)))
    page.set_input_files("input[type=file]", messy)
    send(page, "/file/", folder / "files" / "messy.csv", "study_file")
    yield "file with faults", ("file", "sheet")


MESSY = """id,own coupon,coupon 1,coupon 2,date,district
P1,,C1A,C1B,2024-01-02,Norte
P2,C1A,C2A,C2B,2024-01-09,Sur
P3,ClB,C3A,C3B,2024-01-10,Sur
P4,C2A,C4A,C4B,2024-01-17,Norte
P5,C2-B,C5A,C5B,2024-01-18,Norte
P6,C3-A,C6A,C6B,2024-01-20,Sur
P4,C2A,C4A,C4B,2024-01-17,Norte
"""


# Measuring -----------------------------------------------------------------------------------------------------------


def measure(page: Page, url: str) -> dict[str, dict[str, Any]]:
    """Measures of a page at each size."""
    found = {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sent: list[float] = []
    session.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    for size, viewport in SIZES.items():
        page.set_viewport_size(viewport)
        paints = []
        for _ in range(LOADS):
            sent.clear()
            page.goto(url, wait_until="networkidle")
            paints.append(page.evaluate(PAINT))
        loaded = {"requests": len(sent), "bytes": round(sum(sent))}
        painted = [each for each in paints if each is not None]
        paint = round(statistics.median(painted)) if painted else None
        found[size] = {**page.evaluate(LOOK), **loaded, "paint_ms": paint, "barriers": barriers_of(page)}
    session.detach()
    return found


def measure_app(chromium: Browser, folder: Path, report: Callable[[str, Page, str], None]) -> None:
    with running_app(folder / "harbour") as app:
        context = chromium.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(app.link)
        for state, steps in app_states(page, folder / "harbour"):
            looking = context.new_page()
            for step in steps:
                report(f"app, {state}: {step}", looking, f"{app.address}/{step}/")
            looking.close()
            page.goto(f"{app.address}/file/")
        context.close()


def measure_live(chromium: Browser, folder: Path, people: int, report: Callable[[str, Page, str], None]) -> None:
    with running_demo(folder / "study") as (address, passwords):
        if people:
            import_people(folder / "study", people)
        context = chromium.new_context()
        report("live, nobody: /login/", context.new_page(), f"{address}/login/")
        context.close()
        seen: set[str] = set()
        more = _typed_pages(chromium, address, passwords)
        for role in [each for each in ROLES if each in passwords]:
            context = chromium.new_context()
            page = at_work(context, address, role, passwords[role])
            if role in ("coordinator", "investigator"):
                wait_for_the_plan(page, address)
            to_open = ["/", *more.get(role, ())]
            seen.discard("/")
            while to_open:
                path = to_open.pop(0)
                shape = _shape(path)
                if shape in seen or not _is_page(context, address + path):
                    continue
                seen.add(shape)
                report(f"live, {role.split('-')[0]}: {shape}", page, address + path)
                links = page.eval_on_selector_all("a[href]", "all => all.map((each) => each.href)")
                to_open += [each.removeprefix(address) for each in links if each.startswith(f"{address}/")]
            context.close()


def _typed_pages(chromium: Browser, address: str, passwords: dict[str, str]) -> dict[str, list[str]]:
    """Pages that are reached by typing: enrolment with a valid coupon, coupons and payments of people who wait."""
    context = chromium.new_context()
    page = log_in(context, address, "coordinator", passwords["coordinator"])
    page.goto(f"{address}/coupons/?state=valid")
    codes = re.findall(r'href="/coupons/([^"/]+)/"', page.content())
    page.goto(f"{address}/people/?show=waiting")
    waits = re.findall(r'href="/people/([^"/]+)/"', page.content())
    context.close()
    at_the_counter = [f"/enrol/?code={code}" for code in codes] + [f"/people/{each}/hand-out/" for each in waits]
    return {"interviewer-north": at_the_counter, "cashier": [f"/pay/?typed={each}" for each in waits]}


def wait_for_the_plan(page: Page, address: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        page.goto(f"{address}/plan/")
        if "/plan/job/" not in page.content() and "/plan/job/" not in page.url:
            return
        time.sleep(2)


def _shape(path: str) -> str:
    """A path with * for codes, numbers and pseudonyms; only what is asked of enrolment and payment counts after it."""
    at, _, query = path.split("#")[0].partition("?")
    shape = "/".join("*" if re.search(r"\d", part) else part for part in at.split("/"))
    return f"{shape}?*" if query.startswith(("code=", "typed=")) else shape


def _is_page(context: BrowserContext, url: str) -> bool:
    answer = context.request.get(url)
    return answer.ok and answer.headers.get("content-type", "").startswith("text/html")


# Telling -------------------------------------------------------------------------------------------------------------

COLUMNS = ("words", "requests", "KB", "first paint ms", "barriers", "sideways", "smallest target px", "small texts")


def cells(sizes: dict[str, dict[str, Any]]) -> list[str]:
    """A page in a row: what is the same at every size once, the rest as desk / tablet / phone."""
    each = list(sizes.values())

    def shown(name: str) -> str:
        values = [str(one[name]) if one[name] is not None else "-" for one in each]
        return values[0] if len(set(values)) == 1 else " / ".join(values)

    return [
        shown("words"),
        str(each[0]["requests"]),
        f"{each[0]['bytes'] / 1000:.0f}",
        shown("paint_ms"),
        str(sum(len(one["barriers"]) for one in each)),
        ", ".join(size for size in sizes if sizes[size]["sideways"]) or "no",
        shown("target"),
        shown("small_text"),
    ]


def told(after: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """The table in Markdown; with earlier figures, each cell is "before → after" where they differ."""
    lines = ["| page | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for name in [*after, *(each for each in before or {} if each not in after)]:
        now = cells(after[name]) if name in after else ["gone"] * len(COLUMNS)
        if before is not None:
            old = cells(before[name]) if name in before else ["new"] * len(COLUMNS)
            now = [one if one == other else f"{one} → {other}" for one, other in zip(old, now, strict=True)]
        lines.append(f"| {name} | " + " | ".join(now) + " |")
    return "\n".join([*lines, "", *totals(after, before)])


def totals(after: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    """Sums over the pages that both versions have."""
    both = [name for name in after if before is None or name in before]
    lines = [f"Over {len(both)} pages" + (" that both have:" if before is not None else ":")]
    for title, figures in (("before", before), ("now", after)):
        if figures is not None:
            rows = [figures[name] for name in both]
            paint = statistics.median(one["paint_ms"] for row in rows for one in row.values() if one["paint_ms"])
            lines.append(
                f"- {title}: {sum(row['phone']['words'] for row in rows)} words, "
                f"{sum(row['phone']['requests'] for row in rows)} requests, "
                f"{sum(row['phone']['bytes'] for row in rows) / 1000:.0f} KB, median first paint {paint:.0f} ms, "
                f"{sum(len(one['barriers']) for row in rows for one in row.values())} barriers, "
                f"{sum(one['sideways'] for row in rows for one in row.values())} sideways, "
                f"{sum(one['small_text'] for row in rows for one in row.values())} small texts"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("app", "live"))
    parser.add_argument("--people", type=int, default=0, help="import so many people into the live study")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--against", type=Path, help="figures of an earlier run, to show beside")
    chosen = parser.parse_args()
    figures: dict[str, Any] = {}

    def report(name: str, page: Page, url: str) -> None:
        figures[name] = measure(page, url)
        print(name, *cells(figures[name]), sep=" | ", file=sys.stderr, flush=True)
        if chosen.json:
            chosen.json.write_text(json.dumps(figures, indent=1))

    with tempfile.TemporaryDirectory(prefix=f"pages-{secrets.token_hex(2)}-") as own, browser() as chromium:
        if chosen.only != "live":
            measure_app(chromium, Path(own), report)
        if chosen.only != "app":
            measure_live(chromium, Path(own), chosen.people, report)
    print(told(figures, json.loads(chosen.against.read_text()) if chosen.against else None))


if __name__ == "__main__":
    main()
