"""Train conclave-small. On a CPU: `taskset -c 0 python models/train.py --minutes 60 --seed 1 --out /tmp/small.npz`.

Data is generated as training goes, from the training split only; the loss counts completion tokens only.
Hidden matrices are trained with Muon, the rest with Adam; the rate warms up, then decays to zero along a cosine.
The same script runs on a GPU when JAX finds one. A checkpoint is written every `--save-every` seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import model
from model import Config, Params
from tasks import CELLS, TASKS, Example, example, families_of
from tokenizer import Codec

BLOCK = 64  # examples that validation runs at once
MATRICES = ("query", "key", "value", "attention_output", "gate", "up", "down")


# --------------------------------------------------------------------------------------------------------------
# Data


Pair = tuple[list[int], list[int], list[float]]  # the tokens of prompt and completion, and what each of the latter weighs
Batch = tuple[np.ndarray, np.ndarray, np.ndarray]


def pack(source: Iterator[Pair], rows: int, length: int, longer: list[Pair]) -> Batch:
    """Tokens, segment ids (0 is padding) and their weights in the loss, each [rows, length + 1]; examples are never cut, and those
    that no row of this length can hold go to `longer`."""
    shape = (rows, length + 1)
    tokens, segments, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    used, number, misses = [0] * rows, [0] * rows, 0
    while misses < 6:
        prompt, answer, weights = next(source)
        size = len(prompt) + len(answer)
        if size > length + 1:
            longer.append((prompt, answer, weights))
            continue
        fitting = [r for r in range(rows) if used[r] + size <= length + 1]
        if not fitting:
            misses += 1
            continue
        row = max(fitting, key=lambda r: used[r])
        at, used[row] = used[row], used[row] + size
        number[row] += 1
        tokens[row, at : at + size] = prompt + answer
        segments[row, at : at + size] = number[row]
        mask[row, at + len(prompt) : at + size] = weights
    return tokens, segments, mask


def batches(source: Iterator[Pair], rows: int, length: int) -> Iterator[Batch]:
    """Batches of one length, and one of half as many rows of twice the length whenever enough long examples wait."""
    waiting: list[Pair] = []
    while True:
        if sum(len(prompt) + len(answer) for prompt, answer, _ in waiting) < 0.8 * rows * length:
            yield pack(source, rows, length, waiting)
        else:
            longest: list[Pair] = []  # not used: they would not fit the validator or an agent's context either
            yield pack(chain(waiting, source), rows // 2, 2 * length, longest)
            waiting = []


DECISION_WEIGHT = 4.0  # of the token that begins a verdict, a mark, an answer: one in dozens, but the one that counts


def encoded(codec: Codec, made: Example) -> Pair:
    prompt, answer = codec.encode_pair(made.prompt, made.completion)
    weights = [1.0] * len(answer)
    for at in codec.tokens_at(made.completion, made.decisions()):
        weights[at] = DECISION_WEIGHT
    return prompt, answer, weights


def stream(codec: Codec, seed: int, mix: "Mix") -> Iterator[Pair]:
    rng = random.Random(seed)
    while True:
        made = example(rng, "train", *mix.draw(rng))
        yield encoded(codec, made)


# Tasks and families of version 0.3: a fixed share of the examples, so that they are not forgotten.
FIRST_TASKS, FIRST_FAMILIES = ("propose", "verify", "adjudicate", "revise"), ("policy", "choose", "sum", "wason")
FIRST_SHARE = 0.4
# The only tasks without six families.
EXTRA = {"match": 3.0, "cite": 4.0}


class Mix:
    """Which (task, family) comes next: more of what still fails on validation."""

    def __init__(self) -> None:
        self.weights = {(task, family): EXTRA.get(task, 1.0) for task, family in CELLS}
        self.seen: dict[tuple[str, str], float] = {}

    def draw(self, rng: random.Random) -> tuple[str, str]:
        first = rng.random() < FIRST_SHARE
        cells = [c for c in CELLS if (c[0] in FIRST_TASKS and c[1] in FIRST_FAMILIES) == first]
        return rng.choices(cells, [self.weights[c] for c in cells])[0]

    def update(self, accuracy: dict[tuple[str, str], float]) -> None:
        for cell, share in accuracy.items():
            self.seen[cell] = (share + self.seen.get(cell, share)) / 2
            self.weights[cell] = EXTRA.get(cell[0], 1.0) * (0.2 + 1.5 * (1 - self.seen[cell]))


# --------------------------------------------------------------------------------------------------------------
# Optimiser


def orthogonal(update: jax.Array) -> jax.Array:
    """Newton-Schulz towards the nearest semi-orthogonal matrix; [layer, in, out]."""
    wide = update.shape[-1] > update.shape[-2]
    x = update if wide else update.swapaxes(-1, -2)
    x = x / (jnp.linalg.norm(x, axis=(-2, -1), keepdims=True) + 1e-7)
    for _ in range(5):
        a = x @ x.swapaxes(-1, -2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x if wide else x.swapaxes(-1, -2)


def step_function(config: Config, decay: float):
    def loss_of(params: Params, tokens: jax.Array, segments: jax.Array, mask: jax.Array) -> jax.Array:
        scores = model.logits(params, config, tokens[:, :-1], segments[:, :-1])
        chosen = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
        lost = jax.nn.logsumexp(scores, axis=-1) - chosen
        return jnp.sum(lost * mask[:, 1:]) / jnp.sum(mask[:, 1:])

    @jax.jit
    def step(params, state, tokens, segments, mask, rate, adam_rate, number):
        loss, gradient = jax.value_and_grad(loss_of)(params, tokens, segments, mask)
        new_params, new_state = {}, {}
        for name, value in params.items():
            g, s = gradient[name], state[name]
            if name in MATRICES:
                momentum = 0.95 * s["m"] + g
                update = orthogonal(g + 0.95 * momentum)
                scale = max(1.0, value.shape[-1] / value.shape[-2]) ** 0.5
                new_params[name] = value * (1 - rate * decay) - rate * scale * update
                new_state[name] = {"m": momentum}
            else:
                m = 0.9 * s["m"] + 0.1 * g
                v = 0.98 * s["v"] + 0.02 * g * g
                hat = (m / (1 - 0.9**number)) / (jnp.sqrt(v / (1 - 0.98**number)) + 1e-8)
                new_params[name] = value - adam_rate * hat
                new_state[name] = {"m": m, "v": v}
        return new_params, new_state, loss

    return step


def fresh_state(params: Params) -> dict:
    return {
        name: {"m": jnp.zeros_like(value)} | ({} if name in MATRICES else {"v": jnp.zeros_like(value)})
        for name, value in params.items()
    }


# --------------------------------------------------------------------------------------------------------------
# Validation: the share of completions whose every token is the model's first choice. As the completion is fully
# determined by the prompt, this is what greedy decoding would reproduce exactly: a lower bound of its accuracy.


def validator(config: Config, codec: Codec, split: str, each: int, seed: int):
    rng = random.Random(seed)
    made = []
    for cell in CELLS:
        for _ in range(each):
            one = example(rng, split, *cell)
            made.append((cell, encoded(codec, one)))
    predict = jax.jit(lambda p, t: jnp.argmax(model.logits(p, config, t, jnp.ones_like(t)), axis=-1))

    def exact(params: Params, pairs: list[Pair], length: int) -> list[bool]:
        tokens, mask = np.zeros((BLOCK, length + 1), np.int32), np.zeros((BLOCK, length + 1), bool)
        for row, (prompt, answer, _) in enumerate(pairs):
            both = (prompt + answer)[: length + 1]
            tokens[row, : len(both)] = both
            mask[row, len(prompt) : len(both)] = True
        best = np.asarray(predict(params, tokens[:, :-1]))
        return ((best == tokens[:, 1:]) | ~mask[:, 1:]).all(axis=1)[: len(pairs)].tolist()

    def accuracy(params: Params) -> dict[tuple[str, str], float]:
        hits = defaultdict(list)
        for length, shortest in ((256, 0), (768, 257)):
            some = [one for one in made if shortest <= len(one[1][0]) + len(one[1][1]) - 1 < shortest + length + 1]
            for at in range(0, len(some), BLOCK):
                block = some[at : at + BLOCK]
                for (cell, _), hit in zip(block, exact(params, [pair for _, pair in block], length)):
                    hits[cell].append(hit)
        return {cell: sum(values) / len(values) for cell, values in hits.items()}

    return accuracy


# --------------------------------------------------------------------------------------------------------------


def save(path: Path, params: Params, config: Config, facts: dict) -> None:
    meta = json.dumps({"config": config.as_dict(), "training": facts})
    temporary = path.with_suffix(".partial.npz")
    np.savez(temporary, meta=np.array(meta), **{name: np.asarray(value) for name, value in params.items()})
    temporary.replace(path)


def load(path: Path) -> tuple[Params, Config, dict]:
    with np.load(path) as stored:
        meta = json.loads(str(stored["meta"]))
        params = {name: jnp.asarray(stored[name]) for name in stored.files if name != "meta"}
    return params, Config(**meta["config"]), meta["training"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="continue from this checkpoint's weights")
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--rate", type=float, default=0.006)
    parser.add_argument("--adam-rate", type=float, default=0.0008)
    parser.add_argument("--validate-every", type=int, default=400)
    parser.add_argument("--validate-each", type=int, default=8, help="examples of every task and family")
    parser.add_argument("--save-every", type=float, default=120)
    args = parser.parse_args()

    codec = Codec()
    if args.start:
        params, config, _ = load(args.start)
    else:
        config = Config(len(codec.tokens), args.width, args.layers, args.heads, args.hidden)
        params = model.initialise(config, args.seed)
    state = fresh_state(params)
    print(f"{model.count(params)} parameters on {jax.devices()[0].platform}", flush=True)

    step = step_function(config, decay=0.01)
    accuracy = validator(config, codec, "validation", args.validate_each, seed=99)
    mix = Mix()
    if args.start:
        mix.update(accuracy(params))
    source = batches(stream(codec, args.seed, mix), args.rows, args.length)
    began = saved = time.time()
    number = seen = 0
    losses: list[float] = []
    while (progress := (time.time() - began) / (60 * args.minutes)) < 1:
        number += 1
        warm = min(1.0, number / 50)
        factor = warm * max(0.02, 0.5 * (1 + math.cos(math.pi * progress)))
        tokens, segments, mask = next(source)
        seen += int((segments > 0).sum())
        params, state, loss = step(
            params, state, tokens, segments, mask, args.rate * factor, args.adam_rate * factor, float(number)
        )
        losses.append(float(loss))
        if number % 50 == 0:
            elapsed = time.time() - began
            print(f"step {number} loss {np.mean(losses[-50:]):.4f} tokens {seen} {seen / elapsed:.0f}/s {elapsed:.0f}s", flush=True)
        facts = {"seed": args.seed, "steps": number, "tokens": seen, "seconds": round(time.time() - began)}
        if number % args.validate_every == 0:
            shares = accuracy(params)
            mix.update(shares)
            for task in TASKS:
                print("  " + task.ljust(11) + " ".join(f"{f} {shares[task, f]:.2f}" for f in families_of(task)), flush=True)
        if time.time() - saved > args.save_every:
            save(args.out, params, config, facts)
            saved = time.time()
    save(args.out, params, config, facts)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
