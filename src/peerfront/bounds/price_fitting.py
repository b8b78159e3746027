"""Fit a price index: a table where the covariate space is small, a checked network where it is large."""

import numpy as np

from peerfront.bounds.price_index import BoundSettings, PriceIndex
from peerfront.bounds.price_network import fit_price_network
from peerfront.bounds.price_table import price_table
from peerfront.bounds.surplus import Array
from peerfront.foundation.covariates import UNKNOWN, Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.settings import checked_discount
from peerfront.problem import OffspringModel, ResponseModel


def fit_price_index(
    response: ResponseModel,
    offspring: OffspringModel,
    people: Codes,
    schema: Schema,
    discount: float,
    settings: BoundSettings | None = None,
    *,
    transition: Array | None = None,
    checked_at: Codes | None = None,
    progress: Progress = silent,
) -> PriceIndex:
    """Fit a table if the covariate space is small (`transition` [rows, rows] makes it exact), else a network.

    `people` are those the network is trained at: the population and some generations of recruits (`generations`).
    `checked_at` are people like those on the frontiers to be certified, usually the population: a network is checked at
    frontiers made of them, or without them of some of `people`, which are then kept out of the fit. A table's rows are
    in the order of `np.ravel_multi_index(codes, sizes)`.
    """
    settings = settings or BoundSettings()
    discount = checked_discount(discount)
    schema.check(people)
    rows = float(np.prod(schema.sizes.astype(np.float64)))
    if rows <= settings.table_rows and not (people == UNKNOWN).any():
        table = price_table(response, offspring, schema, discount, settings, transition)
        index = PriceIndex(response, schema, discount, settings, table)
    elif transition is not None:
        raise SettingError(
            f"Transition probabilities are for spaces of at most table_rows = {settings.table_rows} rows without "
            f"unknown codes; this one has {rows:g}. Leave them out, or raise table_rows."
        )
    else:
        index = fit_price_network(response, offspring, people, schema, discount, settings, checked_at, progress)
    progress(1.0, "done")
    return index
