"""What people, luck and histories a model accepts: the same refusals for every fit."""

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import Luck
from peerfront.problem import History


def check_people(schema: Schema, codes: Codes) -> None:
    """Category codes of this schema: with others NumPy would find some answer of its own."""
    if not isinstance(codes, np.ndarray) or not np.issubdtype(codes.dtype, np.integer):
        found = f"an array of {codes.dtype}" if isinstance(codes, np.ndarray) else type(codes).__name__
        raise SettingError(
            f"Covariates must be an array of whole-numbered category codes; found {found}. "
            "Schema.encode makes one from records."
        )
    schema.check(codes)


def check_luck(codes: Codes, luck: Luck) -> None:
    """One luck each: a single one would silently be everybody's."""
    if len(luck) != len(codes):
        raise SettingError(f"There are {len(codes)} covariate rows and {len(luck)} lucks; give one of each per person.")


def check_schema(model: object, schema: Schema) -> None:
    """A model that names its schema is only judged on data with that schema."""
    own = getattr(model, "schema", schema)
    if own != schema:
        raise SettingError(
            f"The model knows people by {_described(own)}, the data by {_described(schema)}. "
            "Encode the data with the model's schema, or fit a model to them."
        )


def _described(schema: Schema) -> str:
    fields = [f"{field.name} ({len(field)} categories)" for field in schema.fields]
    return ", ".join(fields[:4]) + (f" and {len(fields) - 4} more fields" if len(fields) > 4 else "")


def informative_rows(history: History) -> NDArray[np.int64]:
    """Rows that say something about capacities: somebody was given a coupon. Without any there is nothing to learn."""
    check_people(history.schema, history.referrers)
    counts = np.stack([history.coupons, history.recruits])
    if not np.issubdtype(counts.dtype, np.integer):
        raise DataFileError(
            f"Coupons and recruits are stored as {counts.dtype}; they are counts. Fill or drop missing ones, and "
            "convert them to whole numbers."
        )
    rows = np.flatnonzero(history.coupons > 0)
    if not len(rows):
        raise SettingError(
            "No row says anything about capacities: nobody was given a coupon. Add people with at least one."
        )
    return rows
