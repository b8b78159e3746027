"""A chain of recruits as a picture, coloured by site, wave or an answer."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext, ngettext

from peerfront.foundation.shown import visible
from peerfront.web.live.screens import svg
from peerfront.web.live.screens.chains import Node
from peerfront.web.live.screens.tree_layout import Placed, placed

COLUMN, ROW, MARGIN = 150.0, 26.0, 24.0
_LABEL = 14  # characters of a label that fit beside the next column


def tree_svg(root: Node, group: Mapping[str, str], groups: Sequence[str], what: str) -> str:
    """Draw a chain; `group` is that of each person, `groups` are all of them in the order of the legend."""
    people = placed(root)
    colours = dict(zip(groups, (*svg.COLOURS, *[svg.OTHERS] * len(groups)), strict=False))
    rows = max(each.row for each in people) + 1
    columns = max(each.column for each in people) + 1
    top = MARGIN * 2 + 20 * len(groups)
    width = max(MARGIN * 2 + COLUMN * columns, 420.0)
    height = top + MARGIN + ROW * rows
    parts = [*_legend(groups, colours, what), *(_line(each, top) for each in people if each.recruiter_row is not None)]
    parts += [_person(each, top, colours.get(group[each.node.person.person], svg.OTHERS)) for each in people]
    title = gettext("Recruits of %(person)s") % {"person": visible(root.person.person)}
    number = ngettext("%(number)s person is shown.", "%(number)s people are shown.", len(people))
    description = (
        number % {"number": len(people)}
        + " "
        + gettext(
            "Lines lead from recruiters, on the left, to their recruits. The list below the picture says the same."
        )
    )
    return svg.picture(width, height, title, description, parts)


def _spot(each: Placed, top: float) -> tuple[float, float]:
    return MARGIN + COLUMN * each.column, top + ROW * (each.row + 0.5)


def _line(each: Placed, top: float) -> str:
    x, y = _spot(each, top)
    above = top + ROW * ((each.recruiter_row or 0) + 0.5)
    before = x - COLUMN
    middle = x - 24
    return svg.element(
        "path", d=f"M{before:.1f} {above:.1f}H{middle:.1f}V{y:.1f}H{x:.1f}", fill="none", stroke="#8a8a8a"
    )


def _person(each: Placed, top: float, colour: str) -> str:
    x, y = _spot(each, top)
    person = each.node.person
    if person.withdrawn:
        shape = svg.element("circle", cx=x, cy=y, r=7, fill="#ffffff", stroke=colour, stroke_dasharray="3 2")
    elif person.recruiter is None:
        shape = svg.element("rect", x=x - 7, y=y - 7, width=14, height=14, fill=colour, stroke=svg.INK)
    else:
        shape = svg.element("circle", cx=x, cy=y, r=7, fill=colour, stroke=svg.INK)
    name = visible(person.person)
    words = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
    more = f" +{each.node.hidden}" if each.node.hidden else ""
    # White around the letters keeps them readable where a line passes.
    return shape + svg.label(
        x + 12, y + 4.5, words + more, size=12, stroke="#ffffff", stroke_width=4, paint_order="stroke"
    )


def _legend(groups: Sequence[str], colours: dict[str, str], what: str) -> list[str]:
    parts = [svg.label(MARGIN, MARGIN, what, size=13, font_weight="bold")]
    for place, group in enumerate(groups):
        y = MARGIN + 20 * (place + 1)
        parts.append(svg.element("circle", cx=MARGIN + 7, cy=y - 4, r=6, fill=colours[group], stroke=svg.INK))
        parts.append(svg.label(MARGIN + 22, y, visible(group), size=12))
    return parts
