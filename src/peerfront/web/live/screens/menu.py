"""The pages of the menu, in the order of a day's work, with their names."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MENU: list[tuple[str, Promise | str]] = [
    ("arrive", _("Arrive")),
    ("pay", _("Pay")),
    ("board", _("Coupons")),
    ("people", _("People")),
    ("plan", _("Plan")),
    ("progress", _("Progress")),
    ("estimates", _("Estimates")),
    ("export", _("Export")),
    ("settings", _("Settings")),
    ("users", _("Users")),
    ("sites", _("Sites")),
    ("backups", _("Back-ups")),
    ("audit", _("Audit")),
]
"""Name of the page and what the menu calls it; who may not open a page does not see it."""
