"""Icons of the sprite that `docs/make_look.py` makes: decoration beside a word, unseen by screen readers."""

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()
_MIRRORED = ("arrow-back-up", "arrow-right", "chevron-right", "login", "logout")  # they point where reading goes


@register.simple_tag
def icon(name: str) -> SafeString:
    """`{% icon "printer" %}`."""
    side = " mirrored" if name in _MIRRORED else ""
    address = static("pages/icons.svg")
    return format_html('<svg class="icon{}" aria-hidden="true"><use href="{}#{}"></use></svg>', side, address, name)
