"""Everything that can be done or looked at in a study: one declaration each, from which all other tables follow.

A declaration says where an action counts, who may do it, and which pages lead to it. The table of permissions, the
access to pages and the terms of the audit are derived from it. To add an action:

- declare it here;
- if it changes records: add its request (`requests`), its event (`events`) with its effect on the rows (`effects`), and
  its rule (a function marked with `rule`); otherwise it is noted in the audit, and needs none of these;
- write its page, with an address in `screens`, and its sentence in `words/messages/live_audit.toml`, under the name of
  the event or of the noted action.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """The roles of staff in a study; somebody may have several, and may then do what any of them may."""

    INTERVIEWER = "interviewer"
    CASHIER = "cashier"
    COORDINATOR = "coordinator"
    ANALYST = "analyst"
    MANAGER = "manager"
    INVESTIGATOR = "investigator"


class Scope(StrEnum):
    """What an action concerns."""

    SITE = "site"
    """The site where the action is done, which must be named and is recorded."""
    PERSON = "person"
    """A person, coupon or list of a site; the action may be done from anywhere."""
    STUDY = "study"
    """The whole study; only roles for all sites count it as their own."""


@dataclass(frozen=True)
class Declaration:
    """The scope, permissions and pages of an action."""

    name: str
    scope: Scope
    own: tuple[Role, ...] = ()
    """Roles that may do it at the sites of their own role."""
    anywhere: tuple[Role, ...] = ()
    """Roles that may do it at every site."""
    pages: str = ""
    """Names of the pages on which it is done, with blanks between them."""
    about_person: bool = False
    """Whether the audit notes the person it concerns, whom the member must be allowed to see."""
    after_withdrawal: bool = False
    """Whether it is also possible for people who withdrew."""


_FIELD = (Role.INTERVIEWER, Role.COORDINATOR)
_COORDINATOR = (Role.COORDINATOR,)
_MANAGER = (Role.MANAGER,)
_READERS = (Role.COORDINATOR, Role.ANALYST, Role.INVESTIGATOR)
_OVERSEERS = (Role.MANAGER, Role.INVESTIGATOR)


class Action(StrEnum):
    """Everything that can be done or looked at. Names stand in every study's records: never rename one."""

    declared: Declaration

    def __new__(cls, declared: Declaration) -> "Action":
        action = str.__new__(cls, declared.name)
        action._value_ = declared.name
        action.declared = declared
        return action

    # Logins, failed ones and changes of passwords are noted by the server; no page of an action leads there.
    LOG_IN = Declaration("log_in", Scope.PERSON, anywhere=tuple(Role))
    # A person comes, is enrolled, gets coupons, is paid.
    SCAN_COUPON = Declaration("scan_coupon", Scope.SITE, _FIELD, pages="arrive")
    ENROL_PERSON = Declaration("enrol_person", Scope.SITE, _FIELD, pages="enrol")
    RECORD_ANSWERS = Declaration("record_answers", Scope.SITE, _FIELD, pages="answers")
    WRITE_CONTACT = Declaration("write_contact", Scope.PERSON, _FIELD, pages="write_contact", about_person=True)
    ISSUE_COUPONS = Declaration("issue_coupons", Scope.SITE, _FIELD, pages="hand_out")
    PRINT_COUPONS = Declaration("print_coupons", Scope.PERSON, _FIELD, pages="print_coupons", about_person=True)
    PAY = Declaration("pay", Scope.SITE, (Role.CASHIER,), pages="pay receipt")
    ADD_SEED = Declaration("add_seed", Scope.SITE, _COORDINATOR, pages="add_seed")
    # What the coordinator does for a coupon or a person.
    VOID_COUPON = Declaration("void_coupon", Scope.PERSON, _COORDINATOR, pages="void_coupon")
    EXTEND_COUPON = Declaration("extend_coupon", Scope.PERSON, _COORDINATOR, pages="extend_coupon")
    OVERRIDE_COUPONS = Declaration("override_coupons", Scope.PERSON, _COORDINATOR, pages="override_coupons")
    CORRECT_ANSWERS = Declaration("correct_answers", Scope.PERSON, _COORDINATOR, pages="correct_answers")
    WITHDRAW_PERSON = Declaration("withdraw_person", Scope.PERSON, _COORDINATOR, pages="withdraw_person")
    ERASE_ANSWERS = Declaration("erase_answers", Scope.PERSON, _COORDINATOR, pages="erase_answers")
    SEE_CONTACT = Declaration(
        "see_contact", Scope.PERSON, _COORDINATOR, pages="contact", about_person=True, after_withdrawal=True
    )
    DELETE_CONTACT = Declaration(
        "delete_contact", Scope.PERSON, _COORDINATOR, pages="delete_contact", about_person=True, after_withdrawal=True
    )
    # Plans. Anybody who coordinates may stop one: harm at one site must not wait for somebody else.
    PROPOSE_PLAN = Declaration("propose_plan", Scope.STUDY, _COORDINATOR, pages="make_plan stop_job")
    CHANGE_PLAN = Declaration("change_plan", Scope.STUDY, _COORDINATOR, pages="change_plan")
    APPROVE_PLAN = Declaration("approve_plan", Scope.STUDY, _COORDINATOR, pages="approve_plan")
    STOP_PLAN = Declaration("stop_plan", Scope.STUDY, anywhere=_COORDINATOR, pages="stop_plan")
    # The study itself.
    SEE_BOARD = Declaration("see_board", Scope.PERSON, _FIELD, pages="board coupon")
    SEE_PLAN = Declaration("see_plan", Scope.PERSON, anywhere=_READERS, pages="plan plan_number plan_sheet plan_job")
    SEE_PROGRESS = Declaration("see_progress", Scope.PERSON, anywhere=(*_READERS, Role.MANAGER), pages="progress")
    SEE_PEOPLE = Declaration("see_people", Scope.PERSON, (Role.INTERVIEWER, *_READERS), pages="people person tree")
    SEE_ESTIMATES = Declaration("see_estimates", Scope.PERSON, anywhere=_READERS, pages="estimates")
    EXPORT = Declaration("export", Scope.STUDY, (Role.ANALYST,), pages="export export_file")
    EXPORT_CODES = Declaration("export_codes", Scope.STUDY, (*_COORDINATOR, *_MANAGER), pages="export_codes")
    SEE_AUDIT = Declaration("see_audit", Scope.STUDY, _OVERSEERS, pages="audit verify")
    SEE_USERS = Declaration("see_users", Scope.STUDY, _OVERSEERS, pages="users")
    # What the manager does.
    ACCEPT_CLOCK = Declaration("accept_clock", Scope.STUDY, _MANAGER, pages="clock")
    BEGIN_STUDY = Declaration("begin_study", Scope.STUDY, _MANAGER)
    CHANGE_SETTINGS = Declaration("change_settings", Scope.STUDY, _MANAGER, pages="settings coupon_text")
    ADD_SITE = Declaration("add_site", Scope.STUDY, _MANAGER, pages="sites")
    MANAGE_USERS = Declaration("manage_users", Scope.STUDY, _MANAGER, pages="add_user user")
    BACK_UP = Declaration("back_up", Scope.STUDY, _MANAGER, pages="backups backup_file")
    RESTORE = Declaration("restore", Scope.STUDY, _MANAGER)
    TRY_RESTORE = Declaration("try_restore", Scope.STUDY, _MANAGER)
    STATE_REGISTERS = Declaration("state_registers", Scope.STUDY, _MANAGER)
    IMPORT_STUDY = Declaration("import_study", Scope.STUDY, _MANAGER, pages="import_study")


