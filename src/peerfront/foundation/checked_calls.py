"""Checked calls: what users of the library hand over is held to the types that a function's signature states.

`checked` is put on a public function, `checked_class` on a public class, for its constructor and its public methods;
the late ones cost nothing as long as all is well. They refuse values of other types, unknown names (with the nearest
one that exists), and missing or too many arguments, and say what was found and what is allowed. Numbers must be finite,
whole ones of at most 18 digits; what else a value must fulfil is for the function to say. Signatures, docstrings and
types stay as they are.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Any, ForwardRef, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from peerfront.foundation.errors import PeerfrontError, SettingError, UnknownName
from peerfront.foundation.messages import Message, note
from peerfront.foundation.settings import MOST_SEED, is_finite, readable

P = ParamSpec("P")
R = TypeVar("R")
Class = TypeVar("Class", bound=type)
_ARRAYS = ((np.integer, "iu"), (np.floating, "iuf"), (np.bool_, "b"))
_ANY_ARRAY = "biufcOSUmMV"
_LONGEST = 255  # characters of a part of a path; no file system has longer names
_NAMED = {
    "Study": "types.study", "Model": "types.model", "Frontier": "types.frontier", "StudySchema": "types.schema",
    "DataFrame": "types.table", "Luck": "types.luck", "World": "types.world", "Policy": "types.policy",
    "Mapping": "types.mapping", "Callable": "types.function",
}  # fmt: skip
"""Types whose description says more than their name."""
_PLAIN: dict[Any, str] = {
    type(None): "types.none", bool: "stored_fit.truth", int: "types.whole", float: "settings.number",
    str: "stored_fit.text", Path: "types.path",
}  # fmt: skip


def checked(function: Callable[P, R], *, late: bool = False) -> Callable[P, R]:
    """Refuse what a function's signature does not allow; `late`: only once the function has failed."""
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    open_ended = any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in parameters)
    kinds = {each.name: _choices(each.annotation) for each in parameters if each.kind is not each.VAR_KEYWORD}
    owner = function.__qualname__.removesuffix(".__init__")

    def check(*values: Any, **named: Any) -> None:
        for (name, choices), value in zip(kinds.items(), values, strict=False):
            _check(owner, name, value, choices)
        for name, value in named.items():
            if name in kinds:
                _check(owner, name, value, kinds[name])
            elif not open_ended:
                names = [each for each in kinds if each not in ("self", "cls")]
                raise UnknownName(note("specs.setting_of", name=owner), name, names)

    @wraps(function)
    def call(*values: P.args, **named: P.kwargs) -> R:
        if not late:
            check(*values, **named)
        try:
            return function(*values, **named)
        except PeerfrontError:
            raise
        except Exception as error:
            if late:
                check(*values, **named)
            if isinstance(error, TypeError):
                _check_number(signature, owner, values, named)
            raise

    return call


