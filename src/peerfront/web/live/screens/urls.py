"""Every page of the live study by its name; `rules.actions` declares who may open it."""

from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.i18n import set_language

from peerfront.web.live.screens import (
    arrival,
    audit,
    coupon_board,
    coupon_page,
    coupon_text,
    data_pages,
    enrolment,
    estimates_page,
    handing_out,
    home,
    logins,
    page_frame,
    payments,
    people,
    person_actions,
    plan_changes,
    plan_page,
    progress_page,
    settings_page,
    staff_requests,
    tree_page,
    users,
)
from peerfront.web.live.screens.form_pages import form_page

handler400, handler403, handler404 = (page_frame.fault_page(status) for status in (400, 403, 404))
handler500 = page_frame.server_fault
urlpatterns = [
    path("", home.home, name="home"),
    path("login/", logins.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(next_page="login"), name="logout"),
    path("work-at/", staff_requests.work_at, name="work_at"),
    path("healthz", home.healthz, name="healthz"),
    # A person comes, is enrolled, gets coupons, is paid
    path("arrive/", arrival.arrive, name="arrive"),
    path("enrol/", enrolment.enrol, name="enrol"),
    path("add-seed/", enrolment.add_seed, name="add_seed"),
    path("people/<str:person>/answers/", enrolment.answers, name="answers"),
    path("people/<str:person>/hand-out/", handing_out.hand_out, name="hand_out"),
    path("people/<str:person>/print/", handing_out.print_coupons, name="print_coupons"),
    path("pay/", payments.pay, name="pay"),
    path("receipt/", payments.receipt, name="receipt"),
    # The state of the study: coupons, people, trees, progress, estimates
    path("coupons/", coupon_board.board, name="board"),
    path("coupons/<path:code>/void/", form_page(coupon_page.VoidForm), name="void_coupon"),
    path("coupons/<path:code>/extend/", form_page(coupon_page.ExtendForm), name="extend_coupon"),
    path("coupons/<path:code>/", coupon_page.coupon, name="coupon"),
    path("people/", people.people, name="people"),
    path("trees/", tree_page.tree, name="tree"),
    path("people/<str:person>/", people.person, name="person"),
    path("people/<str:person>/coupons/", form_page(person_actions.OverrideForm), name="override_coupons"),
    path("people/<str:person>/correct/", form_page(person_actions.CorrectionForm), name="correct_answers"),
    path("people/<str:person>/withdraw/", form_page(person_actions.WithdrawForm), name="withdraw_person"),
    path("people/<str:person>/erase/", form_page(person_actions.EraseForm), name="erase_answers"),
    path("people/<str:person>/contact/", person_actions.contact, name="contact"),
    path("people/<str:person>/contact/write/", person_actions.write_contact, name="write_contact"),
    path("people/<str:person>/contact/delete/", form_page(person_actions.ForgetForm), name="delete_contact"),
    path("progress/", progress_page.progress, name="progress"),
    path("estimates/", estimates_page.estimates, name="estimates"),
    # The plan: made, looked at, changed, approved, stopped
    path("plan/", plan_page.plan, name="plan"),
    path("plan/make/", plan_changes.make_plan, name="make_plan"),
    path("plan/job/<int:number>/", plan_changes.plan_job, name="plan_job"),
    path("plan/job/<int:number>/stop/", plan_changes.stop_job, name="stop_job"),
    path("plan/<int:number>/", plan_page.plan_number, name="plan_number"),
    path("plan/<int:number>/sheet/", plan_changes.plan_sheet, name="plan_sheet"),
    path("plan/<int:number>/change/", form_page(plan_changes.ChangeForm), name="change_plan"),
    path("plan/<int:number>/approve/", plan_changes.approve_plan, name="approve_plan"),
    path("plan/<int:number>/stop/", form_page(plan_changes.StopForm), name="stop_plan"),
    # Settings, sites, users, audit, export, back-ups; and everybody's password
    path("first-login/<str:number>/<str:token>/", users.first_login, name="first_login"),
    path("password/", users.Password.as_view(), name="password"),
    path("language/", set_language, name="set_language"),
    path("settings/", settings_page.settings_page, name="settings"),
    path("settings/coupons/", coupon_text.coupon_text, name="coupon_text"),
    path("sites/", settings_page.sites, name="sites"),
    path("users/", users.users, name="users"),
    path("users/add/", users.add_user, name="add_user"),
    path("users/<int:number>/", users.user, name="user"),
    path("audit/", audit.audit, name="audit"),
    path("audit/verify/", audit.verify_page, name="verify"),
    path("export/", data_pages.export, name="export"),
    path("export/file/", data_pages.export_file, name="export_file"),
    path("import/", data_pages.import_page, name="import_study"),
    path("back-ups/", data_pages.backups, name="backups"),
    path("back-ups/<str:name>/", data_pages.backup_file, name="backup_file"),
]
