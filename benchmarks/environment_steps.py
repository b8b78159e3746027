"""How many steps a second the Gymnasium environments make: one episode, Gymnasium's many, and many in lock step.

Each kind gets random actions among those that are allowed, on one core; the time of choosing them is left out. Seconds
are those of the processor, so that other work on the machine counts for little. Prints ratios to one episode, too.

    OMP_NUM_THREADS=1 python benchmarks/environment_steps.py --world icpsr22140 --episodes 256
"""

import argparse
import time

import gymnasium
import numpy as np
from numpy.typing import NDArray

ENVIRONMENT = "peerfront.environment:peerfront/Recruitment-v0"


def random_allowed(masks: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """One allowed action for each row, each as likely as the others; 0 where none is."""
    chances = masks * rng.random(masks.shape, dtype=np.float32)
    return chances.argmax(axis=1)


def one_at_a_time(world: str, seconds: float) -> tuple[int, float]:
    env, rng = gymnasium.make(ENVIRONMENT, world=world, disable_env_checker=True), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    steps, spent, until = 0, 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        action = random_allowed(info["action_mask"][None], rng)[0]
        begun = time.process_time()
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
        spent += time.process_time() - begun
        steps += 1
    return steps, spent


def many(world: str, seconds: float, mode: str, episodes: int, **more: object) -> tuple[int, float]:
    envs = gymnasium.make_vec(ENVIRONMENT, num_envs=episodes, vectorization_mode=mode, world=world, **more)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    for _ in range(200):  # episodes are of different age, as they are in training
        _, _, _, _, infos = envs.step(random_allowed(infos["action_mask"], rng))
    steps, spent, until = 0, 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        actions = random_allowed(infos["action_mask"], rng)
        begun = time.process_time()
        _, _, _, _, infos = envs.step(actions)
        spent += time.process_time() - begun
        steps += episodes
    return steps, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="icpsr22140")
    parser.add_argument("--episodes", type=int, default=256, help="episodes side by side")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each kind")
    arguments = parser.parse_args()
    world, seconds, episodes = arguments.world, arguments.seconds, arguments.episodes
    kinds = {
        "one episode": lambda: one_at_a_time(world, seconds),
        "SyncVectorEnv of 8": lambda: many(world, seconds, "sync", 8),
        f"lock step, {episodes}": lambda: many(world, seconds, "vector_entry_point", episodes),
        f"lock step, {episodes}, views": lambda: many(world, seconds, "vector_entry_point", episodes, copy=False),
    }
    print("| environment | steps/s | times one episode |\n| --- | ---: | ---: |")
    base = None
    for name, measure in kinds.items():
        steps, spent = measure()
        speed = steps / spent
        base = base or speed
        print(f"| {name} | {speed:,.0f} | {speed / base:.1f} |", flush=True)


if __name__ == "__main__":
    main()
