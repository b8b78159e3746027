"""The largest studies and simulations that are accepted. More is a typing error, or would fill the memory."""

MOST_COUPONS = 10_000_000
"""Coupons of a whole study."""
MOST_PEOPLE = 10_000_000
"""People who wait for coupons at once."""
MOST_ROUNDS = 10_000
"""Rounds of a simulated study."""
MOST_ROUNDS_LEFT = 500
"""Rounds that are left of a real study: ten years of weeks."""
MOST_EPISODES = 1_000_000
"""Simulated studies."""
MOST_DRAWS = 10_000
"""Draws of a world in one comparison."""
MOST_EPISODE_ROUNDS = 50_000_000
"""Episodes times rounds that are played side by side."""
MOST_EPISODE_PEOPLE = 20_000_000
"""Episodes times first recruits that are played side by side."""
