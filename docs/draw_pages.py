"""Take the pictures of pages in the documents: `python docs/draw_pages.py` (needs Chromium, takes about five minutes).

The app with the made-up study of its first page, and the live study of `peerfront live demo`.
"""

import re
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from pages import app_states, at_work, browser, running_app, running_demo, wait_for_the_plan  # noqa: E402

IMAGES = ROOT / "docs" / "images"
DESK, TABLET, PHONE = ({"width": 1280, "height": 900}, {"width": 820, "height": 1000}, {"width": 390, "height": 844})
COLOURS = 64


def draw(page: Page, path: str, name: str, viewport: dict[str, int]) -> None:
    """Take a picture of a page, with few colours so that it stays small."""
    page.set_viewport_size(viewport)  # type: ignore[arg-type]
    page.goto(path)
    page.wait_for_load_state("networkidle")
    file = IMAGES / f"{name}.png"
    page.screenshot(path=file)
    Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)


def draw_app(chromium: Browser, folder: Path) -> None:
    with running_app(folder) as app:
        context = chromium.new_context(base_url=app.address)
        page = context.new_page()
        page.goto(app.link)
        for state, _ in app_states(page, folder):
            if state == "file read":
                draw(page, "/file/", "app-file", DESK)
            elif state == "planned":
                draw(page, "/sheet/", "app-sheet", DESK)
                draw(page, "/sheet/", "app-sheet-phone", PHONE)
                draw(page, "/forecast/", "app-forecast", DESK)
            elif state == "after a week":
                draw(page, "/week/", "app-week", DESK)
                break
        context.close()


def draw_live(chromium: Browser, folder: Path) -> None:
    with running_demo(folder) as (address, passwords):
        context = chromium.new_context(base_url=address)
        page = at_work(context, address, "coordinator", passwords["coordinator"])
        wait_for_the_plan(page, address)
        draw(page, "/plan/", "live-plan", DESK)
        draw(page, "/progress/", "live-progress", DESK)
        draw(page, "/trees/", "live-trees", DESK)
        draw(page, "/", "live-home", TABLET)
        page.goto("/people/?show=waiting")
        people = re.findall(r'href="/people/([^"/]+)/"', page.content())
        context.close()
        context = chromium.new_context(base_url=address)
        page = at_work(context, address, "interviewer-north", passwords["interviewer-north"])
        addresses = [f"/people/{person}/hand-out/" for person in people]
        draw(page, next(each for each in addresses if context.request.get(each).ok), "live-hand-out", TABLET)
        context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as own, browser() as chromium:
        draw_app(chromium, Path(own) / "harbour")
        draw_live(chromium, Path(own) / "study")


if __name__ == "__main__":
    main()
