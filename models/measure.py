"""Held-out accuracy of model files in seconds, and how often they fail together.

    python models/measure.py models/*.gguf --each 40 --seeds 47 48 49

An example counts as right when every token of the completion is the model's first choice: a lower bound of what greedy decoding
gets right, as a trace may differ where the answer does not. Examples are drawn from the test split, anew for every seed.
"""

from __future__ import annotations

import argparse
import random
from itertools import combinations
from pathlib import Path

import numpy as np

from checkpoint import load
from native import Native
from tasks import CELLS, TASKS, example
from tokenizer import Codec
from train import encoded, whole

FAMILY_NAMES = tuple(dict.fromkeys(family for _, family in CELLS))


def percent(hits: np.ndarray) -> str:
    """The mean over seeds, and the lowest and the highest of them."""
    shares = 100 * hits.mean(axis=1)
    return f"{shares.mean():.1f} ({shares.min():.1f} to {shares.max():.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--each", type=int, default=40, help="examples of every task and family, for every seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[47, 48, 49])
    parser.add_argument("--split", choices=("validation", "test"), default="test")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()

    codec = Codec()
    examples = []
    for seed in args.seeds:
        rng = random.Random(seed)
        examples += [whole(encoded(codec, example(rng, args.split, *cell))) for cell in CELLS for _ in range(args.each)]
    results: dict[str, np.ndarray] = {}
    for path in args.models:
        params, config, _ = load(path)
        native = Native(config, {name: np.asarray(value) for name, value in params.items()}, args.threads)
        results[path.stem] = np.array(native.exact(examples)).reshape(len(args.seeds), len(CELLS), args.each)

    def row(name: str, cells: list[int]) -> None:
        print(f"| {name} | " + " | ".join(percent(hits[:, cells].reshape(len(args.seeds), -1)) for hits in results.values()) + " |")

    print(f"{len(args.seeds)} seeds, {args.each} of each of {len(CELLS)} tasks and families, {args.split} split; mean (lowest to highest)\n")
    print(f"| | {' | '.join(results)} |\n| --- |{' --- |' * len(results)}")
    for task in TASKS:
        row(task, [i for i, cell in enumerate(CELLS) if cell[0] == task])
    for family in FAMILY_NAMES:
        row(f"*{family}*", [i for i, cell in enumerate(CELLS) if cell[1] == family])
    for task in ("propose", "verify"):
        for family in FAMILY_NAMES:
            if (task, family) in CELLS:
                row(f"{task} {family}", [CELLS.index((task, family))])
    row("all", list(range(len(CELLS))))
    for (one, a), (other, b) in combinations(results.items(), 2):
        print(f"\n{one} and {other} fail together on {100 * (~a & ~b).mean():.1f} %; if apart from each other, {100 * (~a).mean() * (~b).mean():.1f} %")


if __name__ == "__main__":
    main()
