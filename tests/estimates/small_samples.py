"""Referral samples for tests: from arrays, from the reference data, and from networks whose truth is known."""

import numpy as np
import pandas as pd

from peerfront.estimates.sample import Outcome, Sample
from peerfront.simulation.outcome_network import GROUP, OUTCOME, YES, A, OutcomeNetworkSettings, outcome_network
from simulation.referral_sampling import referral_sample


def sample_with(recruiter, size=None, coupons=None, stratum=None, strata=("everybody",)) -> Sample:
    """A sample in the order of its rows; everybody without a recruiter is a seed."""
    recruiter = np.asarray(recruiter, dtype=np.int64)
    people = len(recruiter)
    return Sample(
        recruiter,
        recruiter < 0,
        np.ones(people) if size is None else np.asarray(size, dtype=np.float64),
        np.arange(people),
        np.full(people, 3) if coupons is None else np.asarray(coupons),
        np.zeros(people, dtype=np.int64) if stratum is None else np.asarray(stratum),
        strata,
    )


def yes_no(values) -> Outcome:
    return Outcome("hiv", np.asarray(values, dtype=np.float64), ("no", "yes"))


def fauxmadrona(shared_data) -> tuple[Sample, Outcome]:
    table = pd.read_csv(shared_data / "fauxmadrona" / "participants.csv")
    place = {person: number for number, person in enumerate(table["id"])}
    recruiter = table["recruiter_id"].map(place).fillna(-1).astype(np.int64).to_numpy()
    arrival = np.empty(len(table), dtype=np.int64)
    arrival[np.argsort(table["wave"].to_numpy(), kind="stable")] = np.arange(len(table))
    sample = Sample(
        recruiter,
        recruiter < 0,
        table["network_size"].to_numpy(dtype=np.float64),
        arrival,
        np.full(len(table), 2),
        np.zeros(len(table), dtype=np.int64),
        ("everybody",),
    )
    return sample, Outcome("disease", table["disease"].to_numpy(dtype=np.float64), ("0", "1"))


def society_with_truth(**settings):
    society = outcome_network(OutcomeNetworkSettings(**settings))
    yes, in_a = (
        society.covariates[:, place] == society.schema.fields[place].code_of[category]
        for place, category in ((society.schema.names.index(OUTCOME), YES), (society.schema.names.index(GROUP), A))
    )
    return society, yes, in_a


def sample_by_group(society, yes, in_a, people: int, rng) -> tuple[Sample, Outcome]:
    """Three coupons in group a, one in group b."""
    coupons = np.where(in_a, 3, 1)
    drawn = referral_sample(society, coupons, rng, people=people)
    who = drawn.members
    sample = sample_with(
        drawn.recruiter, society.degrees[who], coupons[who], in_a[who].astype(np.int64), ("group b", "group a")
    )
    return sample, yes_no(yes[who])
