"""A saved fit: everything planning and forecasting need, in a folder of two files, without code and without people.

- `weights.safetensors`: every array of every model;
- `manifest.json`: format, schema, rules, settings of the models, how the fit was made (settings, versions, fingerprint
  of the data), its scores, and the SHA-256 of the weights and of the manifest itself. Sorted and indented, for people.

The same fit gives the same bytes. It holds no participant: neither ids nor rows, only what models learned. A fit is
saved as a whole or not at all, even if the program is killed meanwhile: the new manifest is written first (`PENDING`),
then the weights are renamed in one step. Reading checks format, checksums, schema, shapes and numbers, and that the
files hold nothing else.
"""

import contextlib
import dataclasses
import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import peerfront
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import (
    DamagedFile,
    DataFileError,
    OutputExists,
    PeerfrontError,
    SettingError,
    UnknownName,
)
from peerfront.foundation.files import LARGEST_FILE, claimed_folder, output_path, write_bytes, write_temporary
from peerfront.foundation.locks import names_in, temporary_name
from peerfront.foundation.messages import Message, Remedy, Severity, note
from peerfront.foundation.own_files import MOST_BYTES, check_shape, json_of, own_bytes
from peerfront.foundation.randomness import Luck
from peerfront.foundation.stored import Stored
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import FrontierValue, RecruitEmbeddings, Story
from peerfront.gfp.surrogate import learned_networks
from peerfront.models.belief.belief import Belief, BeliefResponse
from peerfront.models.belief.belief_world import BeliefWorld
from peerfront.models.belief.prior import prior_belief
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.models.stored_models import (
    GENERATORS,
    check_behaviour,
    check_scores,
    generator_class,
    kind_of,
    restored_rules,
    restored_schema,
    restored_value,
    stored_schema,
    stored_value,
)
from peerfront.problem import BranchingWorld, Frontier, History, ResponseModel, Rules, World
from peerfront.study.forecast_trust import PastForecasts

if TYPE_CHECKING:
    from peerfront.models.stored_models import Generator

FORMAT = "peerfront fit"
FORMAT_VERSION = 3
MANIFEST, WEIGHTS = "manifest.json", "weights.safetensors"
PENDING = ".manifest.json.new"
"""The manifest of weights that have just been replaced, until it takes the place of the old one."""
_SHOWN_DRAWS = 16  # of the belief, that the networks of a value are shown
_LIBRARIES = ("numpy", "scipy", "numba", "safetensors")


