"""A check-up: what was looked at, how it stands and what to do about it; and the check-up of an installation.

`peerfront doctor` asks for the installation, `peerfront live doctor` for a study on its server. Each finding has one
subject and one message, which also says what to do unless all is well.
"""

import platform
import re
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module, metadata
from pathlib import Path

from peerfront.foundation.machine import can_hold, compiled_code_place
from peerfront.foundation.messages import Message, note


class Condition(StrEnum):
    """How something stands."""

    OK = "ok"
    CARE = "care"
    """It works, and may not for long, or not well."""
    BAD = "bad"
    """It does not work, or something may be lost."""


@dataclass(frozen=True)
class Finding:
    """How one subject stands."""

    subject: Message
    condition: Condition
    message: Message
    """What was found, and what to do about it."""


@dataclass(frozen=True)
class CheckUp:
    """All findings, in the order in which they were looked for."""

    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """1 if something is bad, otherwise 0."""
        return int(any(each.condition is Condition.BAD for each in self.findings))


def ok(subject: Message, message: Message) -> Finding:
    """A finding that all is well."""
    return Finding(subject, Condition.OK, message)


def care(subject: Message, message: Message) -> Finding:
    """A finding that somebody should look after."""
    return Finding(subject, Condition.CARE, message)


def bad(subject: Message, message: Message) -> Finding:
    """A finding that somebody has to mend."""
    return Finding(subject, Condition.BAD, message)


_PYTHON, _PACKAGES, _TORCH, _COMPILING, _BROWSER, _FOLDERS = (
    note("doctor_subjects.python"), note("doctor_subjects.packages"), note("doctor_subjects.torch"),
    note("doctor_subjects.compiling"), note("doctor_subjects.browser"), note("doctor_subjects.folders"),
)  # fmt: skip
OLDEST_PYTHON = (3, 11)
LIVE_PACKAGES = ("argon2-cffi", "cryptography", "django", "django-axes", "django-csp", "waitress", "whitenoise")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def installation() -> Iterator[Finding]:
    """Look at Python, packages, torch, compiled code, browser and folders; load only NumPy and Numba."""
    version = note("doctor.python", version=platform.python_version(), system=platform.platform())
    old = sys.version_info < OLDEST_PYTHON
    oldest = ".".join(map(str, OLDEST_PYTHON))
    yield bad(_PYTHON, note("doctor.python_old", version=version, oldest=oldest)) if old else ok(_PYTHON, version)
    yield from _packages()
    yield _torch()
    yield _compiling()
    yield _browser()
    yield from _folders()


def _packages() -> Iterator[Finding]:
    required = metadata.requires("peerfront") or []
    named = [match[0] for each in required if "extra ==" not in each and (match := _NAME.match(each))]
    if missing := [name for name in named if _version(name) is None]:
        yield bad(_PACKAGES, note("doctor.packages_missing", names=missing))
    else:
        yield ok(
            _PACKAGES, note("doctor.packages", number=len(named), numpy=_version("numpy"), numba=_version("numba"))
        )
    if missing := [name for name in LIVE_PACKAGES if _version(name) is None]:
        yield care(_PACKAGES, note("doctor.no_live", names=missing))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _torch() -> Finding:
    """Tell the build of torch by what is installed: to import it takes seconds."""
    version = _version("torch")
    if version is None:
        return ok(_TORCH, note("doctor.no_torch"))
    for_gpus = [
        each.name for each in metadata.distributions() if re.match(r"nvidia[-_]", each.name or "", re.IGNORECASE)
    ]
    size = sum(map(_megabytes, ["torch", *for_gpus]))
    if "+cpu" in version or not (for_gpus or re.search(r"\+(cu|rocm)", version)):
        return ok(_TORCH, note("doctor.torch", version=version, size=size))
    return care(_TORCH, note("doctor.torch_for_gpus", version=version, size=size, number=len(for_gpus)))


def _megabytes(name: str) -> float:
    files = [Path(str(each.locate())) for each in metadata.files(name) or []]
    return sum(each.stat().st_size for each in files if each.is_file()) / 1e6


def _compiling() -> Finding:
    try:
        import numpy as np

        numba = import_module("numba")  # by name: nothing here may depend on it, only ask whether it works
        total = numba.njit(lambda numbers: numbers.sum())(np.arange(4.0))
    except Exception as fault:  # whatever is wrong with the installation
        return bad(_COMPILING, note("doctor.no_compiling", fault=f"{type(fault).__name__}: {fault}"[:300]))
    place = compiled_code_place()
    if total != 6.0:
        return bad(_COMPILING, note("doctor.no_compiling", fault=f"0 + 1 + 2 + 3 = {total}"))
    return ok(_COMPILING, note("doctor.compiling") if place is None else note("doctor.compiling_there", path=place))


def _browser() -> Finding:
    try:
        name = getattr(webbrowser.get(), "name", "") or sys.platform
    except webbrowser.Error:
        return care(_BROWSER, note("doctor.no_browser"))
    return ok(_BROWSER, note("doctor.browser", name=name))


def _folders() -> Iterator[Finding]:
    for path in (Path.cwd(), Path(tempfile.gettempdir())):
        if can_hold(path):
            yield ok(_FOLDERS, note("doctor.folder", path=path))
        else:
            yield bad(_FOLDERS, note("doctor.folder_closed", path=path))
