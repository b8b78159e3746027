"""The table of permissions, cell by cell, against the roles as the study's page for its staff describes them."""

import itertools

import pytest

from peerfront.web.live.rules.actions import Action, Member, Role, is_allowed, roles_allowed, roles_from, roles_text
from peerfront.web.live.rules.requests import NOTED, NoteAction, Wish

OWN, ANY = "own", "any"
EXPECTED: dict[Role, dict[str, str]] = {
    Role.INTERVIEWER: dict.fromkeys(
        ("scan_coupon", "enrol_person", "record_answers", "write_contact", "issue_coupons", "print_coupons",
         "see_board", "see_people"), OWN,
    ),
    Role.CASHIER: {"pay": OWN},
    Role.COORDINATOR: dict.fromkeys(
        ("scan_coupon", "enrol_person", "record_answers", "write_contact", "issue_coupons", "print_coupons",
         "see_board", "see_people", "add_seed", "void_coupon", "extend_coupon", "override_coupons", "correct_answers",
         "withdraw_person", "erase_answers", "see_contact", "delete_contact", "propose_plan", "change_plan",
         "approve_plan", "export_codes"), OWN,
    ) | dict.fromkeys(("stop_plan", "see_plan", "see_progress", "see_estimates"), ANY),
    Role.ANALYST: {
        "see_plan": ANY, "see_progress": ANY, "see_estimates": ANY, "see_people": OWN, "export": OWN,
    },
    Role.MANAGER: dict.fromkeys(
        ("see_audit", "begin_study", "change_settings", "add_site", "manage_users",
         "back_up", "restore", "try_restore", "state_registers", "import_study", "see_users",
         "export_codes", "accept_clock"), OWN,
    ) | {"see_progress": ANY},
    Role.INVESTIGATOR: dict.fromkeys(("see_plan", "see_progress", "see_estimates"), ANY)
    | dict.fromkeys(("see_people", "see_audit", "see_users"), OWN),
}  # fmt: skip
for _cells in EXPECTED.values():
    _cells["log_in"] = ANY


@pytest.mark.parametrize(("action", "role", "own_site"), list(itertools.product(Action, Role, (True, False))))
def test_every_cell(action, role, own_site) -> None:
    cell = EXPECTED[role].get(action.value, "-")
    assert is_allowed(action, role, own_site=own_site) == (cell == ANY or (cell == OWN and own_site))


def test_what_is_expected_exists_and_everybody_has_something() -> None:
    names = {action.value for action in Action}
    for role, cells in EXPECTED.items():
        assert cells.keys() <= names, role
        assert cells
    for action in Action:
        assert roles_allowed(action), f"nobody may {action}"


def test_every_action_is_asked_for_or_noted_and_none_is_both() -> None:
    asked_for = [kind.action for kind in Wish.__subclasses__() if kind is not NoteAction]
    assert sorted([*asked_for, *NOTED]) == sorted(Action)


def test_every_request_has_a_rule() -> None:
    from peerfront.web.live.rules.requests import BeginStudy
    from peerfront.web.live.rules.situation import RULES

    assert RULES.keys() == {*Wish.__subclasses__()} - {BeginStudy}


def test_every_fact_and_every_noted_action_has_a_sentence_in_the_audit() -> None:
    from peerfront.web.live.rules.chain import KINDS
    from peerfront.words.messages import sentences

    looked_at = {action for action in NOTED if action.value.startswith("see_") and action is not Action.SEE_CONTACT}
    for name in [*KINDS, *(action.value for action in NOTED - looked_at)]:
        assert f"audit.{name}" in sentences(), name


def test_who_pays_neither_enrols_nor_plans_and_nobody_exports_contacts() -> None:
    for role in Role:
        assert not (
            is_allowed(Action.PAY, role, own_site=True) and is_allowed(Action.ENROL_PERSON, role, own_site=True)
        )
        assert not (
            is_allowed(Action.EXPORT, role, own_site=True) and is_allowed(Action.SEE_CONTACT, role, own_site=True)
        )


def test_a_role_is_for_one_site_or_all() -> None:
    assert Member("ana", (Role.INTERVIEWER,), "north").covers("north")
    assert not Member("ana", (Role.INTERVIEWER,), "north").covers("south")
    assert not Member("ana", (Role.COORDINATOR,), "north").covers(None), "the study as a whole"
    assert Member("ana", (Role.COORDINATOR,), None).covers("south")
    assert Member("ana", (Role.COORDINATOR,), None).covers(None)


def test_several_roles_may_what_any_of_them_may_and_the_event_names_that_one() -> None:
    for number in range(1, len(Role) + 1):
        for roles in itertools.combinations(Role, number):
            member = Member("ana", roles, None)
            for action, own_site in itertools.product(Action, (True, False)):
                allowed = [role for role in roles if is_allowed(action, role, own_site=own_site)]
                assert member.may(action, own_site=own_site) == bool(allowed)
                if own_site:
                    assert member.role_for(action) == (allowed or roles)[0]
            assert roles_from(roles_text(set(roles))) == roles


def test_an_investigator_changes_nothing() -> None:
    seen = {action for action in Action if is_allowed(action, Role.INVESTIGATOR, own_site=True)} - {Action.LOG_IN}
    assert all(action.value.startswith("see_") and action in NOTED for action in seen)
    assert Action.SEE_CONTACT not in seen
