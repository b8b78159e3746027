"""Every page of the app by its name."""

from django.urls import path
from django.views.i18n import set_language

from peerfront.web.app import file_pages, job_pages, outlook_pages, sheet_pages, week_pages

urlpatterns = [
    *file_pages.pages,
    *sheet_pages.pages,
    *outlook_pages.pages,
    *week_pages.pages,
    *job_pages.pages,
    path("language/", set_language, name="set_language"),
]
handler400 = "peerfront.web.app.job_pages.bad_request"
handler404 = "peerfront.web.app.job_pages.not_found"
handler500 = "peerfront.web.app.job_pages.failed"
