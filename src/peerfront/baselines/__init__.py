"""Policies to beat: random, constant, threshold, evenly, and dynamic programming over the size of the frontier."""

from peerfront.baselines.constant import Constant
from peerfront.baselines.deadline import AllAtLast, Evenly
from peerfront.baselines.population_dp import PopulationDP, fit_population_dp
from peerfront.baselines.random_split import RandomSplit
from peerfront.baselines.threshold import Threshold
from peerfront.baselines.threshold_tuning import TuningGrid, tune_threshold

__all__ = [
    "AllAtLast",
    "Constant",
    "Evenly",
    "PopulationDP",
    "RandomSplit",
    "Threshold",
    "TuningGrid",
    "fit_population_dp",
    "tune_threshold",
]
