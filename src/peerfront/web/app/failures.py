"""Pages for addresses that do not exist and for faults of the program."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    words = {"title": _("There is no such page"), "what": _("Perhaps it was not made yet. Go on with the steps.")}
    return render(request, "app/failure.html", words, status=404)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    what = _("The form was cut short, or is too large. Nothing was done. Go back, load the page again, and send it.")
    return render(request, "app/failure.html", {"title": _("This form could not be read"), "what": what}, status=400)


def failed(request: HttpRequest) -> HttpResponse:
    what = _("The terminal shows what happened. Your files and everything that was made are still in the folder.")
    return render(request, "app/failure.html", {"title": _("This page failed"), "what": what}, status=500)
