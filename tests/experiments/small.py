"""A comparison small enough to be run again and again."""

from pathlib import Path

from peerfront.experiments.comparison import Comparison
from peerfront.problem import Rules

SMALL = Comparison(
    worlds=("bridge", "icpsr22140"),
    policies=("random_split", "constant:coupons=2", "threshold:cutoff=0.9,at_least=4", "population_dp:population=64"),
    draws=(0, 1),
    discounts=(0.9, 1.0),
    episodes=12,
    rules=Rules(budget=20, people=4),
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