@dataclass(frozen=True, eq=False)
class Fit:
    """Models of how people refer, a planner that uses them, and where they come from."""

    schema: Schema
    belief: Belief
    """What coupons do."""
    offspring: "Generator"
    planner: Planner
    """The planner; its stories are the parts of the belief."""
    rules: Rules
    """What the planner was prepared for: coupons, people, rounds, caps."""
    study_schema: str = ""
    """The study's own description of its columns, saved unread."""
    data_fingerprint: str = ""
    """`fingerprint` of the history the models were fitted to."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How the models were fitted, seeds included: anything JSON can hold."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """How good the models are: anything JSON can hold."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the software that made the fit; filled in when it is first saved."""
    returns: ReturnTimes | None = None
    """When people return; None if the study's dates do not show it, and in models of earlier versions."""
    lately: Belief | None = None
    """What the usual number of coupons brought lately, if counts contradict the belief."""

    @property
    def discount(self) -> float:
        return self.planner.discount

    @property
    def responses(self) -> dict[str, ResponseModel]:
        """The response by each part of the belief, the most credible first, as plans use it."""
        believed = sorted(self.planner.stories, key=lambda story: -story.weight)
        return {story.name: story.response for story in believed}

    @property
    def most_shown(self) -> int:
        """The most coupons that at least a few people of the study had at once."""
        return self.belief.most

    @property
    def given(self) -> dict[int, int]:
        """About how many people of the study had each number of coupons; 3 for everybody if that is not known."""
        pairs = self.scores.get("coupon_stories", {}).get("given", [(3, 1)])
        return {int(coupons): int(people) for coupons, people in pairs}

    @property
    def messages(self) -> tuple[Message, ...]:
        """Notes and warnings of the fit, for whoever uses it."""
        restored = import_module("peerfront.words.stored_text").from_data
        return tuple(restored(each) for each in self.scores.get("messages", ()))

    @property
    def past_forecasts(self) -> PastForecasts:
        """How forecasts of the study fared in the past."""
        kept = self.scores.get("past_forecasts")
        return PastForecasts() if kept is None else PastForecasts.restored(kept)

    @property
    def warnings(self) -> tuple[Message, ...]:
        """The messages that are warnings."""
        return tuple(each for each in self.messages if each.severity is Severity.WARNING)

    @property
    def fingerprint(self) -> str:
        """The checksum of the whole model, as the manifest of its folder has it under `sha256`."""
        return str(json.loads(self.files()[MANIFEST])["sha256"])

    def world(self, frontier: Frontier, story: str | None = None) -> World:
        """The world of the fitted models that starts from this frontier, if the rules have as many people.

        Every episode has its own draw of the belief, or of the part that `story` names.
        """
        belief = self.belief
        if story is not None:
            if story not in belief.weights:
                raise UnknownName(note("stories.kind"), story, belief.weights)
            belief = belief.part(story)
        people = _ThesePeople(frontier.covariates)
        inner = BranchingWorld("learned", self.schema, belief.to_plan_with(), self.offspring, people)
        return BeliefWorld(inner, belief)

    def of_usual(self) -> "Fit":
        """The fit that expectations come from where counts contradict the belief; it cannot be saved."""
        if self.lately is None:
            return self
        stories = planned_stories(self.lately, *learned_networks(self.planner.stories[0]))
        return dataclasses.replace(self, belief=self.lately, planner=dataclasses.replace(self.planner, stories=stories))

    def save(self, folder: Path, *, overwrite: bool = False) -> None:
        """Write the fit; replace an existing fit only if asked, and never anything else."""
        files = self.files()
        with claimed_target(folder, overwrite):
            place = output_path(folder)
            weights, pending = place / temporary_name(), place / PENDING
            try:
                write_temporary(weights, place / WEIGHTS, files[WEIGHTS])
                write_bytes(pending, files[MANIFEST])
                # From here on the new fit counts: readers take the pending manifest if it belongs to the weights.
                weights.replace(place / WEIGHTS)
                pending.replace(place / MANIFEST)
            except (OSError, DataFileError) as problem:
                if weights.exists():
                    pending.unlink(missing_ok=True)
                raise DataFileError("saved_fits.cannot_write", folder=folder, problem=str(problem)) from None
            finally:
                weights.unlink(missing_ok=True)

    def files(self) -> dict[str, bytes]:
        """The contents of the two files."""
        self._check()
        arrays = {name: np.ascontiguousarray(array) for name, array in self._stored().arrays.items()}
        broken = [name for name, array in arrays.items() if not np.isfinite(array).all()]
        if broken:
            raise SettingError("saved_fits.not_finite", part=broken[0])
        weights = save_arrays(arrays)
        manifest = self._manifest() | {
            "files": {WEIGHTS: {"sha256": hashlib.sha256(weights).hexdigest(), "bytes": len(weights)}}
        }
        try:
            signed = {**manifest, "sha256": _checksum(manifest)}
            return {WEIGHTS: weights, MANIFEST: _text(signed).encode()}
        except (TypeError, ValueError) as problem:
            raise SettingError("saved_fits.not_json", problem=str(problem)) from None

    def _manifest(self) -> dict[str, Any]:
        """The manifest without its checksums."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "versions": dict(self.versions or _versions()),
            "schema": stored_schema(self.schema),
            "study_schema": self.study_schema,
            "rules": dataclasses.asdict(self.rules),
            "models": dict(self._stored().settings),
            "data_fingerprint": self.data_fingerprint,
            "settings": dict(self.settings),
            "scores": dict(self.scores),
        }

    def _check(self) -> None:
        if kind_of(self.offspring) is None:
            kind = type(self.offspring).__name__
            raise SettingError("saved_fits.other_generator", kind=kind, allowed=sorted(GENERATORS))
        networks = learned_networks(self.planner.stories[0])
        seen = [network.inputs for network in networks]
        if any(part.schema != self.schema for part in (self.belief, self.offspring, *seen)):
            raise SettingError("saved_fits.other_schemas")
        shown, made = value_response(self.belief), planned_stories(self.belief, *networks)
        alike = (
            all(inputs.response is None or _same_draws(inputs.response, shown) for inputs in seen)
            and all(learned_networks(story) == networks for story in self.planner.stories)
            and [(own.name, own.weight) for own in self.planner.stories] == [(own.name, own.weight) for own in made]
            and all(
                _same_draws(own.response, other.response) for own, other in zip(self.planner.stories, made, strict=True)
            )
        )
        if not alike:
            raise SettingError("saved_fits.other_response")
        if self.planner.budget < self.rules.budget:
            most = self.planner.budget
            raise SettingError("saved_fits.too_many_coupons", coupons=self.rules.budget, most=most)
        rounds = self.planner.rounds
        if rounds is not None and rounds < self.rules.rounds:
            raise SettingError("saved_fits.too_many_rounds", rounds=self.rules.rounds, most=rounds)
        most = self.rules.budget if self.rules.max_per_person is None else self.rules.max_per_person
        if self.planner.least_per_person > most:
            raise SettingError("saved_fits.least_above_most", least=self.planner.least_per_person, most=most)

    def _stored(self) -> Stored:
        more = {"returns": self.returns, "lately": self.lately}
        return Stored.of_parts(
            {"offspring_kind": kind_of(self.offspring)},
            belief=self.belief.stored(),
            offspring=self.offspring.stored(),
            planner=stored_value(self.planner),
            **{name: part.stored() for name, part in more.items() if part is not None},
        )


@dataclass(frozen=True, eq=False)
class _ThesePeople:
    """First frontiers that are always the same people, in their order."""

    covariates: Codes  # [people, fields]

    def sample(self, luck: Luck) -> Codes:
        return self.covariates[np.arange(len(luck)) % len(self.covariates)]


def load_fit(folder: Path, checksum: str = "") -> Fit:
    """Read and fully check the fit of this folder; it plans and samples exactly as the saved one.

    With `checksum`, which may be the beginning of one, it must be this fit and no other.
    """
    manifest, weights = _read_files(folder)
    if not str(manifest["sha256"]).startswith(checksum):
        _refuse(folder, note("saved_fits.another", found=str(manifest["sha256"])[:16], expected=checksum[:16]))
    listed = manifest["files"][WEIGHTS]
    try:
        # Copies: compiled code expects writable arrays.
        arrays: dict[str, NDArray[Any]] = {name: array.copy() for name, array in load_arrays(weights).items()}
        fit = _restored(manifest, arrays)
        fit._check()
        whole = fit._stored().arrays.keys() == arrays.keys()
        same = json.loads(_text(fit._manifest()))
        check_shape(fit.settings, {"prior_belief?": {}}, folder)
        _ = fit.past_forecasts, prior_belief("prior_belief", fit.settings.get("prior_belief"))
        import_module("peerfront.words.stored_text").restored(list(fit.scores.get("messages", ())), folder)
    except (SafetensorError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        _refuse(folder, note("saved_fits.contents", kind=type(problem).__name__, problem=str(problem)))
    except RecursionError:
        _refuse(folder, note("saved_fits.nested"))
    except DamagedFile as problem:
        _refuse(folder, problem.fault)
    except PeerfrontError as problem:
        _refuse(folder, problem.message)
    if not whole or same | {"files": {WEIGHTS: listed}, "sha256": manifest["sha256"]} != manifest:
        _refuse(folder, note("saved_fits.something_else"))
    return fit


def fingerprint(history: History) -> str:
    """SHA-256 of a history: shows whether data are the same, without showing anybody in them."""
    hashed = hashlib.sha256(repr(history.schema).encode())
    exposure = history.exposure_of(np.arange(len(history.coupons)))
    arrays = [history.referrers, history.coupons, history.recruits, history.parents, history.children]
    for codes in arrays if exposure is None else [*arrays, exposure]:
        array = np.ascontiguousarray(codes)
        hashed.update(f"{array.dtype.str}{array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()


def _restored(manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Fit:
    written = Stored(manifest, {}, MANIFEST)
    schema = restored_schema(manifest.get("schema"), MANIFEST)
    stored = Stored(manifest["models"], arrays)
    kind = stored.setting("offspring_kind", str)
    belief = Belief.restored(stored.part("belief"), schema)
    versions = written.setting("versions", dict)
    fit = Fit(
        schema=schema,
        belief=belief,
        offspring=generator_class(kind).restored(stored.part("offspring"), schema),
        planner=_restored_planner(stored.part("planner"), schema, belief),
        rules=restored_rules(written),
        study_schema=written.setting("study_schema", str),
        data_fingerprint=written.setting("data_fingerprint", str),
        settings=written.setting("settings", dict),
        scores=written.setting("scores", dict),
        versions={name: Stored(versions, {}, "versions").setting(name, str) for name in versions},
        returns=ReturnTimes.restored(stored.part("returns")) if "returns" in stored.settings else None,
        lately=Belief.restored(stored.part("lately"), schema) if "lately" in stored.settings else None,
    )
    check_scores(fit.scores, MANIFEST)
    check_behaviour(schema, fit.planner, "the fit")
    return fit


def _restored_planner(stored: Stored, schema: Schema, belief: Belief) -> Planner:
    surrogate, laplace, discount, least, name = restored_value(stored, schema, value_response(belief))
    return Planner(planned_stories(belief, surrogate, laplace), discount, least, name)


def _same_draws(one: ResponseModel, other: ResponseModel) -> bool:
    if not (isinstance(one, BeliefResponse) and isinstance(other, BeliefResponse)):
        return False
    return one.zeal == other.zeal and one.belief.same_draws(other.belief)


def planned_stories(belief: Belief, surrogate: FrontierValue, laplace: RecruitEmbeddings) -> tuple[Story, ...]:
    """The parts of a belief as a planner needs them: a few draws for each, and one value for all."""
    return tuple(
        Story(belief.part(name).to_plan_with(), surrogate, laplace, weight, name)
        for name, weight in belief.weights.items()
    )


def value_response(belief: Belief) -> BeliefResponse:
    """The response that the networks of a value are shown."""
    return belief.to_plan_with(_SHOWN_DRAWS)


def _read_files(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The manifest and the weights that belong together."""
    if not folder.is_dir():
        raise DataFileError("saved_fits.no_folder", folder=folder)
    # Another run may be replacing the fit at this moment, or may have been killed while it did.
    for name in (MANIFEST, PENDING, MANIFEST):
        if name == MANIFEST or (folder / name).exists():
            manifest, weights = _read_manifest(folder, name), _read(folder, WEIGHTS)
            about = {"sha256": hashlib.sha256(weights).hexdigest(), "bytes": len(weights)}
            if manifest.get("files") == {WEIGHTS: about}:
                return manifest, weights
    return _refuse(folder, note("saved_fits.other_weights", file=WEIGHTS))


