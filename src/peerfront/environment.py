"""`peerfront/Recruitment-v0`: the recruitment game as the Gymnasium environment other people's agents expect.

One step gives one coupon to one person, or closes the round; the choice among hundreds of allocations becomes a
`Discrete` action, and `info["action_mask"]` (or `action_masks()`) says exactly which actions are allowed (budget and
caps included). The reward arrives when a round closes: its recruits, times discount^round. A step is not a round, so
agents should use a discount of 1 and leave discounting to the environment; their return is then the paper's objective.

    import gymnasium
    env = gymnasium.make("peerfront.environment:peerfront/Recruitment-v0", world="bridge", budget=40, discount=0.9)

`RecruitmentVectorEnv` plays many such episodes at once, and `AgentPolicy` lets an agent that learned here play in
comparisons.
"""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import InfeasibleAllocation, MissingExtra, SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import MOST_SEED, at_least, checked_discount, one_of, one_or_more, optional
from peerfront.problem import Allocation, Crowd, Episodes, Rules, State, World, check_feasible
from peerfront.problem.state import place_of_one
from peerfront.simulation.catalog import make_world

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as problem:
    raise MissingExtra(note("extras.environment"), "research") from problem

ENVIRONMENT_ID = "peerfront/Recruitment-v0"
_MOST_NUMBERS = 500_000_000
"""One-hot numbers in the observations of all episodes: 2 GB."""
_MOST_EPISODES = 100_000


class Observation(TypedDict):
    covariates: NDArray[np.float32]  # [places * columns], one-hot, person after person; zeros where nobody stands
    present: NDArray[np.int8]  # [places]
    coupons: NDArray[np.int64]  # [places], given so far this round
    remaining_budget: NDArray[np.int64]  # [1], what is left after them
    rounds_left: NDArray[np.int64]  # [1]


def places_of(rules: Rules) -> int:
    """How many people may stand on a frontier: nobody comes without a coupon, so the first ones or the budget."""
    return max(rules.people, rules.budget, 1)


def observation_space(schema: Schema, rules: Rules, episodes: int = 1) -> spaces.Dict:
    """What is seen of one episode; `episodes` of them must fit into memory."""
    places, columns = places_of(rules), schema.columns
    if places * columns * episodes > _MOST_NUMBERS:
        numbers = places * columns * episodes
        raise SettingError("environment.too_large", places=places, columns=columns, episodes=episodes, numbers=numbers)
    return spaces.Dict(
        {
            "covariates": spaces.Box(0.0, 1.0, (places * columns,), np.float32),
            "present": spaces.MultiBinary(places),
            "coupons": spaces.Box(0, max(rules.budget, 1), (places,), np.int64),
            "remaining_budget": spaces.Box(0, max(rules.budget, 1), (1,), np.int64),
            "rounds_left": spaces.Box(0, rules.rounds, (1,), np.int64),
        }
    )


def _game(
    world: str | World, draw: int, rules: Rules | None, max_steps: int | None, *plain: int | None
) -> tuple[World, Rules, int]:
    """The world, the rules (one object, or made of its fields that were given), and after how many steps to cut off.

    That is twice what any episode of allowed actions takes, unless asked.
    """
    named = {each.name: value for each, value in zip(fields(Rules), plain, strict=True) if value is not None}
    if rules is not None and named:
        raise SettingError("environment.rules_twice", names=list(named))
    rules = rules or Rules(**named)
    limit = optional(one_or_more)("max_steps", max_steps)
    place = make_world(world, draw) if isinstance(world, str) else world
    return place, rules, 2 * (rules.budget + rules.rounds) if limit is None else int(limit)


