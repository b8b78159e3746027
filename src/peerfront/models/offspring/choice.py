"""Generators by name, and `auto`: the one that predicts held-out recruits best, with the table of rivals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import one_of, seed_number, share
from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion
from peerfront.models.offspring.inheritance import fit_inheritance
from peerfront.models.offspring.masked import MaskedSettings, fit_masked
from peerfront.models.offspring.pairs import Pairs, sampled_log_scores
from peerfront.models.offspring.softmax import SoftmaxSettings, fit_softmax
from peerfront.problem import History, OffspringModel

GENERATORS: Mapping[str, Callable[[Pairs, int], OffspringModel]] = {
    "inheritance": lambda pairs, seed: fit_inheritance(pairs),
    "softmax": lambda pairs, seed: fit_softmax(pairs, SoftmaxSettings(seed=seed)),
    "masked": lambda pairs, seed: fit_masked(pairs, MaskedSettings(seed=seed)),
    "diffusion": lambda pairs, seed: fit_diffusion(pairs, DiffusionSettings(seed=seed)),
    "diffusion-paper": lambda pairs, seed: fit_diffusion(pairs, replace(DiffusionSettings.paper(), seed=seed)),
}
QUICK_RIVALS = ("inheritance", "softmax", "masked")


@dataclass(frozen=True, eq=False)
class ChosenOffspring:
    """A fitted generator and why it was chosen."""

    kind: str
    model: OffspringModel
    rivals: pd.DataFrame
    """One row per rival: held-out log score per pair, and its difference to the best with a standard error."""
    reason: str

    def scores(self) -> dict[str, Any]:
        """Why this generator, and the table of its rivals, for a report."""
        rows = self.rivals.to_dict(orient="records")
        rivals = [{str(key): None if value != value else value for key, value in row.items()} for row in rows]
        return {"kind": self.kind, "reason": self.reason, "rivals": rivals}


def fit_offspring(
    history: History,
    kind: str = "auto",
    *,
    seed: int = 0,
    rivals: Sequence[str] = QUICK_RIVALS,
    held_out: float = 0.2,
    progress: Callable[[str], None] | None = None,
) -> ChosenOffspring:
    """Fit one generator, or all rivals on part of the recruiters and the best of them again on everybody."""
    one_of("generator", kind, (*GENERATORS, "auto"))
    for name in rivals:
        one_of("rival generator", name, GENERATORS)
    if kind == "auto" and not rivals:
        raise SettingError(f"There is no rival to choose from; name at least one of: {', '.join(GENERATORS)}.")
    held_out, seed = share("held out", held_out), seed_number("seed", seed)
    pairs = Pairs.of(history)
    tell = progress or (lambda _: None)
    if kind != "auto":
        tell(f"fitting {kind}")
        return ChosenOffspring(kind, GENERATORS[kind](pairs, seed), pd.DataFrame(), "as asked")
    training, judged = pairs.split(held_out, seed)
    scores = {}
    for name in rivals:
        tell(f"judging {name}")
        scores[name] = sampled_log_scores(GENERATORS[name](training, seed), judged, seed=seed).sum(axis=1)
    best = max(scores, key=lambda name: float(scores[name].mean()))
    table = pd.DataFrame(
        [
            {
                "generator": name,
                "log_score": each.mean(),
                "below_best": (scores[best] - each).mean(),
                "standard_error": (scores[best] - each).std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan,
            }
            for name, each in scores.items()
        ]
    ).sort_values("log_score", ascending=False, ignore_index=True)
    tell(f"fitting {best} to all pairs")
    reason = f"{best}: the best held-out log score of {len(scores)} rivals on {len(judged)} pairs"
    if training is pairs:
        reason = (
            f"{best}: the best log score of {len(scores)} rivals on the {len(judged)} pairs they were fitted to, "
            "because there is one kind of recruiter and none can be held out"
        )
    return ChosenOffspring(best, GENERATORS[best](pairs, seed), table, reason)
