"""Take the picture of the app in use-the-app.md: `python docs/draw_app.py` (needs Chromium, takes a minute)."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "web" / "app"))
from app_client import CHROMIUM_OPTIONS, running_app  # noqa: E402


def main() -> None:
    with tempfile.TemporaryDirectory() as own, running_app(Path(own) / "harbour") as app, sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
        page = browser.new_page(viewport={"width": 1280, "height": 1200})
        page.set_default_timeout(300_000)
        page.goto(app.link)
        page.get_by_role("button", name="Try it with a made-up study").click()
        page.get_by_role("link", name="Next: columns").wait_for()
        page.goto(f"{app.address}/fit/")
        page.get_by_label("Coupons left").fill("60")
        page.get_by_role("button", name="Fit", exact=True).click()
        page.get_by_role("link", name="Next: the sheet").wait_for()
        page.goto(f"{app.address}/sheet/")
        page.get_by_role("button", name="Make the sheet").click()
        page.get_by_role("heading", name="Who gets how many").wait_for()
        page.screenshot(path=ROOT / "docs" / "images" / "app.png")
        browser.close()


if __name__ == "__main__":
    main()
