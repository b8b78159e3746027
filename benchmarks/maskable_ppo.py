"""MaskablePPO of sb3-contrib on the recruitment game: a recipe that works, beside the library's own defaults.

What the defaults lack is not effort: a network with an output for each place has to learn everything about people once
for every place they may stand at. `PerPerson` scores everybody by one small network, whatever the place, so that what
is learned of one person is known of all; rewards are scaled to about one a round, and nothing is discounted by steps.

    pip install --group rl
    python benchmarks/maskable_ppo.py --steps 1000000                    (tuned)
    python benchmarks/maskable_ppo.py --steps 1000000 --untuned          (MultiInputPolicy, all defaults)

Prints a learning curve (mean reward of episodes that nobody learned from, with a 95% interval), then the agent, the
rules and gfp in one comparison.
"""

import argparse
import time
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

import peerfront as pf
from peerfront.environment import AgentPolicy, RecruitmentVectorEnv

REWARD_SCALE = 10.0  # recruits of a round are about so many


class LockStep(VecEnv):
    """The vector environment as Stable-Baselines3 wants one; rewards are scaled."""

    def __init__(self, envs: RecruitmentVectorEnv, scale: float = 1.0) -> None:
        self.envs, self.scale = envs, scale
        self.actions = np.zeros(envs.num_envs, dtype=np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> dict[str, np.ndarray]:
        seed = self._seeds[0]
        self._reset_seeds()
        return self.envs.reset(seed=seed)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[Any, ...]:
        seen, rewards, terminated, truncated, infos = self.envs.step(self.actions)
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(terminated | truncated).tolist():
            told[row] = {"terminal_observation": infos["final_obs"][row], "TimeLimit.truncated": bool(truncated[row])}
        return seen, rewards / self.scale, terminated | truncated, told

    def env_method(self, method_name: str, *_: Any, **__: Any) -> list[Any]:
        return list(getattr(self.envs, method_name)())

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None if attr_name == "render_mode" else getattr(self.envs, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self.envs, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        self.envs.close()


class Unchanged(BaseFeaturesExtractor):
    """Observations side by side in one row; `PerPerson` knows where each part begins."""

    def __init__(self, observation_space: Any) -> None:
        self.parts = {name: int(np.prod(space.shape)) for name, space in observation_space.spaces.items()}
        super().__init__(observation_space, sum(self.parts.values()))

    def forward(self, seen: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat([seen[name].float() for name in self.parts], dim=1)


class Scores(nn.Module):
    """The same network scores every person; what all of them have in common closes the round and values the state."""

    def __init__(self, parts: dict[str, int], budget: int, rounds: int, width: int = 32) -> None:
        super().__init__()
        self.parts, self.budget, self.rounds = parts, budget, rounds
        self.places = parts["present"]
        self.columns = parts["covariates"] // self.places
        self.latent_dim_pi, self.latent_dim_vf = self.places + 1, width
        self.person = nn.Sequential(nn.Linear(self.columns + 2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        everybody = 2 * width + 4
        self.one, self.all = nn.Linear(width, width), nn.Linear(everybody, width)
        self.score = nn.Linear(width, 1)
        self.close = nn.Sequential(nn.Linear(everybody, width), nn.ReLU(), nn.Linear(width, 1))
        self.value = nn.Sequential(nn.Linear(everybody, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())

    def _looked_at(self, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = dict(zip(self.parts, torch.split(row, list(self.parts.values()), dim=1), strict=True))
        people = max(1, int(seen["present"].sum(1).max()))  # the places behind are empty in all rows
        present = seen["present"][:, :people, None]
        covariates = seen["covariates"].reshape(len(row), self.places, self.columns)[:, :people]
        coupons = seen["coupons"][:, :people, None]
        people_seen = torch.cat([covariates, torch.log1p(coupons), (coupons == 0).float()], dim=2)
        embedded = self.person(people_seen) * present
        left = seen["remaining_budget"] / self.budget
        counted = torch.log1p(present.sum(1)) / 3
        given = torch.log1p(seen["coupons"].sum(1, keepdim=True)) / 3
        rounds = (seen["rounds_left"] / min(self.rounds, 12)).clamp(max=1)
        pooled = [embedded.sum(1) / 10, embedded.sum(1) / present.sum(1).clamp(min=1)]
        return embedded, torch.cat([*pooled, left, counted, given, rounds], dim=1)

    def forward(self, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        embedded, everybody = self._looked_at(row)
        return self._actor(embedded, everybody), self.value(everybody)

    def forward_actor(self, row: torch.Tensor) -> torch.Tensor:
        return self._actor(*self._looked_at(row))

    def forward_critic(self, row: torch.Tensor) -> torch.Tensor:
        return self.value(self._looked_at(row)[1])

    def _actor(self, embedded: torch.Tensor, everybody: torch.Tensor) -> torch.Tensor:
        scores = self.score(torch.relu(self.one(embedded) + self.all(everybody)[:, None]))[..., 0]
        nobody = scores.new_zeros(len(scores), self.places - scores.shape[1])
        return torch.cat([scores, nobody, self.close(everybody)], dim=1)


class PerPerson(MaskableMultiInputActorCriticPolicy):
    """An actor and a critic that do not care at which place somebody stands."""

    def __init__(self, *given: Any, budget: int, rounds: int, **more: Any) -> None:
        self.budget, self.rounds = budget, rounds
        super().__init__(*given, features_extractor_class=Unchanged, ortho_init=False, **more)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = Scores(self.features_extractor.parts, self.budget, self.rounds)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the scores are the logits
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "budget": self.budget, "rounds": self.rounds}


class Curve(BaseCallback):
    """What the agent earns in the same episodes every so often."""

    def __init__(self, world: Any, rules: pf.Rules, discount: float, every: int, episodes: int = 200) -> None:
        super().__init__()
        self.world, self.rules, self.discount, self.every, self.next = world, rules, discount, every, 0
        self.luck, self.begun, self.learned = pf.named_luck(("learning curve",), episodes), time.perf_counter(), 0.0

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.next:
            self.next += self.every
            self.measure()

    def measure(self) -> None:
        learned = self.learned + time.perf_counter() - self.begun
        policy = AgentPolicy(self.model, self.world)
        earned = pf.rollout(self.world, policy, self.rules, self.luck).discounted_rewards(self.discount)
        error = 1.96 * earned.std(ddof=1) / np.sqrt(len(earned))
        print(f"| {self.num_timesteps:,} | {learned:,.0f} | {earned.mean():.1f} ± {error:.1f} |", flush=True)
        self.learned, self.begun = learned, time.perf_counter()  # looking is not learning

    def _on_step(self) -> bool:
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="bridge")
    parser.add_argument("--discount", type=float, default=0.9)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--every", type=int, default=100_000, help="steps between two points of the curve")
    parser.add_argument("--episodes", type=int, default=64, help="episodes side by side")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--untuned", action="store_true", help="MultiInputPolicy and every default of MaskablePPO")
    parser.add_argument("--against", nargs="*", default=["threshold", "gfp"], help="whom to compare it with at the end")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    world = pf.make_world(asked.world)
    rules = pf.Rules(asked.budget, asked.people, asked.rounds)
    envs = RecruitmentVectorEnv(asked.episodes, world, rules, asked.discount, autoreset_mode="SameStep")
    if asked.untuned:
        model = MaskablePPO("MultiInputPolicy", LockStep(envs), seed=asked.seed, device="cpu")
    else:
        model = MaskablePPO(
            PerPerson,
            LockStep(envs, REWARD_SCALE),
            policy_kwargs={"budget": max(rules.budget, 1), "rounds": rules.rounds},
            gamma=1.0,
            gae_lambda=0.98,
            n_steps=256,
            batch_size=2048,
            n_epochs=3,
            learning_rate=lambda left: 1e-3 * max(left, 0.05),
            ent_coef=0.003,
            target_kl=0.05,
            seed=asked.seed,
            device="cpu",
        )
    print("| steps | seconds | reward |\n| ---: | ---: | ---: |", flush=True)
    curve = Curve(world, rules, asked.discount, asked.every)
    model.learn(asked.steps, callback=curve)
    curve.measure()
    if asked.against:
        agent = AgentPolicy(model, world, name="MaskablePPO")
        compared = pf.compare(
            [world], [agent, *asked.against], draws=1, episodes=400, discounts=[asked.discount],
            budget=asked.budget, people=asked.people, rounds=asked.rounds,
        )  # fmt: skip
        for table in (compared.table, compared.differences):
            print(table[table["metric"] == "discounted_reward"].to_string(index=False))


if __name__ == "__main__":
    main()
