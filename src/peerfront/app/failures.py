"""Pages for addresses that do not exist and for faults of the program."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    words = {"title": _("There is no such page"), "what": _("Go on with one of the steps above.")}
    return render(request, "app/failure.html", words, status=404)


def failed(request: HttpRequest) -> HttpResponse:
    what = _("The terminal shows what happened. Your files and everything that was made are still in the folder.")
    return render(request, "app/failure.html", {"title": _("This page failed"), "what": what}, status=500)
