"""Models of earlier studies support the fit of a new one, with more weight the better they agree with it.

Only saved models are read, which hold nobody's rows. Columns with the same name and categories are shared, and each
model reads the new study's file by its own rules. What it believes about coupons is part of the new study's prior
(`models.belief.prior`); whom people bring and when is pooled with the new study's data (`models.pooling`). The new
model uses the earlier model's categories for shared columns, which are public already.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.schema_file import parse_schema
from peerfront.data.study import Study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.covariates import UNKNOWN, Codes
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.foundation.stored import FEWEST
from peerfront.models.belief.belief_fit import Counts
from peerfront.models.belief.prior import Prior
from peerfront.models.offspring.generator_choice import OffspringChoice
from peerfront.models.pooling import EarlierAlike, Pooled, alike_of, pool_inheritance, pooled
from peerfront.problem import History
from peerfront.study.artifacts import Fit

if TYPE_CHECKING:
    from peerfront.models.returns.return_fit import ReturnSettings

Array = NDArray[np.float64]
FEWEST_WITH_EARLIER = 3
"""Coupon holders with usable counts below which nothing is fitted, earlier studies or not."""
MOST_EARLIER = 50
_ASKED = 400  # synthetic people for whom earlier models predict
_PAIRS = 4_000  # drawn from an earlier generator to see how much recruits are like recruiters
_LAG_VARIES = 0.3  # usual spread of log medians between studies
_LEAST_VARIATION = 0.1


@dataclass(frozen=True, eq=False)
class _Earlier:
    """One earlier model and what it shares with the new study."""

    fit: Fit
    schema: StudySchema
    shared: tuple[str, ...]
    """Columns with the same categories in both."""
    unlike: tuple[str, ...]
    """Columns of the same name in which the model knows no answer of the new study."""

    def encode(self, table: pd.DataFrame) -> Codes:
        """Encode people of the new study by this model's own rules; what it does not know becomes unknown."""
        return _encoded(table, self.schema, self.shared)


@dataclass(frozen=True, eq=False)
class EarlierStudies:
    """Earlier models beside a new study."""

    models: tuple[_Earlier, ...]
    schema: StudySchema
    """The new model's schema: shared columns with an earlier model's categories, others with the study's."""
    merged: dict[str, Message]

    @classmethod
    def of(
        cls, fits: Sequence[Fit], study: Study, schema: StudySchema, private: StudySchema, merged: dict[str, Message]
    ) -> "EarlierStudies":
        """Compare columns; `private` is the study's own schema with rare answers merged, as it may be published."""
        if len(fits) > MOST_EARLIER:
            raise SettingError("earlier_studies.too_many", most=MOST_EARLIER, found=len(fits))
        seen = [fit.data_fingerprint for fit in fits]
        for place, own in enumerate(seen):
            if own and own in seen[:place]:
                raise SettingError("earlier_studies.same_data", prior=Remedy("prior"))
        models = tuple(_compared(fit, study, schema) for fit in fits)
        used, rules = {rule.name: rule for rule in schema.used}, []
        of_private = {rule.name: rule for rule in private.used}
        for name in used:
            theirs = [
                rule for model in models if name in model.shared for rule in model.schema.used if rule.name == name
            ]
            if theirs:
                rules.append(theirs[0] if theirs[0].other is not None else replace(theirs[0], others_unknown=True))
            elif name in of_private:
                rules.append(of_private[name])
        kept = {rule.name for rule in rules}
        left_out = tuple(name for name in (*private.exclude, *used) if name not in kept)
        own_merged = {name: done for name, done in merged.items() if not any(name in model.shared for model in models)}
        whole = StudySchema(tuple(rules), tuple(dict.fromkeys(left_out)), private.reading, private.source)
        return cls(models, whole, own_merged)

    @property
    def shared(self) -> tuple[str, ...]:
        """Columns that at least one earlier model has, too."""
        return tuple(r.name for r in self.schema.used if any(r.name in model.shared for model in self.models))

    # How many people bring -------------------------------------------------------------------------------------------

    def prior(self, prior: Prior, counts: Counts) -> Prior:
        """The prior of this study, given what earlier ones believe."""
        own = {rule.name for rule in self.schema.used}
        given = prior.given([model.fit.belief for model in self.models], counts.most)
        return replace(given, likely=tuple(name for name in given.likely if name in own and name in self.shared))

    def _synthetic_people(self, study: Study) -> pd.DataFrame:
        """Synthetic people: each column drawn on its own from the study's answers, rare answers more often."""
        chance = named_generator("people that earlier studies are asked about", 0)
        columns = {}
        for rule in self.schema.used:
            own = study.people[rule.name].to_numpy(dtype=object)[chance.integers(len(study), size=_ASKED)]
            if rule.cuts:
                middle = [(low + high) / 2 for low, high in zip(rule.cuts, rule.cuts[1:], strict=False)]
                answers = [repr(float(each)) for each in (rule.cuts[0] - 1.0, *middle, rule.cuts[-1] + 1.0)]
            else:
                answers = [each for each in rule.categories if each not in (rule.missing_category, rule.other)] or [""]
            drawn = np.array(answers, dtype=object)[chance.integers(len(answers), size=_ASKED)]
            columns[rule.name] = np.where(chance.random(_ASKED) < 0.5, own, drawn)
        return pd.DataFrame(columns, index=range(_ASKED), dtype=object)

    # Whom they bring -------------------------------------------------------------------------------------------------

    def offspring(self, study: Study, history: History) -> tuple[OffspringChoice, dict[str, Pooled]]:
        """Fit whom people bring, with homophily shrunk towards that of the earlier studies."""
        people_asked = self._synthetic_people(study).iloc[np.arange(_PAIRS) % _ASKED].reset_index(drop=True)
        by_field: dict[str, list[EarlierAlike]] = {name: [] for name in self.shared}
        for number, model in enumerate(self.models):
            parents = model.encode(people_asked)
            children = model.fit.offspring.sample(parents, named_luck(("earlier pairs", number), _PAIRS))
            stored = model.fit.scores.get("pairs")
            pairs = stored if type(stored) is int and stored > 0 else FEWEST
            for place, rule in enumerate(model.schema.used):
                if rule.name in by_field:
                    size = len(rule.categories)
                    alike, error = alike_of(parents[:, place], children[:, place], size, pairs)
                    own = next(each for each in self.schema.used if each.name == rule.name)
                    shares = (
                        np.bincount(children[:, place], minlength=size) / _PAIRS
                        if own.categories == rule.categories
                        else None
                    )
                    by_field[rule.name].append(EarlierAlike(alike, error, shares))
        table, alike_by_field = pool_inheritance(history, by_field)
        reason = note("generators.with_earlier_studies")
        return OffspringChoice("inheritance", table, pd.DataFrame(), reason), alike_by_field


