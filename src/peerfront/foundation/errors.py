"""The errors that users see. Each message says what was found, what is allowed, and what to do.

Everything a user can cause is a `PeerfrontError`; the command line prints its message, without a traceback, and exits
with code 2. Anything else is a defect of the program.
"""

import difflib
from collections.abc import Iterable


class PeerfrontError(Exception):
    """Something the user, or a component the user wrote, has to repair. All errors of this package are of this kind.

    >>> try:
    ...     pf.make_world("brigde")
    ... except pf.PeerfrontError as error:
    ...     print(error)
    There is no world called 'brigde'. Did you mean 'bridge'? ...
    """


class SettingError(PeerfrontError):
    """A setting is outside what is allowed: a negative budget, a discount of 1.2, a cap of zero."""


class UnknownName(PeerfrontError):
    """A world, policy or option that does not exist; suggests the nearest one that does."""

    def __init__(self, kind: str, name: str, allowed: Iterable[str]) -> None:
        names = sorted(allowed)
        lower = {each.lower(): each for each in reversed(names)}
        near = difflib.get_close_matches(name.lower().replace("-", "_"), lower, n=1, cutoff=0.4)
        suggestion = f" Did you mean {lower[near[0]]!r}?" if near else ""
        super().__init__(f"There is no {kind} called {name!r}.{suggestion} Choose one of: {', '.join(names)}.")
        self.arguments = (kind, name, names)

    def __reduce__(self) -> tuple[type["UnknownName"], tuple[str, str, list[str]]]:
        # An error raised in a worker process travels by pickle, which would otherwise lose the other arguments.
        return UnknownName, self.arguments


class DataFileError(PeerfrontError):
    """A file cannot be read or written; the message names the place of the first fault."""


class InfeasibleAllocation(PeerfrontError):
    """A policy gave out coupons it does not have or may not give."""

    def __init__(self, policy: str, fault: str) -> None:
        super().__init__(f"Policy {policy!r} made an infeasible allocation: {fault}")
        self.policy = policy
        self.fault = fault

    def __reduce__(self) -> tuple[type["InfeasibleAllocation"], tuple[str, str]]:
        return InfeasibleAllocation, (self.policy, self.fault)


class OutputExists(PeerfrontError):
    """An output exists already, and the user did not allow to replace or complete it."""


class OutputInUse(PeerfrontError):
    """Another run is writing to the same place."""

    def __init__(self, path: str, owner: str = "") -> None:
        who = f" ({owner})" if owner else ""
        super().__init__(
            f"Another run{who} is writing to {path}. Wait until it has ended, or choose another place for the output."
        )
        self.arguments = (path, owner)

    def __reduce__(self) -> tuple[type["OutputInUse"], tuple[str, str]]:
        return OutputInUse, self.arguments


class MissingExtra(PeerfrontError):
    """An optional library is needed and not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional library that is not installed. "
            f"Install it with: pip install 'peerfront[{extra}]'"
        )
        self.purpose = purpose
        self.extra = extra

    def __reduce__(self) -> tuple[type["MissingExtra"], tuple[str, str]]:
        return MissingExtra, (self.purpose, self.extra)
