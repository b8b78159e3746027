"""Who may do and see what: one table of actions and views by role, for one's own site and for other sites.

`own` means: at the sites of one's own role; `any`: at every site; `-`: never. What concerns the whole study (plans,
settings, export) is one's own only for a role for all sites. The tests walk every cell.
"""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What somebody is in a study."""

    INTERVIEWER = "interviewer"
    CASHIER = "cashier"
    COORDINATOR = "coordinator"
    ANALYST = "analyst"
    MANAGER = "manager"


class Action(StrEnum):
    """What somebody does or looks at."""

    SCAN_COUPON = "scan_coupon"
    ENROL_PERSON = "enrol_person"
    RECORD_ANSWERS = "record_answers"
    WRITE_CONTACT = "write_contact"
    ISSUE_COUPONS = "issue_coupons"
    PRINT_COUPONS = "print_coupons"
    PAY = "pay"
    ADD_SEED = "add_seed"
    VOID_COUPON = "void_coupon"
    EXTEND_COUPON = "extend_coupon"
    OVERRIDE_COUPONS = "override_coupons"
    CORRECT_ANSWERS = "correct_answers"
    WITHDRAW_PERSON = "withdraw_person"
    ERASE_ANSWERS = "erase_answers"
    SEE_CONTACT = "see_contact"
    DELETE_CONTACT = "delete_contact"
    PROPOSE_PLAN = "propose_plan"
    CHANGE_PLAN = "change_plan"
    APPROVE_PLAN = "approve_plan"
    STOP_PLAN = "stop_plan"
    SEE_BOARD = "see_board"
    SEE_PLAN = "see_plan"
    SEE_PROGRESS = "see_progress"
    SEE_PEOPLE = "see_people"
    SEE_ESTIMATES = "see_estimates"
    EXPORT = "export"
    SEE_AUDIT = "see_audit"
    BEGIN_STUDY = "begin_study"
    CHANGE_SETTINGS = "change_settings"
    ADD_SITE = "add_site"
    MANAGE_USERS = "manage_users"
    BACK_UP = "back_up"
    RESTORE = "restore"
    IMPORT_STUDY = "import_study"


NOTED = frozenset(
    {
        Action.WRITE_CONTACT, Action.SEE_CONTACT, Action.DELETE_CONTACT, Action.PRINT_COUPONS, Action.SEE_BOARD,
        Action.SEE_PLAN, Action.SEE_PROGRESS, Action.SEE_PEOPLE, Action.SEE_ESTIMATES, Action.SEE_AUDIT, Action.EXPORT,
        Action.MANAGE_USERS, Action.BACK_UP, Action.RESTORE,
    }
)  # fmt: skip
"""Actions that change none of the rules' rows and so have no event of their own; they are noted for the audit."""


TABLE = """
                   interviewer  cashier  coordinator  analyst  manager
scan_coupon        own          -        own          -        -
enrol_person       own          -        own          -        -
record_answers     own          -        own          -        -
write_contact      own          -        own          -        -
issue_coupons      own          -        own          -        -
print_coupons      own          -        own          -        -
pay                -            own      -            -        -
add_seed           -            -        own          -        -
void_coupon        -            -        own          -        -
extend_coupon      -            -        own          -        -
override_coupons   -            -        own          -        -
correct_answers    -            -        own          -        -
withdraw_person    -            -        own          -        -
erase_answers      -            -        own          -        -
see_contact        -            -        own          -        -
delete_contact     -            -        own          -        -
propose_plan       -            -        own          -        -
change_plan        -            -        own          -        -
approve_plan       -            -        own          -        -
stop_plan          -            -        any          -        -
see_board          own          -        own          -        -
see_plan           -            -        any          any      -
see_progress       -            -        any          any      any
see_people         own          -        own          own      -
see_estimates      -            -        any          any      -
export             -            -        -            own      -
see_audit          -            -        -            -        own
begin_study        -            -        -            -        own
change_settings    -            -        -            -        own
add_site           -            -        -            -        own
manage_users       -            -        -            -        own
back_up            -            -        -            -        own
restore            -            -        -            -        own
import_study       -            -        -            -        own
"""
"""Anybody who coordinates may stop a plan: harm at one site must not wait for somebody else."""


def _read(table: str) -> dict[tuple[Action, Role], str]:
    header, *rows = (line.split() for line in table.strip().splitlines())
    roles = [Role(name) for name in header]
    cells = {
        (Action(name), role): cell for name, *row_cells in rows for role, cell in zip(roles, row_cells, strict=True)
    }
    assert len(rows) * len(roles) == len(cells) == len(Action) * len(Role), "every action and role once"
    assert set(cells.values()) <= {"own", "any", "-"}
    return cells


_CELLS = _read(TABLE)


@dataclass(frozen=True)
class Member:
    """Somebody who works for the study, as the login established."""

    name: str
    role: Role
    site: str | None
    """The site of the role; None for all sites."""

    def covers(self, site: str | None) -> bool:
        """Tell whether a role reaches a site, or (None) the whole study."""
        return self.site is None or self.site == site


def is_allowed(action: Action, role: Role, *, own_site: bool) -> bool:
    """Look up whether a role may do this, at a site of its own or at another."""
    cell = _CELLS[action, role]
    return cell == "any" or (cell == "own" and own_site)


def roles_allowed(action: Action) -> tuple[Role, ...]:
    """List the roles that may do this at their own site, to be named in a refusal."""
    return tuple(role for role in Role if is_allowed(action, role, own_site=True))
