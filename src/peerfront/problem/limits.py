"""The largest studies and simulations that are accepted. More is a typing error, or would fill the memory."""

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy

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
_TOO_MANY = {"rounds": "study_size.rounds", "people": "study_size.people", "coupons": "study_size.coupons"}


def check_size(episodes: int, **each: int) -> None:
    """Refuse to play more episodes side by side than the memory holds; `each` is a number of things in one episode."""
    for what, number in each.items():
        most = MOST_SIDE_BY_SIDE[what]
        if episodes * number > most:
            total = episodes * number
            raise SettingError(_TOO_MANY[what], episodes=episodes, each=number, number=total, most=most)


def check_caps(*caps: int | None) -> None:
    """Refuse to let one person get more coupons than policies reckon with; None is no cap."""
    each = min(cap for cap in caps if cap is not None)
    if each > MOST_EACH:
        raise SettingError("study_size.for_one_person", coupons=each, most=MOST_EACH, limit=Remedy("max_per_person"))