@dataclass(frozen=True)
class Member:
    """A member of the study's staff, as established by the login."""

    name: str
    roles: tuple[Role, ...]
    site: str | None
    """The site of the roles; None for all sites."""

    def covers(self, site: str | None) -> bool:
        """Whether the roles cover a site, or (None) the whole study."""
        return self.site is None or self.site == site

    def may(self, action: Action, *, own_site: bool) -> bool:
        """Whether one of the roles may do this, at the site of the roles or at another."""
        return any(is_allowed(action, role, own_site=own_site) for role in self.roles)

    def role_for(self, action: Action) -> Role:
        """The role under which somebody does this: the first that may; the first of all if none may."""
        return next((role for role in self.roles if is_allowed(action, role, own_site=True)), self.roles[0])


def is_allowed(action: Action, role: Role, *, own_site: bool) -> bool:
    """Whether a role may do this, at its own site or at another."""
    return role in action.declared.anywhere or (own_site and role in action.declared.own)


def roles_allowed(action: Action) -> tuple[Role, ...]:
    """List the roles that may do this at their own site, to be named in a refusal."""
    return tuple(role for role in Role if is_allowed(action, role, own_site=True))


def roles_text(roles: Collection[Role]) -> str:
    """Roles as they are stored and noted, in the order of the declaration."""
    return ", ".join(role.value for role in Role if role in roles)


def roles_from(text: str) -> tuple[Role, ...]:
    """Read roles as they are stored."""
    return tuple(map(Role, text.split(", ")))
