"""The largest studies and simulations that are accepted. More is a typing error, or would fill the memory."""

from peerfront.foundation.errors import SettingError
from peerfront.foundation.words import counted

MOST_COUPONS = 10_000_000
"""Coupons of a whole study."""
MOST_PEOPLE = 10_000_000
"""People who wait for coupons at once."""
MOST_COUPONS_FITTED, MOST_PEOPLE_FITTED = 1_000_000, 200_000
"""Coupons and people that a fit prepares for: it simulates many studies of that size."""
MOST_ROUNDS = 10_000
"""Rounds of a simulated study."""
MOST_ROUNDS_LEFT = 104
"""Rounds that are left of a real study: two years of weeks."""
MOST_EPISODES = 1_000_000
"""Simulated studies."""
MOST_DRAWS = 10_000
"""Draws of a world in one comparison."""
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
