"""Fit and sampling time of every generator in one run, as ratios to the paper's 100-step sampler.

python benchmarks/models.py
"""

import dataclasses
import time

import numpy as np

from peerfront.foundation.randomness import named_luck
from peerfront.models.offspring.diffusion import DiffusionOffspring
from peerfront.models.offspring.generator_choice import GENERATORS, fit_generator
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.response_fit import ResponseSettings, fit_response
from peerfront.problem import OffspringModel
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import simulate_history

PARENTS, EACH = 256, 64


def main() -> None:
    world = make_world("icpsr22140")
    history = simulate_history(world)
    pairs = Pairs.of(history)
    parents = np.repeat(world.population(named_luck(("benchmark",), PARENTS)), EACH, axis=0)
    luck = named_luck(("benchmark children",), len(parents))
    truth = (world.offspring.sample(parents, luck) == parents).mean(axis=0)

    rows: list[tuple[str, float, float, float]] = []

    def measure(name: str, model: OffspringModel, fit_seconds: float) -> None:
        model.sample(parents[:1], luck.row(0))  # kernels are compiled, or read from disk
        begun = time.perf_counter()
        children = model.sample(parents, luck)
        seconds = time.perf_counter() - begun
        rows.append((name, fit_seconds, seconds, float(np.abs((children == parents).mean(axis=0) - truth).mean())))

    for name in GENERATORS:
        begun = time.perf_counter()
        model = fit_generator(name, pairs)
        fit_seconds = time.perf_counter() - begun
        if name == "diffusion" and isinstance(model, DiffusionOffspring):
            for steps in (10, 25, 50, None):
                label = f"{name}, {steps or 100} steps"
                measure(label, dataclasses.replace(model, fast_steps=steps), fit_seconds)
        else:
            measure(name, model, fit_seconds)
    reference = next(seconds for name, _, seconds, _ in rows if name == "diffusion-paper")
    print(f"{PARENTS} x {EACH} children, {len(pairs)} pairs; ratio: times faster than the paper's sampler")
    print(f"{'generator':22} {'fit, s':>8} {'sample, s':>10} {'children/s':>12} {'ratio':>8} {'match error':>12}")
    for name, fit_seconds, seconds, error in rows:
        print(
            f"{name:22} {fit_seconds:8.2f} {seconds:10.3f} {len(parents) / seconds:12,.0f} "
            f"{reference / seconds:8.1f} {error:12.4f}"
        )
    print("capacity:")
    for name, settings in (("paper", ResponseSettings.paper()), ("default", ResponseSettings())):
        begun = time.perf_counter()
        fit_response(history, settings)
        print(f"  {name:20} {time.perf_counter() - begun:8.2f} s")


if __name__ == "__main__":
    main()
