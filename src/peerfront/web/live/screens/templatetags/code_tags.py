"""Coupon codes and what people typed, as pages show them."""

from django import template

from peerfront.foundation.shown import visible
from peerfront.web.live.rules import codes

register = template.Library()


@register.filter
def shown_code(code: str) -> str:
    """A code in groups, as it is printed."""
    return visible(codes.shown_code(code))
