"""What users bring themselves: policies and worlds of a script, a notebook or another package.

They get a name for tables and files, bytes to travel to other processes, and a digest of what they hold and of the code
behind them, so that results of an earlier version are never taken for theirs. Packages offer theirs as entry points.
"""

import dis
import hashlib
import inspect
import io
import pickle
import re
import sys
import sysconfig
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, note

_LIBRARY = Path(sysconfig.get_path("stdlib"))
_CACHED = type(lru_cache(repr))
E = TypeVar("E")
T = TypeVar("T")
_LONGEST_NAME = 80
_WELL_KNOWN = ("peerfront", "builtins", "numpy", "scipy", "numba", "pandas", "networkx", "joblib", "torch")
"""Results say by which versions of these they were made."""


def name_of(thing: object) -> str:
    """What tables and files call it: its `name`, or that of the function or class."""
    name: Any = getattr(thing, "name", None)
    if not isinstance(name, str) or not name.strip():
        inner = thing.func if isinstance(thing, partial) else thing
        name = getattr(inner, "__name__", type(inner).__name__)
    plain = re.sub(r"[^\w .=-]+", "_", name).strip(" _.-")[:_LONGEST_NAME]
    return plain or type(thing).__name__


def about(thing: object) -> str:
    """The first line of its documentation; its name if it has none."""
    own = thing if isinstance(thing, FunctionType | type) else type(thing)
    return (inspect.getdoc(own) or name_of(thing)).partition("\n")[0]


def wants(function: Callable[..., Any], known: str, least: int = 0) -> bool:
    """Whether a function takes one more argument than `least` (0 or 1): it needs it, or names it as `known`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions say nothing of theirs
        return True
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = sum(each.default is each.empty for each in places)
    if len(places) < least and all(each.kind is not each.VAR_POSITIONAL for each in parameters):
        raise SettingError("own_parts.no_arguments", name=name_of(function))
    if needed > least + 1 or any(each.kind is each.KEYWORD_ONLY and each.default is each.empty for each in parameters):
        names = [each.name for each in parameters]
        raise SettingError("own_parts.other_arguments", name=name_of(function), most=least + 1, names=names)
    return needed > least or (len(places) > least and places[least].name == known)


def place_of(problem: BaseException) -> Message:
    """What somebody's own code raised, and the line where it did."""
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    line = note("own_parts.raised", kind=type(problem).__name__, problem=str(problem))
    if frame is None:
        return line
    file = Path(frame.tb_frame.f_code.co_filename).name
    return note("own_parts.raised_at", raised=line, file=file, line=frame.tb_lineno)


# Between processes -------------------------------------------------------------------------------------------------


def as_bytes(thing: object, name: str) -> bytes:
    """The thing as it travels to other processes.

    Code of modules that are not installed, which somebody may be working on, travels along: a process that has loaded
    an earlier version of it would go on with that.
    """
    import cloudpickle

    modules = _not_installed()
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        content = _travelling(thing)
    except Exception:  # some module holds what cannot travel: others load it as it stands on disk
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
        modules = []
        try:
            content = _travelling(thing)
        except Exception as problem:  # whatever the thing's own code raises
            raise SettingError("own_parts.cannot_travel", name=name, problem=place_of(problem)) from problem
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return content


def _travelling(thing: object) -> bytes:
    """The thing as cloudpickle writes it, and a cached function as its function, wherever that travels along."""
    import cloudpickle

    class Travelling(cloudpickle.Pickler):  # type: ignore[misc] # which has no types
        def reducer_override(self, each: Any) -> Any:
            if not isinstance(each, _CACHED):
                return super().reducer_override(each)
            function = each.__wrapped__
            by_name = super().reducer_override(function) is NotImplemented
            return NotImplemented if by_name else (_cached, (function, each.cache_parameters()))

    written = io.BytesIO()
    Travelling(written).dump(thing)
    return written.getvalue()