def _read_manifest(folder: Path, name: str) -> dict[str, Any]:
    if name == MANIFEST and not (folder / name).exists() and (folder / PENDING).exists():
        name = PENDING
    try:
        manifest = json_of(_read(folder, name), {}, folder / name)
        content = {name: value for name, value in manifest.items() if name != "sha256"}
        checksum = _checksum(content)
    except DamagedFile as problem:
        _refuse(folder, note("saved_fits.unreadable", file=MANIFEST, problem=problem.fault))
    except (RecursionError, ValueError) as problem:  # halves of characters, which cannot be written
        _refuse(folder, note("saved_fits.unreadable", file=MANIFEST, problem=str(problem)))
    if content.get("format") != FORMAT:
        raise DataFileError("saved_fits.no_manifest", file=folder / MANIFEST)
    number = content.get("format_version")
    if type(number) is int and number > FORMAT_VERSION:
        raise DataFileError(
            "saved_fits.newer", folder=folder, format=number, version=peerfront.__version__, most=FORMAT_VERSION
        )
    if number in (1, 2):
        raise DataFileError("saved_fits.older", folder=folder)
    if number != FORMAT_VERSION:
        _refuse(folder, note("saved_fits.format_version", number=number))
    if manifest.get("sha256") != checksum:
        _refuse(folder, note("saved_fits.other_manifest", file=MANIFEST))
    return dict(manifest)


