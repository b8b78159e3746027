"""Numbers of plans in templates: chances as people read them, and coordinates of pictures."""

from django import template
from django.utils.formats import number_format

register = template.Library()


@register.filter
def chance(probability: float) -> str:
    """A probability with as many digits as it needs: 1, 0.62, 0.0004."""
    digits = 2
    while digits < 6 and 0.0 < probability < 1.0 and round(probability, digits) in (0.0, 1.0):
        digits += 1
    shown = round(probability, digits)
    return str(number_format(int(shown) if shown in (0.0, 1.0) else shown, use_l10n=True))


@register.filter
def plain(number: float) -> str:
    """A number as pictures want it, whatever the language of the page."""
    return f"{number:g}"