def _cached(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    return lru_cache(**parameters)(function)


def from_bytes(content: bytes, name: str) -> Any:
    """What `as_bytes` wrote in this run, here or in the process that asked this one; such bytes are in no file."""
    try:
        return pickle.loads(content)
    except Exception as problem:  # what it names is not there
        raise SettingError("own_parts.cannot_travel", name=name, problem=place_of(problem)) from problem


def _not_installed() -> list[ModuleType]:
    """The modules of somebody's own folders: not of Python, of this package, or where packages are installed."""
    own = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(module, ModuleType) or not file or name == "__main__" or module.__name__ != name:
            continue
        if not _is_installed(file) and name.partition(".")[0] not in _WELL_KNOWN:
            own.append(module)
    return own


def _is_somebodys(module: ModuleType) -> bool:
    """Whether a module may change between two runs; one without a file is a folder of such modules."""
    top, file = module.__name__.partition(".")[0], getattr(module, "__file__", None)
    return not (top in _WELL_KNOWN or top in sys.stdlib_module_names or (file and _is_installed(file)))


def _is_installed(file: str) -> bool:
    path = Path(file)
    return _LIBRARY in path.parents or bool({"site-packages", "dist-packages"} & set(path.parts))


def digest_of(thing: object) -> str:
    """A short hash of what the thing holds and of its code; another one each time if that cannot be said."""
    written = io.BytesIO()
    try:
        _Contents(written, protocol=5).dump(thing)
    except Exception:  # nothing is kept under such a name, rather than something else taken for it
        return uuid.uuid4().hex[:16]
    return hashlib.blake2b(written.getvalue(), digest_size=8).hexdigest()


def _part(*_: object) -> object:  # pragma: no cover - stands for functions and classes in bytes that nobody reads back
    return object()


class _Contents(pickle.Pickler):
    """Writes functions and classes as their code, not as their name alone; what it writes is only hashed.

    The code of installed packages is in their files. Elsewhere what it finds under its names counts, too: a notebook
    has no files, a module may use others, and a script may set their values.
    """

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self._sources: dict[str, str] = {}

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, ModuleType):
            return _part, ("module", thing.__name__, self._source(thing.__name__))
        if (inner := _inner(thing)) is not None:
            named = _part, (type(thing).__qualname__, inner.__module__, inner.__qualname__)
            return (*named, (inner, getattr(thing, "targetoptions", None))) if self._is_own(inner) else named
        if isinstance(thing, FunctionType) and self._is_own(thing):
            return _part, ("function", thing.__qualname__, self._source(thing.__module__)), self._function(thing)
        if isinstance(thing, type) and self._is_own(thing):
            return _part, ("class", thing.__qualname__, self._source(thing.__module__)), self._class(thing)
        return NotImplemented if isinstance(thing, type | FunctionType) else _without_cache(thing)

    @staticmethod
    def _is_own(thing: Any) -> bool:
        top = str(thing.__module__).partition(".")[0]
        known = top in _WELL_KNOWN or top in sys.stdlib_module_names
        return "<" in thing.__qualname__ or not known or top == "__main__"

    def _function(self, function: FunctionType) -> tuple[object, ...]:
        cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        given = function.__defaults__, function.__kwdefaults__, vars(function), cells
        return (_code(function.__code__), *given, *self._used(function))

    def _used(self, function: FunctionType) -> tuple[object, ...]:
        """What a function finds under its names, in its module and in those it uses, and the files that it imports."""
        code, found = function.__code__, dict[str, object]()
        if _is_installed(code.co_filename):
            return ()
        names, places = _names(code), [("", function.__globals__)]
        for place, held in places:
            for name in names:
                value = held.get(name)
                if name not in held or f"{place}.{name}" in found:
                    continue
                found[f"{place}.{name}"] = sorted(map(repr, value)) if isinstance(value, set | frozenset) else value
                if isinstance(value, ModuleType) and _is_somebodys(value):
                    places.append((value.__name__, vars(value)))
        return found, [(name, self._source(name)) for name in _imported(code)]

    def _class(self, kind: type) -> tuple[object, ...]:
        held = []
        for name, value in vars(kind).items():
            inner = getattr(value, "__func__", getattr(value, "func", getattr(value, "fget", value)))
            if isinstance(inner, FunctionType) or not name.startswith(("__", "_abc_")):
                held.append((name, inner))
        return kind.__bases__, held

    def _source(self, module: str) -> str:
        """A digest of the Python files of a module's package; empty for those that have none, such as a notebook."""
        top = str(module).partition(".")[0]
        if top not in self._sources:
            file = _file(top)
            hashed = hashlib.blake2b(digest_size=8)
            if top != "__main__" and file and top not in _WELL_KNOWN and top not in sys.stdlib_module_names:
                path = Path(file)
                for each in sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]:
                    hashed.update(each.read_bytes())
                self._sources[top] = hashed.hexdigest()
            else:
                self._sources[top] = ""
        return self._sources[top]