def checked_late(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that is called thousands of times a second: it costs nothing as long as all is well."""
    return checked(function, late=True)


def checked_class(made: Class, *, late: bool = False) -> Class:
    """Check what the constructor and the public methods of a class are given."""
    for name, method in list(vars(made).items()):
        function = getattr(method, "__func__", method)  # of a class method
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            call = checked(function, late=late)
            setattr(made, name, call if function is method else type(method)(call))
    return made


def checked_settings(made: Class) -> Class:
    """The same for a settings class: its own rules come first, and fields without one are held to their types."""
    rules: Callable[[Any], None] = vars(made)["__post_init__"]

    def check(settings: Any) -> None:
        rules(settings)
        check_types(settings)

    setattr(made, "__post_init__", check)  # noqa: B010 - mypy knows no such method of a type
    return checked_class(made, late=True)


def checked_state(made: Class) -> Class:
    """The same for a class that is made thousands of times a second, and calls `check_types` where it has to."""
    return checked_class(made, late=True)


def check_types(made: Any) -> None:
    """Hold the fields of a dataclass to their types."""
    for each in fields(made):
        _check(type(made).__name__, each.name, getattr(made, each.name), _choices(each.type))


def _check_number(signature: inspect.Signature, owner: str, values: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Refuse a call with missing or too many arguments."""
    try:
        signature.bind(*values, **named)
    except TypeError:
        needed = [name for name, each in signature.parameters.items() if each.default is each.empty]
        missing = [name for name in needed[len(values) :] if name not in named]
        if missing:
            raise SettingError("calls.missing", owner=owner, names=missing) from None
        raise SettingError("calls.too_many", owner=owner, names=list(signature.parameters)) from None


def _check(owner: str, name: str, value: object, choices: list[Any]) -> None:
    if not any(_fits(value, kind) for kind in choices):
        allowed = [_described(kind) for kind in choices if kind is not str or Path not in choices]
        either = note("types.either", kinds=allowed[:-1], last=allowed[-1]) if allowed[1:] else allowed[0]
        raise SettingError("calls.wrong", owner=owner, name=name, allowed=either, value=readable(value))
    if Path in choices and isinstance(value, str | Path):
        path = str(value)
        if "\0" in path or any(len(each) > _LONGEST for each in Path(path).parts):
            raise SettingError("calls.no_path", most=_LONGEST, value=readable(value))


def _choices(annotation: Any) -> list[Any]:
    """The kinds of values that an annotation allows; types that are not loaded where it stands are known by name."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        plain = {kind.__name__: kind for kind in _PLAIN} | {"None": type(None)}
        return [plain.get(name, name) for name in annotation.split(" | ")]
    if get_origin(annotation) in (Union, UnionType):
        return [kind for each in get_args(annotation) for kind in _choices(each)]
    return [annotation]


def _fits(value: Any, kind: Any) -> bool:
    if kind is Any or kind is inspect.Parameter.empty:
        return True
    if kind is int or kind is float:
        return is_finite(value) and (kind is float or (value == int(value) and abs(value) <= MOST_SEED))
    if isinstance(kind, str):
        return any(each.__name__ == kind for each in type(value).__mro__)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        if getattr(kind, "_is_protocol", False):
            return all(hasattr(value, name) for name in _members(kind))
        return isinstance(value, (bool, np.bool_) if kind is bool else kind)
    if origin is np.ndarray:
        return (
            isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in _array_kinds(get_args(inner[1])[0])
        )
    if origin in (tuple, Sequence):
        several = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
        return several and not isinstance(value, str | bytes) and _all_fit(value, inner[0])
    if origin is Mapping:
        return isinstance(value, Mapping) and _all_fit(value, inner[0]) and _all_fit(value.values(), inner[1])
    return isinstance(value, origin)


def _all_fit(values: Iterable[Any], annotation: Any) -> bool:
    choices = _choices(annotation)
    return all(any(_fits(value, kind) for kind in choices) for value in values)


def _members(protocol: Any) -> set[str]:
    """What a protocol asks for. Not a name: an object without one is called by its class."""
    own = [each for each in protocol.__mro__ if getattr(each, "_is_protocol", False)]
    return {name for each in own for name in vars(each) if not name.startswith("_") and name != "name"}


def _array_kinds(number: Any) -> str:
    """Kinds of arrays (NumPy's letters) that may stand where an array of such numbers is meant."""
    return next((kinds for of, kinds in _ARRAYS if isinstance(number, type) and issubclass(number, of)), _ANY_ARRAY)


def _described(kind: Any) -> Message:
    """A kind of value, for a message."""
    origin = get_origin(kind)
    if kind in _PLAIN:
        return note(_PLAIN[kind])
    if origin is np.ndarray:
        return note("types.array")
    if origin in (tuple, Sequence):
        return note("types.list", each=[_described(each) for each in _choices(get_args(kind)[0])])
    name = kind if isinstance(kind, str) else (origin or kind).__name__
    return note(_NAMED[name]) if name in _NAMED else note("types.other", name=name)