@checked_class
class RecruitmentEnv(gymnasium.Env[Observation, np.int64]):
    """Actions 0 .. places - 1 give the person there a coupon; the last action closes the round.

    An action that the mask forbids, or that is no action at all, changes nothing, earns nothing, and is flagged as
    `info["refused"]`; after `max_steps` steps the episode is cut off (truncated). The rules are given one by one, as in
    `pf.compare`, or as `rules`. Nothing is drawn, whatever `render_mode` is.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it as an instance attribute

    def __init__(
        self,
        world: str | World = "icpsr22140",
        rules: Rules | None = None,
        discount: float = 1.0,
        draw: int = 0,
        *,
        budget: int | None = None,
        people: int | None = None,
        rounds: int | None = None,
        max_per_person: int | None = None,
        max_per_round: int | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.world, self.rules, self.max_steps = _game(
            world, draw, rules, max_steps, budget, people, rounds, max_per_person, max_per_round
        )
        self.discount = checked_discount(discount)
        self.places = places_of(self.rules)
        # Gymnasium types a Dict space as dict[str, Any], not as a TypedDict.
        self.observation_space = observation_space(self.world.schema, self.rules)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(self.places + 1)
        self._episodes: Episodes | None = None
        self._state: State | None = None
        self._coupons = np.zeros(self.places, dtype=np.int64)
        self._steps = 0

    @property
    def close_round(self) -> int:
        """The action that ends the handing out and lets the people refer."""
        return self.places

    @property
    def state(self) -> State | None:
        """The state at the start of this round, as policies see it; None when the episode is over."""
        return self._state

    @staticmethod
    def episode_luck(seed: int) -> Luck:
        """The luck of the episode that `reset(seed=seed)` starts, for the episode runner."""
        return named_luck(("gymnasium episode", seed), 1)

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, [actions], under the name that sb3-contrib asks for."""
        return self._mask().astype(np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        seed = optional(at_least(0, MOST_SEED))("seed", seed)
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**32)) if seed is None else seed
        self._episodes = Episodes(self.world, self.rules, self.episode_luck(number))
        self._steps = 0
        self._begin_round()
        return self._observation(), self._info(refused=False)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._begun()
        allowed = bool(self.action_space.contains(action)) and bool(self._mask()[int(action)])
        reward = 0.0
        if allowed and int(action) == self.close_round:
            reward = self._refer()
        elif allowed:
            self._coupons[int(action)] += 1
        self._steps += 1
        terminated = self._state is None
        truncated = not terminated and self._steps >= self.max_steps
        return self._observation(), reward, terminated, truncated, self._info(refused=not allowed)

    def _begun(self) -> Episodes:
        if self._episodes is None:
            raise SettingError("environment.not_begun")
        return self._episodes

    def _refer(self) -> float:
        assert self._state is not None
        allocation = Allocation(self._coupons[: len(self._state.frontier)])
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
            "covariates": covariates.reshape(-1),
            "present": present,
            "coupons": self._coupons.copy(),
            "remaining_budget": np.array([remaining]),
            "rounds_left": np.array([rounds_left]),
        }

    def _info(self, refused: bool) -> dict[str, Any]:
        return {"action_mask": self._mask(), "refused": refused}


# Many episodes at once ---------------------------------------------------------------------------------------------


class _Tables:
    """The rounds of several episodes side by side: who waits, what each was given, which actions are allowed.

    A row is an episode. Rows begin a round on their own, so that each may stand in another one.
    """

    def __init__(self, schema: Schema, rules: Rules, rows: int) -> None:
        self.schema, self.rules, self.places = schema, rules, places_of(rules)
        self.covariates = np.zeros((rows, self.places, schema.columns), dtype=np.float32)
        self.present = np.zeros((rows, self.places), dtype=np.int8)
        self.coupons = np.zeros((rows, self.places), dtype=np.int64)
        self.left = np.zeros(rows, dtype=np.int64)
        """Coupons that may still be given out in the whole study."""
        self.spendable = np.zeros(rows, dtype=np.int64)
        """Coupons that may still be given out this round."""
        self.round = np.full(rows, rules.rounds, dtype=np.int64)
        self.mask = np.zeros((rows, self.places + 1), dtype=np.bool_)

    def begin_round(self, rows: NDArray[np.int64], states: Sequence[State | None]) -> None:
        """Let rows begin a round where their states stand; None is the end of an episode."""
        for table in (self.covariates, self.present, self.coupons, self.left, self.spendable, self.mask):
            table[rows] = 0
        self.round[rows] = self.rules.rounds
        going = [(row, state) for row, state in zip(rows.tolist(), states, strict=True) if state is not None]
        if not going:
            return
        living = np.array([row for row, _ in going])
        counts = np.array([len(state.frontier) for _, state in going])
        row, place = _places(living, counts)
        self.covariates[row, place] = self.schema.one_hot(
            np.concatenate([state.frontier.covariates for _, state in going])
        )
        self.present[row, place] = 1
        self.left[living] = [state.remaining_budget for _, state in going]
        self.spendable[living] = [state.spendable for _, state in going]
        self.round[living] = [state.round for _, state in going]
        self.mask[row, place] = (self.spendable > 0)[row]
        self.mask[living, -1] = True

    def give(self, rows: NDArray[np.int64], people: NDArray[np.int64]) -> None:
        """Give a coupon to one person in each of these rows; the mask has allowed it."""
        self.coupons[rows, people] += 1
        self.left[rows] -= 1
        self.spendable[rows] -= 1
        if self.rules.max_per_person is not None:
            self.mask[rows, people] = self.coupons[rows, people] < self.rules.max_per_person
        self.mask[rows[self.spendable[rows] == 0], :-1] = False

    def observation(self) -> dict[str, NDArray[Any]]:
        return {
            "covariates": self.covariates.reshape(len(self.left), -1),
            "present": self.present,
            "coupons": self.coupons,
            "remaining_budget": self.left[:, None],
            "rounds_left": (self.rules.rounds - self.round)[:, None],
        }


