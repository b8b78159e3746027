"""The largest studies and simulations that are accepted. More is a typing error, or would fill the memory."""

from peerfront.foundation.errors import SettingError
from peerfront.foundation.words import counted

MOST_COUPONS = 10_000_000
"""Coupons of a whole study."""
MOST_PEOPLE = 10_000_000
"""People who wait for coupons at once."""
MOST_COUPONS_FITTED = 2_000_000
"""Coupons that a fit prepares for: its value has an entry for each number of them."""
MOST_ROUNDS = 10_000
"""Rounds of a simulated study."""
MOST_ROUNDS_LEFT = 104
"""Rounds that are left of a real study: two years of weeks."""
MOST_EPISODES = 1_000_000
"""Simulated studies."""
MOST_DRAWS = 10_000
"""Draws of a world in one comparison."""
MOST_EACH = 50_000
"""Coupons for one person that policies reckon with: they keep a chance of use for each, for thousands of people."""
MOST_SIDE_BY_SIDE = {"rounds": 50_000_000, "people": 20_000_000, "coupons": 20_000_000}
"""Episodes times rounds, first recruits or coupons that are played side by side."""


def check_size(episodes: int, **each: int) -> None:
    """Refuse to play more episodes side by side than the memory holds; `each` episode has so many of something."""
    for what, number in each.items():
        most = MOST_SIDE_BY_SIDE[what]
        if episodes * number > most:
            raise SettingError(
                f"{counted(episodes, 'episode', 'episodes')} of {number:,} {what} are {episodes * number:,} in all; "
                f"at most {most:,} can be simulated side by side. Simulate fewer episodes, or a smaller study."
            )


def check_caps(*caps: int | None) -> None:
    """Refuse to let one person get more coupons than policies reckon with; None is no cap."""
    each = min(cap for cap in caps if cap is not None)
    if each > MOST_EACH:
        raise SettingError(
            f"One person could get {each:,} coupons; policies reckon with at most {MOST_EACH:,} for one person. Set a "
            "limit per person (--max-per-person), or lower the budget."
        )
