"""Make the pages' style and icons from Bootstrap's and Tabler's sources: `python docs/make_look.py` (needs npm).

What it makes is kept in `web/pages/static/pages`, with the licences, so that nobody else needs npm. A test holds the
style to its sources by the checksum in its first line.
"""

import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOOK = ROOT / "src/peerfront/web/pages/look"
CHARTS = ROOT / "src/peerfront/words/charts.css"
STATIC = ROOT / "src/peerfront/web/pages/static/pages"
PACKAGES = ("bootstrap@5.3.8", "sass@1.108.2", "rtlcss@4.3.0", "clean-css-cli@5.6.3", "@tabler/icons@3.51.0")


def checksum() -> str:
    """Of everything the style is made from."""
    sources = b"".join(path.name.encode() + path.read_bytes() for path in (*sorted(LOOK.glob("*.scss")), CHARTS))
    return hashlib.sha256(sources + " ".join(PACKAGES).encode()).hexdigest()[:16]


def icons() -> list[str]:
    """Those that templates show: `{% icon "printer" %}`."""
    pages = (path.read_text(encoding="utf-8") for path in LOOK.parents[1].rglob("*.html"))
    return sorted({name for page in pages for name in re.findall(r'{% icon "([^"]+)" %}', page)})


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(folder, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", *PACKAGES)
        modules = folder / "node_modules"
        sass = ("npx", "sass", "--no-source-map", "--quiet", "--quiet-deps", f"--load-path={modules}")
        _run(folder, *sass, "--silence-deprecation=import", f"{LOOK / 'style.scss'}:style.css")
        _run(folder, "npx", "rtlcss", "style.css", "style.rtl.css")
        for made in ("style.css", "style.rtl.css"):
            _run(folder, "npx", "cleancss", "-O1", "--format", "breaks:afterRuleEnds=on", "-o", f"small-{made}", made)
            first = f"/* From look/*.scss ({checksum()}) by docs/make_look.py; holds parts of Bootstrap (MIT). */\n"
            (STATIC / made).write_text(first + (folder / f"small-{made}").read_text("utf-8"), encoding="utf-8")
        (STATIC / "icons.svg").write_text(_sprite(modules / "@tabler/icons/icons/outline"), encoding="utf-8")
        for package, kept in (("bootstrap", "bootstrap"), ("@tabler/icons", "tabler-icons")):
            (STATIC / f"LICENSE-{kept}.txt").write_bytes((modules / package / "LICENSE").read_bytes())


def _sprite(shapes_of: Path) -> str:
    """One file of symbols; a page shows one by its name."""
    symbols = []
    for name in icons():
        lines = (shapes_of / f"{name}.svg").read_text(encoding="utf-8")
        shapes = [
            shape for shape in re.findall(r"<(?:path|circle|rect|line)[^>]*/>", lines) if 'stroke="none"' not in shape
        ]
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{"".join(shapes)}</symbol>')
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
