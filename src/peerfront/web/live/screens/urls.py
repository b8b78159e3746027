"""Every page of the live study by its name; `rules.actions` declares who may open it."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from peerfront.web.live.screens import (
    field_pages,
    home,
    logins,
    management_pages,
    plan_pages,
    staff_requests,
    study_pages,
)

handler400 = "peerfront.web.live.screens.faults.bad_request"
handler403 = "peerfront.web.live.screens.faults.not_allowed"
handler404 = "peerfront.web.live.screens.faults.not_found"
handler500 = "peerfront.web.live.screens.faults.server_fault"
urlpatterns = [
    path("", home.home, name="home"),
    path("login/", logins.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(next_page="login"), name="logout"),
    path("work-at/", staff_requests.work_at, name="work_at"),
    path("healthz", home.healthz, name="healthz"),
    *field_pages.pages,
    *study_pages.pages,
    *plan_pages.pages,
    *management_pages.pages,
]
