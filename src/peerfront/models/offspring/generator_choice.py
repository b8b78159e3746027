"""Generators by name, and `auto`: the one that predicts held-out recruits best, with the table of rivals.

Only the inheritance table is loaded with this module; networks when one is fitted, and torch for diffusion alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError, check_extra
from peerfront.foundation.messages import Message, Progress, in_english, note, part_of, silent
from peerfront.foundation.settings import one_of, seed_number, share
from peerfront.models.offspring.inheritance_tables import fit_inheritance, fit_private_inheritance
from peerfront.models.offspring.pairs import Pairs, sampled_log_scores
from peerfront.problem import History, OffspringModel

GENERATORS = ("inheritance", "softmax", "masked", "diffusion", "diffusion-paper")
QUICK_RIVALS = ("inheritance", "softmax", "masked")


@dataclass(frozen=True, eq=False)
class OffspringChoice:
    """A fitted generator, the rivals it was compared with, and why it was taken."""

    kind: str
    model: OffspringModel
    rivals: pd.DataFrame
    """generator, log_score (held out, per pair), below_best and its standard_error; empty without a comparison."""
    reason: Message

    def scores(self) -> dict[str, Any]:
        """Why this generator, and the table of its rivals, for a report."""
        rows = self.rivals.to_dict(orient="records")
        rivals = [{str(key): _rounded(value) for key, value in row.items()} for row in rows]
        return {"kind": self.kind, "reason": in_english(self.reason), "rivals": rivals}


def _rounded(value: Any) -> Any:
    """A score with two decimals, so that it tells nothing about single pairs; None where there is none."""
    if isinstance(value, float):
        return None if value != value else round(value, 2)
    return value


def fit_generator(
    kind: str, pairs: Pairs, seed: int = 0, progress: Progress = silent, *, private: bool = False
) -> OffspringModel:
    """Fit a generator of this kind with its usual settings; a private one holds no table of small counts."""
    tables = fit_private_inheritance if private else fit_inheritance
    if one_of(note("kinds.generator"), kind, GENERATORS) == "inheritance":
        return tables(pairs)
    if kind in ("softmax", "masked"):
        from peerfront.models.offspring.category_training import (
            MaskedSettings,
            SoftmaxSettings,
            fit_masked,
            fit_softmax,
        )

        if kind == "softmax":
            return fit_softmax(pairs, SoftmaxSettings(seed=seed), progress)
        return fit_masked(pairs, MaskedSettings(seed=seed), progress, tables=tables)
    check_extra("torch", note("extras.diffusion"), "research")
    from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion

    usual = DiffusionSettings() if kind == "diffusion" else DiffusionSettings.paper()
    return fit_diffusion(pairs, replace(usual, seed=seed), progress)


def fit_offspring(
    history: History,
    kind: str = "auto",
    *,
    seed: int = 0,
    rivals: Sequence[str] = QUICK_RIVALS,
    held_out: float = 0.2,
    progress: Progress = silent,
    private: bool = False,
) -> OffspringChoice:
    """Fit one generator, or all rivals on part of the recruiters and the best of them again on everybody.

    `private`: tables are such that no count under five can be recovered from them.
    """
    one_of(note("kinds.generator"), kind, (*GENERATORS, "auto"))
    for name in rivals:
        one_of(note("kinds.rival_generator"), name, GENERATORS)
    if kind == "auto" and not rivals:
        raise SettingError("generators.no_rival", names=GENERATORS)
    held_out, seed = share("held out", held_out), seed_number("seed", seed)
    pairs = Pairs.of(history)
    if kind != "auto":
        step = note("generators.fitting", generator=kind)
        progress(0.0, step)
        model = fit_generator(kind, pairs, seed, part_of(progress, 0.0, 1.0, step), private=private)
        return OffspringChoice(kind, model, pd.DataFrame(), note("generators.asked"))
    training, judged = pairs.split(held_out, seed)
    scores: dict[str, NDArray[np.float64]] = {}
    parts = len(rivals) + 1
    for number, name in enumerate(rivals):
        step = note("generators.judging", generator=name)
        progress(number / parts, step)
        epochs = part_of(progress, number / parts, (number + 1) / parts, step)
        rival = fit_generator(name, training, seed, epochs, private=private)
        scores[name] = sampled_log_scores(rival, judged, seed=seed).sum(axis=1)
    best = max(scores, key=lambda name: float(scores[name].mean()))
    code = "generators.best_fitted" if training is pairs else "generators.best_held_out"
    reason = note(code, generator=best, rivals=len(scores), pairs=len(judged))
    last = note("generators.fitting_all", generator=best)
    progress(len(rivals) / parts, last)
    model = fit_generator(best, pairs, seed, part_of(progress, len(rivals) / parts, 1.0, last), private=private)
    return OffspringChoice(best, model, _rival_table(scores, best), reason)


def _rival_table(scores: Mapping[str, NDArray[np.float64]], best: str) -> pd.DataFrame:
    rows = [
        {
            "generator": name,
            "log_score": each.mean(),
            "below_best": (scores[best] - each).mean(),
            "standard_error": (scores[best] - each).std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan,
        }
        for name, each in scores.items()
    ]
    return pd.DataFrame(rows).sort_values("log_score", ascending=False, ignore_index=True)