def _read(folder: Path, name: str) -> bytes:
    try:
        return own_bytes(folder / name, LARGEST_FILE if name == WEIGHTS else MOST_BYTES)
    except DamagedFile as problem:
        if problem.fault.code == "own_files.missing":
            raise DataFileError("saved_fits.no_file", folder=folder, file=name) from None
        _refuse(folder, note("saved_fits.unreadable", file=name, problem=problem.fault))


def _refuse(folder: Path, fault: Message) -> NoReturn:
    raise DataFileError("saved_fits.unusable", folder=folder, fault=fault)


@contextmanager
def claimed_target(folder: Path, overwrite: bool) -> Iterator[None]:
    """Lock the folder that a fit will be saved in; refuse at once one that cannot be used."""
    with claimed_folder(folder, lambda: check_target(folder, overwrite)):
        yield


def check_target(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that a fit cannot be saved in; touches nothing."""
    folder = output_path(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputExists("saved_fits.is_a_file", folder=folder)
    names = set(names_in(folder))
    others = sorted(names - {MANIFEST, WEIGHTS, PENDING})
    if others:
        raise OutputExists("saved_fits.other_things", folder=folder, others=others[:3])
    if names - {PENDING} and not overwrite:
        raise OutputExists("saved_fits.exists", folder=folder, overwrite=Remedy("overwrite", True))


def _checksum(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(manifest).encode()).hexdigest()


def _text(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "peerfront": peerfront.__version__}
    for library in _LIBRARIES:
        with contextlib.suppress(ModuleNotFoundError):
            versions[library] = version(library)
    return versions
