"""The errors that users see. Each says what was found, what is allowed, and what to do.

Everything a user can cause is a `PeerfrontError`; the command line prints its sentence, without a traceback, and exits
with code 2. Anything else is a defect of the program. An error is made of a code and its arguments
(`raise DataFileError("files.missing", path=path)`); `foundation/messages.py` says how they become a sentence.
"""

import difflib
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from peerfront.foundation.messages import Lines, Message, Remedy, Severity


class PeerfrontError(Exception):
    """Something the user, or a component the user wrote, has to repair. All errors of this package are of this kind.

    >>> try:
    ...     pf.make_world("brigde")
    ... except pf.PeerfrontError as error:
    ...     print(error)
    There is no world called 'brigde'. Did you mean 'bridge'? ...
    """

    def __init__(self, code: str | Message, /, **arguments: Any) -> None:
        self.message = code if isinstance(code, Message) else Message(code, arguments, Severity.ERROR)
        super().__init__(self.message)

    @property
    def code(self) -> str:
        """Which error this is; its sentence may change, the code does not."""
        return self.message.code

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Settings that would mend it."""
        return self.message.remedies

    def __str__(self) -> str:
        return str(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        # An error raised in a worker process travels by pickle; subclasses take other arguments than their message.
        return _restored, (type(self), self.message, {k: v for k, v in vars(self).items() if k != "message"})


def _restored(kind: type[PeerfrontError], message: Message, fields: dict[str, Any]) -> PeerfrontError:
    error = kind.__new__(kind, message)
    PeerfrontError.__init__(error, message)
    vars(error).update(fields)
    return error


class SettingError(PeerfrontError):
    """A setting is outside what is allowed: a negative budget, a discount of 1.2, a cap of zero."""


class UnknownName(PeerfrontError):
    """A world, policy or option that does not exist; suggests the nearest one that does."""

    def __init__(self, kind: str | Message, name: str, allowed: Iterable[str]) -> None:
        names = sorted(allowed)
        lower = {each.lower(): each for each in reversed(names)}
        near = difflib.get_close_matches(name.lower().replace("-", "_"), lower, n=1, cutoff=0.4)
        if near:
            super().__init__("names.unknown_but_near", kind=kind, name=name, near=lower[near[0]], names=names)
        else:
            super().__init__("names.unknown", kind=kind, name=name, names=names)


class DataFileError(PeerfrontError):
    """A file cannot be read or written; the message names the place of the first fault."""


class DamagedFile(DataFileError):
    """A file that the program wrote is missing, unreadable, or not what was written; `fault` says what was found."""

    def __init__(self, path: object, fault: Message) -> None:
        super().__init__("own_files.damaged", path=path, fault=fault)
        self.fault = fault


class InfeasibleAllocation(PeerfrontError):
    """A policy gave out coupons it does not have or may not give; `where` says in which state."""

    def __init__(self, policy: str, fault: str | Message, where: Message | None = None) -> None:
        if where is None:
            super().__init__("allocation.infeasible", policy=policy, fault=fault)
        else:
            super().__init__("allocation.infeasible_at", policy=policy, where=where, fault=fault)
        self.policy = policy
        self.fault = fault


class PolicyFailed(PeerfrontError):
    """A policy raised an error of its own; `where` says in which state, or that it was being prepared."""

    def __init__(self, policy: str, where: Message, problem: Message) -> None:
        super().__init__("policy_failed.raised", policy=policy, where=where, problem=problem)
        self.policy = policy


class ComparisonFailed(PeerfrontError):
    """Some policies of a comparison failed; `results` has the others, None if there are none."""

    def __init__(self, failures: list[Message], total: int, folder: object, results: Any) -> None:
        code = "comparison.failed" if folder is None else "comparison.failed_but_kept"
        values = {} if folder is None else {"path": folder, "resume": Remedy("resume", True)}
        super().__init__(code, n=len(failures), total=total, failures=Lines(failures), **values)
        self.results = results


class OutputExists(PeerfrontError):
    """An output exists already, and the user did not allow to replace or complete it."""


class OutputInUse(PeerfrontError):
    """Another run is writing to the same place."""

    def __init__(self, path: str, owner: str = "") -> None:
        if owner:
            super().__init__("outputs.in_use_by", path=path, owner=owner)
        else:
            super().__init__("outputs.in_use", path=path)


class MissingExtra(PeerfrontError):
    """An optional library is needed and not installed."""

    def __init__(self, purpose: str | Message, extra: str) -> None:
        super().__init__("extras.missing", purpose=purpose, extra=extra)
        self.purpose = purpose
        self.extra = extra


def check_extra(library: str, purpose: str | Message, extra: str) -> None:
    """Refuse what needs this library if it is not installed."""
    if find_spec(library) is None:
        raise MissingExtra(purpose, extra)
