"""Scan with the camera of the device, which Chromium plays from a file; and what is told where there is none."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import segno
from field_study import FieldStudy
from live_client import CHROMIUM_OPTIONS, served, until
from test_field_in_a_browser import PHONE, _log_in, _too_wide

from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role

WIDTH, HEIGHT, MODULE = 640, 480, 10
FAKE = "--use-fake-device-for-media-stream"
ALLOWED = "--use-fake-ui-for-media-stream"
NOTES_STREAMS = """
  window.streams = [];
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    const stream = await open(wanted);
    window.streams.push(stream);
    return stream;
  };"""
OWN_READER = """window.BarcodeDetector = class {
  static async getSupportedFormats() { return ["qr_code"]; }
  async detect() { return [{ rawValue: "NOT-OURS" }]; }
};"""


def film(folder: Path, text: str) -> Path:
    """A film of a QR code before the camera, as YUV4MPEG2."""
    dark = np.array([[bool(module) for module in row] for row in segno.make_qr(text, error="h").matrix])
    code = np.kron(np.where(dark, 20, 235), np.ones((MODULE, MODULE)))
    picture = np.full((HEIGHT, WIDTH), 180)
    top, start = (HEIGHT - len(code)) // 2, (WIDTH - len(code)) // 2
    picture[top - 40 : top + len(code) + 40, start - 40 : start + len(code) + 40] = 235
    picture[top : top + len(code), start : start + len(code)] = code
    frame = b"FRAME\n" + picture.astype(np.uint8).tobytes() + bytes([128]) * (WIDTH * HEIGHT // 2)
    path = folder / "camera.y4m"
    path.write_bytes(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F10:1 Ip A1:1 C420jpeg\n".encode() + frame * 10)
    return path


@contextmanager
def _at_work(chromium, study: FieldStudy, role: Role, *options: str, script: str = ""):
    """Somebody at a telephone whose browser was started with these options."""
    browser = chromium.browser_type.launch(
        executable_path=shutil.which("chromium"), args=[*CHROMIUM_OPTIONS, *options], headless=True
    )
    user = study.user(role, "north")
    with served() as address:
        context = browser.new_context(viewport=PHONE, base_url=address, has_touch=True)
        context.set_default_timeout(20_000)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.goto("/login/")
        _log_in(page, user.username)
        yield page
        browser.close()


def _start(page) -> None:
    page.get_by_role("button", name="Scan with the camera").tap()


@pytest.mark.usefixtures("one_database")
def test_a_coupon_before_the_camera_is_checked_once(chromium, tmp_path) -> None:
    study = FieldStudy()
    code, *_ = study.coupons(1)
    shown = f"--use-file-for-fake-video-capture={film(tmp_path, code)}"
    with _at_work(chromium, study, Role.INTERVIEWER, FAKE, ALLOWED, shown) as page:
        broken: list[str] = []
        page.on("console", lambda told: broken.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: broken.append(str(error)))
        _start(page)
        page.wait_for_url("**/enrol/**")
        assert "is valid" in page.locator(".card.good").inner_text()
        assert broken == [], "nothing against the content security policy"
    assert models.Event.objects.filter(kind="coupon_scanned").count() == 1
    study.enrol("dora", code)
    with _at_work(chromium, study, Role.CASHIER, FAKE, ALLOWED, shown) as page:
        page.goto("/pay/")
        _start(page)
        page.get_by_role("button", name="Pay EUR").first.wait_for()


@pytest.mark.usefixtures("one_database")
def test_a_code_that_is_none_of_ours_is_told(chromium, tmp_path) -> None:
    shown = f"--use-file-for-fake-video-capture={film(tmp_path, 'HTTPS://EXAMPLE.ORG')}"
    with _at_work(chromium, FieldStudy(), Role.INTERVIEWER, FAKE, ALLOWED, shown) as page:
        page.goto("/arrive/")
        _start(page)
        page.locator(".card.bad").wait_for()
        assert page.get_by_label("Coupon code").evaluate("box => box === document.activeElement"), "typing goes on"


@pytest.mark.usefixtures("one_database")
def test_the_camera_stops_when_it_is_not_needed(chromium, tmp_path) -> None:
    with _at_work(chromium, FieldStudy(), Role.INTERVIEWER, FAKE, ALLOWED, script=NOTES_STREAMS) as page:
        states = "window.streams.flatMap((each) => each.getTracks()).map((track) => track.readyState)"
        for leave in (
            lambda: page.get_by_role("button", name="Stop the camera").tap(),
            lambda: page.evaluate("window.dispatchEvent(new PageTransitionEvent('pagehide'))"),
        ):
            _start(page)
            until(page, "document.querySelector('video').videoWidth > 0")
            assert page.evaluate(states)[-1] == "live"
            assert not _too_wide(page)
            leave()
            assert set(page.evaluate(states)) == {"ended"}
            assert page.locator("video").is_hidden()
        page.wait_for_timeout(300)
        assert page.locator("[data-problem]:visible").count() == 0, "stopping is no problem"


@pytest.mark.usefixtures("one_database")
def test_the_reader_of_the_browser_comes_first(chromium) -> None:
    with _at_work(chromium, FieldStudy(), Role.INTERVIEWER, FAKE, ALLOWED, script=OWN_READER) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        _start(page)
        page.locator(".card.bad").wait_for()
        assert not any("vendor" in each for each in asked)


def _fails(name: str) -> str:
    return f"navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('', '{name}'); }};"


NO_HTTPS = "Object.defineProperty(navigator, 'mediaDevices', { value: undefined });"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("", "The camera is not allowed."),  # a browser without a screen refuses what nobody allowed
        (_fails("NotFoundError"), "No camera was found."),
        (_fails("NotReadableError"), "another program may be using it"),
        (NO_HTTPS, "addresses that begin with https"),
    ],
    ids=["refused", "missing", "busy", "insecure"],
)
@pytest.mark.usefixtures("one_database")
def test_what_keeps_the_camera_from_starting_is_told_and_typing_goes_on(chromium, script, told) -> None:
    study = FieldStudy()
    code, *_ = study.coupons(1)
    with _at_work(chromium, study, Role.INTERVIEWER, FAKE, script=script) as page:
        _start(page)
        page.get_by_text(told).wait_for()
        assert page.locator("[data-problem]:visible").count() == 1
        page.get_by_label("Coupon code").fill(code)
        page.keyboard.press("Enter")
        page.wait_for_url("**/enrol/**")


@pytest.mark.usefixtures("one_database")
def test_without_a_camera_there_is_no_button(chromium) -> None:
    with _at_work(chromium, FieldStudy(), Role.INTERVIEWER) as page:
        page.wait_for_load_state("networkidle")
        assert page.get_by_role("button", name="Scan with the camera").count() == 0


@pytest.mark.usefixtures("one_database")
def test_only_pages_with_a_box_for_codes_may_use_the_camera() -> None:
    study = FieldStudy()
    client = study.client(Role.COORDINATOR, "north")
    for page in ("/", "/arrive/", "/people/", "/plan/", "/coupons/", "/no-such-page/"):
        answered = client.get(page)
        may = answered.headers["Permissions-Policy"].startswith("camera=(self)")
        assert may == ("data-camera" in answered.content.decode()), page
