"""What the study is like: coupons, people, trees, progress, estimates."""

from django.urls import URLPattern, path

from peerfront.web.live.screens import (
    board,
    contacts_page,
    coupon_page,
    estimates_page,
    people,
    person_actions,
    person_page,
    progress,
    trees,
)

pages: list[URLPattern] = [
    path("coupons/", board.board, name="board"),
    path("coupons/<path:code>/void/", coupon_page.void_coupon, name="void_coupon"),
    path("coupons/<path:code>/extend/", coupon_page.extend_coupon, name="extend_coupon"),
    path("coupons/<path:code>/", coupon_page.coupon, name="coupon"),
    path("people/", people.people, name="people"),
    path("trees/", trees.tree, name="tree"),
    path("trees/picture.svg", trees.tree_picture, name="tree_picture"),
    path("people/<str:person>/", person_page.person, name="person"),
    path("people/<str:person>/coupons/", person_actions.override_coupons, name="override_coupons"),
    path("people/<str:person>/correct/", person_actions.correct_answers, name="correct_answers"),
    path("people/<str:person>/withdraw/", person_actions.withdraw_person, name="withdraw_person"),
    path("people/<str:person>/erase/", person_actions.erase_answers, name="erase_answers"),
    path("people/<str:person>/contact/", contacts_page.contact, name="contact"),
    path("people/<str:person>/contact/write/", contacts_page.write_contact, name="write_contact"),
    path("people/<str:person>/contact/delete/", contacts_page.delete_contact, name="delete_contact"),
    path("progress/", progress.progress, name="progress"),
    path("progress/<str:name>.svg", progress.progress_picture, name="progress_picture"),
    path("estimates/", estimates_page.estimates, name="estimates"),
]
