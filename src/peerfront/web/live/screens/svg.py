"""Pictures as text (SVG): elements whose texts and attributes are escaped, nothing from elsewhere, no scripts.

Colours are Okabe and Ito's, which colour-blind readers tell apart; shapes and dashes tell them apart in print.
"""

from collections.abc import Iterable
from html import escape

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31")
OTHERS = "#999999"
INK, QUIET, LINE = "#111111", "#4a4a4a", "#c4c4c4"
FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


def element(name: str, *inside: str, **attributes: object) -> str:
    """One element; underscores in names of attributes become hyphens, and `inside` is markup."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def label(x: float, y: float, words: str, *, size: float = 13, anchor: str = "start", **attributes: object) -> str:
    """A text; where it begins, lies in the middle or ends is at x."""
    fill = attributes.pop("fill", INK)
    return element("text", escape(words), x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **attributes)


def picture(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """The whole file, with its title and description for those who do not see it."""
    inside = [
        element("title", escape(title), id="title"),
        element("desc", escape(description), id="desc"),
        element("rect", width=width, height=height, fill="#ffffff"),
        *parts,
    ]
    return element(
        "svg",
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        role="img",
        aria_labelledby="title desc",
        font_family=FONT,
        direction="ltr",
    )


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