def _without_cache(thing: Any) -> Any:
    """An object without what it has only worked out and kept (cached properties)."""
    worked_out = {n for kind in type(thing).__mro__ for n, v in vars(kind).items() if isinstance(v, cached_property)}
    if not worked_out:
        return NotImplemented
    reduced = thing.__reduce_ex__(5)
    if not isinstance(reduced, tuple) or len(reduced) < 3 or not isinstance(reduced[2], dict):
        return NotImplemented
    held = {name: value for name, value in reduced[2].items() if name not in worked_out}
    return (*reduced[:2], held, *reduced[3:])


def _inner(thing: Any) -> Any:
    """The function behind a cache or one that Numba compiles; None for anything else."""
    if isinstance(thing, _CACHED):
        return thing.__wrapped__
    return getattr(thing, "py_func", None) if str(type(thing).__module__).startswith("numba.") else None


def _file(module: str) -> str | None:
    """The file of a module of this name, which may not be loaded."""
    if module in sys.modules:
        return getattr(sys.modules[module], "__file__", None)
    spec = find_spec(module) if module else None
    return spec.origin if spec is not None and spec.has_location else None


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _code(code: CodeType) -> tuple[object, ...]:
    constants = tuple(_code(each) if isinstance(each, CodeType) else _constant(each) for each in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


def _constant(value: object) -> str:
    """A constant of a function as text; a set in an order that is always the same."""
    shown = sorted(map(repr, value)) if isinstance(value, frozenset) else value
    return f"{type(value).__name__} {shown!r}"


def _names(code: CodeType) -> tuple[str, ...]:
    """The names a function looks up, those of functions in it included."""
    inner = [name for each in code.co_consts if isinstance(each, CodeType) for name in _names(each)]
    return tuple(sorted({*code.co_names, *inner}))


def _imported(code: CodeType) -> tuple[str, ...]:
    """The modules that a function imports itself, those of functions in it included."""
    own = [str(each.argval) for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"]
    inner = [name for each in code.co_consts if isinstance(each, CodeType) for name in _imported(each)]
    return tuple(sorted({*own, *inner}))


# Of other packages -------------------------------------------------------------------------------------------------


def offered(group: str) -> dict[str, list[EntryPoint]]:
    """What installed packages offer under the name of this group of entry points, by name; nothing is loaded."""
    found: dict[str, list[EntryPoint]] = {}
    for each in entry_points(group=group):
        same = found.setdefault(each.name, [])
        if all(other.value != each.value for other in same):  # a package may stand on the path twice
            same.append(each)
    return dict(sorted(found.items()))


def loaded(group: str, name: str) -> tuple[Any, str]:
    """What is offered under a name, and by which package; an error that names the package if it cannot be loaded."""
    points = offered(group)[name]
    packages = sorted(_package(each) for each in points)
    if len(points) > 1:
        raise SettingError("own_parts.offered_twice", name=name, packages=packages)
    try:
        return points[0].load(), packages[0]
    except (Exception, SystemExit) as problem:  # whatever the package's own code raises
        values = {"name": name, "package": packages[0], "value": points[0].value, "problem": place_of(problem)}
        raise SettingError("own_parts.broken", **values) from problem


def entry_named(name: str, ours: Mapping[str, E], group: str, entry_of: Callable[[Any], E], kind: Message) -> E:
    """The entry of a name, ours or of another package; an unknown one is an error with a suggestion."""
    if name in ours:
        return ours[name]
    if name not in (others := offered(group)):
        raise UnknownName(kind, name, {**ours, **others})
    thing, package = loaded(group, name)
    entry: Any = entry_of(thing)
    sentence = entry.about if entry is thing else note("own_parts.of_package", about=about(thing), package=package)
    named: E = replace(entry, name=name, about=sentence)
    return named


def given(thing: T, *_: object) -> T:
    """The thing itself: what an entry makes of an object, whatever it is made for."""
    return thing


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
