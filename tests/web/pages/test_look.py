"""The style that is shipped is that of its sources, and has what templates ask for."""

import importlib.util
import re
from pathlib import Path

import peerfront.web

ROOT = Path(__file__).parents[3]
WEB = Path(peerfront.web.__file__).parent
STATIC = WEB / "pages/static/pages"
SPEC = importlib.util.spec_from_file_location("make_look", ROOT / "docs/make_look.py")
make_look = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_look)


def test_the_style_is_made_from_its_sources() -> None:
    for name in ("style.css", "style.rtl.css"):
        first = (STATIC / name).read_text("utf-8").splitlines()[0]
        assert make_look.checksum() in first, "run `python docs/make_look.py`"


def test_the_sprite_has_the_icons_of_the_templates() -> None:
    sprite = re.findall(r'<symbol id="([^"]+)"', (STATIC / "icons.svg").read_text("utf-8"))
    assert "user" in sprite
    assert sprite == make_look.icons(), "run `python docs/make_look.py`"


def test_paper_is_never_dark() -> None:
    style = (STATIC / "style.css").read_text("utf-8")
    assert "prefers-color-scheme:dark" in style
    assert not re.search(r"@media \(prefers-color-scheme", style)


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name in ("style.css", "style.rtl.css"):
        addresses = re.findall(r"url\(([^)]*)\)", (STATIC / name).read_text("utf-8"))
        assert all(address.strip("\"'").startswith("data:") for address in addresses)