def _places(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and place of everybody where row i has `counts[i]` people, one after another."""
    first = np.cumsum(counts) - counts
    return np.repeat(rows, counts), np.arange(counts.sum()) - np.repeat(first, counts)


@checked_class
class RecruitmentVectorEnv(VectorEnv[dict[str, NDArray[Any]], NDArray[np.int64], NDArray[Any]]):
    """`num_envs` episodes at once: step by step the same as `RecruitmentEnv` in Gymnasium's `SyncVectorEnv`.

    Whoever closes a round in a step refers together with all others who do, which is what makes it fast; in a finite
    network, which remembers who took part, each episode is played on its own. An episode that is over begins anew at
    the next step (`autoreset_mode="NextStep"`, Gymnasium's usual one) or at once (`"SameStep"`, with its last
    observation in `infos["final_obs"]`). With `copy=False` observations are views that the next step changes.
    """

    def __init__(
        self,
        num_envs: int = 1,
        world: str | World = "icpsr22140",
        rules: Rules | None = None,
        discount: float = 1.0,
        draw: int = 0,
        *,
        budget: int | None = None,
        people: int | None = None,
        rounds: int | None = None,
        max_per_person: int | None = None,
        max_per_round: int | None = None,
        max_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        self.num_envs = int(at_least(1, _MOST_EPISODES)("num_envs", num_envs))
        self.world, self.rules, self.max_steps = _game(
            world, draw, rules, max_steps, budget, people, rounds, max_per_person, max_per_round
        )
        self.discount = checked_discount(discount)
        self.places, self.copy = places_of(self.rules), copy
        modes = (AutoresetMode.NEXT_STEP.value, AutoresetMode.SAME_STEP.value)
        named = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        self.autoreset_mode = AutoresetMode(one_of(note("environment.autoreset_mode"), named, modes))
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(self.world.schema, self.rules, self.num_envs)
        self.single_action_space = spaces.Discrete(self.places + 1)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._worth = np.array([self.discount**number for number in range(self.rules.rounds)])
        self._generators: list[np.random.Generator] = []
        self._tables = _Tables(self.world.schema, self.rules, self.num_envs)
        self._keys = np.zeros((self.num_envs, self.places), dtype=np.uint64)
        self._codes = np.zeros((self.num_envs, self.places, len(self.world.schema.fields)), dtype=np.int16)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        # A world whose crowds remember who took part needs each episode's own crowd.
        remembers = self.world.seeds(named_luck(("gymnasium look",), 1), min(self.rules.people, 1)).memory is not None
        self._own: list[Episodes | None] | None = [None] * self.num_envs if remembers else None

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, [episodes, actions]."""
        return self._tables.mask.copy()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Begin all episodes; episode i has seed + i, as in Gymnasium's own vector environments, or its own seed."""
        seeds = [seed + n for n in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        seeds = [None] * self.num_envs if seeds is None else list(seeds)
        if len(seeds) != self.num_envs:
            raise SettingError("environment.other_seeds", seeds=len(seeds), episodes=self.num_envs)
        numbers = [optional(at_least(0, MOST_SEED))("seed", each) for each in seeds]
        if not self._generators:
            self._generators = [seeding.np_random()[0] for _ in numbers]
        for row, number in enumerate(numbers):
            if number is not None:
                self._generators[row] = seeding.np_random(number)[0]
        self._over[:] = False
        self._begin_episodes(np.arange(self.num_envs), numbers)
        return self._observation(), self._infos(np.zeros(self.num_envs, dtype=np.bool_))

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        if not self._generators:
            raise SettingError("environment.not_begun")
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise SettingError("environment.other_actions", shape=str(chosen.shape), episodes=self.num_envs)
        tables, rows = self._tables, np.arange(self.num_envs)
        again = self._over & (self.autoreset_mode is AutoresetMode.NEXT_STEP)
        exists = (chosen >= 0) & (chosen <= self.places)
        allowed = exists & tables.mask[rows, np.where(exists, chosen, 0)] & ~again
        gives = rows[allowed & (chosen < self.places)]
        tables.give(gives, chosen[gives])
        rewards = np.zeros(self.num_envs)
        closes = rows[allowed & (chosen == self.places)]
        if len(closes):
            worth = self._worth[tables.round[closes]]
            rewards[closes] = self._refer(closes) * worth
        self._steps += 1
        if again.any():
            self._begin_episodes(rows[again])
        terminated = ~tables.mask[:, -1] & ~again
        truncated = ~terminated & ~again & (self._steps >= self.max_steps)
        refused = ~allowed & ~again
        self._over = terminated | truncated
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._over.any():
            infos = self._ended_at_once(rows[self._over], refused)
            refused &= ~self._over
        return self._observation(), rewards, terminated, truncated, {**infos, **self._infos(refused)}

    def _ended_at_once(self, rows: NDArray[np.int64], refused: NDArray[np.bool_]) -> dict[str, Any]:
        """The last observations of episodes that are over, which begin anew."""
        infos: dict[str, Any] = {}
        last = self._tables.observation()
        for row in rows.tolist():
            seen = {name: values[row].copy() for name, values in last.items()}
            about = {"action_mask": self._tables.mask[row].astype(np.int8), "refused": bool(refused[row])}
            infos = self._add_info(infos, {"final_obs": seen, "final_info": about}, row)
        self._begin_episodes(rows)
        return infos

    def _begin_episodes(self, rows: NDArray[np.int64], numbers: Sequence[int | None] | None = None) -> None:
        seeds = [None] * len(rows) if numbers is None else numbers
        drawn = [
            int(self._generators[row].integers(2**32)) if seed is None else seed
            for row, seed in zip(rows.tolist(), seeds, strict=True)
        ]
        lucks = [RecruitmentEnv.episode_luck(number) for number in drawn]
        self._steps[rows] = 0
        if self._own is not None:
            for row, luck in zip(rows.tolist(), lucks, strict=True):
                self._own[row] = Episodes(self.world, self.rules, luck)
            self._begin_round(rows, [_state_of(self._own[row]) for row in rows.tolist()])
            return
        together = Episodes(self.world, self.rules, Luck(np.concatenate([luck.keys for luck in lucks])))
        self._begin_round(rows, _states_of(together, len(rows)))

    def _refer(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Close the round in these rows; how many come in each."""
        tables = self._tables
        counts = tables.present[rows].sum(axis=1, dtype=np.int64)
        row, place = _places(rows, counts)
        coupons = np.split(tables.coupons[row, place], np.cumsum(counts)[:-1])
        allocations = [Allocation(each) for each in coupons]
        if self._own is not None:
            came = np.zeros(len(rows), dtype=np.int64)
            for number, (own, allocation) in enumerate(zip(rows.tolist(), allocations, strict=True)):
                episodes = self._own[own]
                assert episodes is not None
                came[number] = episodes.step([allocation]).referrals.recruits.sum()
            self._begin_round(rows, [_state_of(self._own[own]) for own in rows.tolist()])
            return came
        episode = np.repeat(np.arange(len(rows)), counts)
        crowd = Crowd(episode, self._keys[row, place], self._codes[row, place])
        # What is left and the rounds are those of the round's start: `Episodes` takes off what is given.
        given = tables.coupons[rows].sum(axis=1)
        luck = Luck(np.zeros(len(rows), dtype=np.uint64))  # a policy's luck, which nobody asks for here
        rounds_left = self.rules.rounds - tables.round[rows]
        together = Episodes(self.world, self.rules, luck, crowd, tables.left[rows] + given, rounds_left)
        recruits = together.step(allocations).referrals.recruits
        came = np.bincount(episode, weights=recruits, minlength=len(rows)).astype(np.int64)
        self._begin_round(rows, _states_of(together, len(rows)))
        return came

    def _begin_round(self, rows: NDArray[np.int64], states: Sequence[State | None]) -> None:
        self._tables.begin_round(rows, states)
        if self._own is not None:
            return
        for row, state in zip(rows.tolist(), states, strict=True):
            if state is not None:
                people = len(state.frontier)
                self._keys[row, :people] = state.frontier.ids
                self._codes[row, :people] = state.frontier.covariates

    def _observation(self) -> dict[str, NDArray[Any]]:
        seen = self._tables.observation()
        return {name: values.copy() for name, values in seen.items()} if self.copy else seen

    def _infos(self, refused: NDArray[np.bool_]) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, dtype=np.bool_)
        mask = self._tables.mask.astype(np.int8)
        return {"action_mask": mask, "_action_mask": everywhere, "refused": refused, "_refused": everywhere.copy()}


def _states_of(episodes: Episodes, count: int) -> list[State | None]:
    """The state of each episode; None where it is over."""
    states: list[State | None] = [None] * count
    for number, state in zip(episodes.living.tolist(), episodes.states(), strict=True):
        states[number] = state
    return states


def _state_of(episodes: Episodes | None) -> State | None:
    """The state of an episode that is played on its own."""
    return None if episodes is None else _states_of(episodes, 1)[0]


# Agents in comparisons ---------------------------------------------------------------------------------------------


class Agent(Protocol):
    """Anything that predicts actions for many observations at once, such as an agent of sb3-contrib or its policy."""

    def predict(
        self, observation: Any, *, action_masks: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]: ...


@checked_class
class AgentPolicy:
    """An agent that learned in this environment, as a policy: each round it acts until it closes the round.

    Of an agent with a `policy` that predicts (Stable-Baselines3) only that is kept, so that it can be sent to other
    processes. It must have learned with the same rules and in a world with the fields of `world`, and its `predict`
    must take `action_masks`: at any time most actions are forbidden.
    """

    def __init__(self, agent: Agent, world: str | World, name: str = "agent", deterministic: bool = True) -> None:
        inner: Any = getattr(agent, "policy", None)
        self.agent: Agent = inner if hasattr(inner, "predict") else agent
        takes = inspect.signature(self.agent.predict).parameters.values()
        if not any(each.name == "action_masks" or each.kind is each.VAR_KEYWORD for each in takes):
            raise SettingError("environment.no_masks", name=name)
        self.name, self.deterministic = name, deterministic
        self.schema = (make_world(world) if isinstance(world, str) else world).schema

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        for state in states:
            self._check_fields(state)
        tables = _Tables(self.schema, states[0].rules, len(states))
        tables.begin_round(np.arange(len(states)), states)
        waiting = np.arange(len(states))
        while len(waiting):
            seen = {name: values[waiting] for name, values in tables.observation().items()}
            masks = tables.mask[waiting]
            answer, _ = self.agent.predict(seen, action_masks=masks, deterministic=self.deterministic)
            actions = self._checked(answer, masks, [states[n] for n in waiting.tolist()])
            gives = actions < tables.places
            tables.give(waiting[gives], actions[gives])
            waiting = waiting[gives]
        return [Allocation(tables.coupons[n, : len(state.frontier)]) for n, state in enumerate(states)]

    def _check_fields(self, state: State) -> None:
        """Refuse people of another world, whom the agent would take for others."""
        codes, sizes = state.frontier.covariates, self.schema.sizes
        if codes.shape[1] != len(sizes) or (codes >= sizes).any():
            raise SettingError("environment.other_fields", name=self.name, names=self.schema.names, where=state.place)

    def _checked(self, answer: Any, masks: NDArray[np.bool_], states: Sequence[State]) -> NDArray[np.int64]:
        """One allowed action for each row, or an error that names the agent and the state."""
        actions = np.asarray(answer)
        if actions.shape != (len(masks),) or actions.dtype.kind not in "iu":
            shape = str(actions.shape)
            fault = note("allocation_fault.no_actions", shape=shape, states=len(masks))
            raise InfeasibleAllocation(self.name, fault, place_of_one(states))
        known = (actions >= 0) & (actions < masks.shape[1])
        allowed = known & masks[np.arange(len(masks)), np.where(known, actions, 0)]
        if not allowed.all():
            first = int(allowed.argmin())
            fault = note("allocation_fault.forbidden_action", action=int(actions[first]))
            raise InfeasibleAllocation(self.name, fault, states[first].place)
        return actions.astype(np.int64)


if ENVIRONMENT_ID not in gymnasium.registry:
    gymnasium.register(
        id=ENVIRONMENT_ID,
        entry_point="peerfront.environment:RecruitmentEnv",
        vector_entry_point="peerfront.environment:RecruitmentVectorEnv",
    )
