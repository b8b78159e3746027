"""peerfront: decide who gets how many referral coupons, this round and the next.

Importing the package loads nothing heavy; import what you need from its parts, for example

    from peerfront.simulation import make_world
    from peerfront.problem import Rules, rollout
"""

__version__ = "0.2.0"