def _encoded(table: pd.DataFrame, schema: StudySchema, only: Collection[str] | None = None) -> Codes:
    """Encode people by a schema, or by some of its columns; what it does not know becomes unknown."""
    codes = np.full((len(table), len(schema.schema.fields)), UNKNOWN, dtype=np.int16)
    if not schema.used:
        codes[:] = 0  # everybody is alike
    for number, rule in enumerate(schema.used):
        if only is None or rule.name in only:
            values, wrong = rule.encode(table[rule.name].reset_index(drop=True))
            codes[:, number] = np.where(wrong, UNKNOWN, values)
    return codes


def _compared(fit: Fit, study: Study, schema: StudySchema) -> _Earlier:
    if not fit.study_schema:
        raise DataFileError("earlier_studies.no_columns", prior=Remedy("prior"))
    own = parse_schema(fit.study_schema.encode(), str(note("earlier_studies.their_schema")))
    ours = {rule.name for rule in schema.used}
    shared: list[str] = []
    unlike: list[str] = []
    for rule in own.used:
        if rule.name in ours:
            (shared if _understands(rule, study.people[rule.name]) else unlike).append(rule.name)
    return _Earlier(fit, own, tuple(shared), tuple(unlike))


def _understands(rule: FieldRule, values: pd.Series) -> bool:
    """Whether at least half of the answers have a category of their own, and are not only "other"."""
    given = values[values != ""].reset_index(drop=True)
    if not len(given):
        return False
    codes, wrong = replace(rule, other=None, others_unknown=True).encode(given)
    return bool(((codes >= 0) & ~wrong).mean() >= 0.5)


# Whether they help ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Help:
    """How far earlier studies help, for the saved scores."""

    studies: EarlierStudies
    alike: dict[str, Pooled] | None = None
    times: tuple[float, float] | None = None
    """Median days to return and their factor of variation by the earlier studies; None if they have no return times."""

    def scores(self) -> dict[str, Any]:
        """Numbers for a saved fit."""
        shared, alike = self.studies.shared, [each.prior_share for each in (self.alike or {}).values()]
        return {
            "studies": len(self.studies.models),
            "alike_from_earlier": round(float(np.mean(alike)), 2) if alike else None,
            "return_days": None if self.times is None else [round(self.times[0]), round(self.times[1], 1)],
            "shared": list(shared),
            "own": [rule.name for rule in self.studies.schema.used if rule.name not in shared],
            "unlike": sorted({name for model in self.studies.models for name in model.unlike}),
        }


def return_settings(fits: Sequence[Fit]) -> "tuple[ReturnSettings, tuple[float, float] | None]":
    """The prior of return times from earlier and published studies; and `Help.times`."""
    from peerfront.models.returns.return_fit import ReturnSettings

    usual = ReturnSettings()
    times = [fit.returns for fit in fits if fit.returns is not None]
    if not times:
        return usual, None
    medians, spreads, errors, spread_errors = (
        [np.log(usual.prior_median)],
        [np.log(usual.prior_spread)],
        [usual.prior_variation],
        [usual.prior_spread_variation],
    )
    for each in times:
        draws = each.draws
        medians.append(float(np.log(each.median)))
        spreads.append(float(np.log(each.spread)))
        errors.append(0.2 if draws is None else float(draws[:, 0].std()))
        spread_errors.append(0.1 if draws is None else float(draws[:, 1].std()))
    median = pooled(0.0, np.inf, medians, errors, _LAG_VARIES)
    spread = pooled(0.0, np.inf, spreads, spread_errors, _LEAST_VARIATION)
    settings = replace(
        usual,
        prior_median=float(np.exp(median.mean)),
        prior_variation=max(median.error, _LEAST_VARIATION),
        prior_spread=float(np.exp(spread.mean)),
        prior_spread_variation=max(spread.error, _LEAST_VARIATION / 2),
    )
    return settings, (settings.prior_median, float(np.exp(settings.prior_variation)))
