"""One-time links: by them people choose their own password, so that there is none to be told or to be guessed.

A link is signed with the study's secret key over the user's present password, so it works once: choosing a password
makes it worthless, and so does a newer link, because each link begins by making the present password unusable.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode


@dataclass(frozen=True)
class OneTimeLink:
    """Where somebody chooses a password."""

    address: str
    valid: timedelta


def new_link(user: User, site_address: str) -> OneTimeLink:
    """Make a link for a user; from now on neither the present password nor an earlier link works."""
    user.set_unusable_password()
    user.save(update_fields=["password"])
    number = urlsafe_base64_encode(str(user.pk).encode())
    path = reverse("first_login", args=[number, default_token_generator.make_token(user)])
    return OneTimeLink(site_address.rstrip("/") + path, timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT))


def user_of_link(number: str, token: str) -> User | None:
    """Whose link this is; None if it was used, is too old, or was never made."""
    try:
        user = User.objects.filter(pk=int(force_str(urlsafe_base64_decode(number))), is_active=True).first()
    except (ValueError, OverflowError):
        return None
    if user is None or user.has_usable_password() or not default_token_generator.check_token(user, token):
        return None
    return user
