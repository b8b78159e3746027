"""`peerfront/Recruitment-v0`: the recruitment game as the Gymnasium environment other people's agents expect.

One step gives one coupon to one person, or closes the round; the choice among hundreds of allocations becomes a
`Discrete` action, and `info["action_mask"]` says exactly which actions are allowed (budget and caps included). The
reward arrives when a round closes: its recruits, times discount^round. A step is not a round, so agents should use a
discount of 1 and leave discounting to the environment; their return is then the paper's objective.

    import gymnasium
    import peerfront.environment  # registers the name
    env = gymnasium.make("peerfront/Recruitment-v0", world="bridge", discount=0.9)
"""

from typing import Any, TypedDict

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import MOST_SEED, at_least, checked_discount, optional
from peerfront.problem import Allocation, Episodes, Rules, State, World, check_feasible
from peerfront.simulation.catalog import make_world

ENVIRONMENT_ID = "peerfront/Recruitment-v0"


class Observation(TypedDict):
    covariates: NDArray[np.float32]  # [places, columns], one-hot; zeros where nobody stands
    present: NDArray[np.int8]  # [places]
    coupons: NDArray[np.int64]  # [places], given so far this round
    remaining_budget: NDArray[np.int64]  # [1], what is left after them
    rounds_left: NDArray[np.int64]  # [1]


@checked_class
class RecruitmentEnv(gymnasium.Env[Observation, np.int64]):
    """Actions 0 .. places - 1 give the person there a coupon; the last action closes the round.

    An action that the mask forbids, or that is no action at all, changes nothing, earns nothing, and is flagged as
    `info["refused"]`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it as an instance attribute

    def __init__(
        self, world: str | World = "icpsr22140", rules: Rules | None = None, discount: float = 1.0, draw: int = 0
    ) -> None:
        self.world = make_world(world, draw) if isinstance(world, str) else world
        self.rules = rules or Rules()
        self.discount = checked_discount(discount)
        # Nobody is recruited without a coupon, so no frontier is larger than the first one or the budget.
        self.places = max(self.rules.people, self.rules.budget, 1)
        columns = self.world.schema.columns
        self.observation_space = spaces.Dict(
            {
                "covariates": spaces.Box(0.0, 1.0, (self.places, columns), np.float32),
                "present": spaces.MultiBinary(self.places),
                "coupons": spaces.Box(0, max(self.rules.budget, 1), (self.places,), np.int64),
                "remaining_budget": spaces.Box(0, max(self.rules.budget, 1), (1,), np.int64),
                "rounds_left": spaces.Box(0, self.rules.rounds, (1,), np.int64),
            }
        )  # type: ignore[assignment] # Gymnasium types a Dict space as dict[str, Any], not as a TypedDict
        self.action_space = spaces.Discrete(self.places + 1)
        self._episodes: Episodes | None = None
        self._state: State | None = None
        self._coupons = np.zeros(self.places, dtype=np.int64)

    @property
    def close_round(self) -> int:
        """The action that ends the handing out and lets the people refer."""
        return self.places

    @property
    def state(self) -> State | None:
        """The state at the start of this round, as policies see it; None when the episode is over."""
        return self._state

    @property
    def policy_luck(self) -> Luck:
        """The luck the episode runner would give a policy here."""
        return self._begun().policy_lucks()[0]

    @staticmethod
    def episode_luck(seed: int) -> Luck:
        """The luck of the episode that `reset(seed=seed)` starts, for the episode runner."""
        return named_luck(("gymnasium episode", seed), 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        seed = optional(at_least(0, MOST_SEED))("seed", seed)
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**32)) if seed is None else seed
        self._episodes = Episodes(self.world, self.rules, self.episode_luck(number))
        self._begin_round()
        return self._observation(), self._info(refused=False)

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._begun()
        allowed = bool(self.action_space.contains(action)) and bool(self._mask()[int(action)])
        reward = 0.0
        if allowed and int(action) == self.close_round:
            reward = self._refer()
        elif allowed:
            self._coupons[int(action)] += 1
        return self._observation(), reward, self._state is None, False, self._info(refused=not allowed)

    def _begun(self) -> Episodes:
        if self._episodes is None:
            raise SettingError("environment.not_begun")
        return self._episodes

    def _refer(self) -> float:
        assert self._state is not None
        allocation = Allocation(self._coupons[: len(self._state.frontier)].copy())
        check_feasible(allocation, self._state, "the agent")
        played = self._begun().step([allocation])
        self._begin_round()
        return float(played.referrals.recruits.sum() * self.discount**played.number)

    def _begin_round(self) -> None:
        states = self._begun().states()
        self._state = states[0] if states else None
        self._coupons[:] = 0

    def _mask(self) -> NDArray[np.int8]:
        mask = np.zeros(self.places + 1, dtype=np.int8)
        mask[self.close_round] = self._state is not None
        if self._state is not None and self._coupons.sum() < self._state.spendable:
            people = len(self._state.frontier)
            mask[:people] = self._coupons[:people] < self._state.most_per_person
        return mask

    def _observation(self) -> Observation:
        covariates = np.zeros((self.places, self.world.schema.columns), dtype=np.float32)
        present = np.zeros(self.places, dtype=np.int8)
        remaining, rounds_left = 0, 0
        if self._state is not None:
            people = len(self._state.frontier)
            covariates[:people] = self.world.schema.one_hot(self._state.frontier.covariates)
            present[:people] = 1
            remaining = self._state.remaining_budget - int(self._coupons.sum())
            rounds_left = self._state.rounds_left
        return {
            "covariates": covariates,
            "present": present,
            "coupons": self._coupons.copy(),
            "remaining_budget": np.array([remaining]),
            "rounds_left": np.array([rounds_left]),
        }

    def _info(self, refused: bool) -> dict[str, Any]:
        return {"action_mask": self._mask(), "refused": refused}


gymnasium.register(id=ENVIRONMENT_ID, entry_point="peerfront.environment:RecruitmentEnv")
