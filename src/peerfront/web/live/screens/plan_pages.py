"""The plan: made, looked at, changed, approved, stopped."""

from django.urls import URLPattern, path

from peerfront.web.live.screens import plan_changes, plan_jobs, plan_page, plan_sheet

pages: list[URLPattern] = [
    path("plan/", plan_page.plan, name="plan"),
    path("plan/make/", plan_jobs.make_plan, name="make_plan"),
    path("plan/job/<int:number>/", plan_jobs.plan_job, name="plan_job"),
    path("plan/job/<int:number>/stop/", plan_jobs.stop_job, name="stop_job"),
    path("plan/<int:number>/", plan_page.plan_number, name="plan_number"),
    path("plan/<int:number>/sheet/", plan_sheet.plan_sheet, name="plan_sheet"),
    path("plan/<int:number>/change/", plan_changes.change_plan, name="change_plan"),
    path("plan/<int:number>/approve/", plan_changes.approve_plan, name="approve_plan"),
    path("plan/<int:number>/stop/", plan_changes.stop_plan, name="stop_plan"),
]
