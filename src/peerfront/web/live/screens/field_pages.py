"""A person comes, is enrolled, gets coupons, is paid: the pages of interviewers and cashiers."""

from django.urls import URLPattern, path

from peerfront.web.live.screens import arrival, coupon_prints, enrolment, handing_out, payments

pages: list[URLPattern] = [
    path("arrive/", arrival.arrive, name="arrive"),
    path("enrol/", enrolment.enrol, name="enrol"),
    path("add-seed/", enrolment.add_seed, name="add_seed"),
    path("people/<str:person>/answers/", enrolment.answers, name="answers"),
    path("people/<str:person>/hand-out/", handing_out.hand_out, name="hand_out"),
    path("people/<str:person>/print/", coupon_prints.print_coupons, name="print_coupons"),
    path("pay/", payments.pay, name="pay"),
    path("receipt/", payments.receipt, name="receipt"),
]
