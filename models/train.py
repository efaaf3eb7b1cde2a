"""Train a model of this folder. On a CPU: `taskset -c 0 python models/train.py --minutes 60 --seed 1 --out /tmp/small.npz`.

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
from typing import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import model
from checkpoint import load, save, without_layers
from model import Config, Params
from native import MATRICES, Native
from tasks import CELLS, TASKS, Example, example, families_of
from tokenizer import Codec

BLOCK = 64  # examples that validation runs at once
DECAY = 0.01


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
# Tasks with few families, and what is learned slowly.
EXTRA = {"match": 3.0, "cite": 5.0, "critique": 1.5}


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


def validator(codec: Codec, split: str, each: int, seed: int, exact: Callable[[list[Pair]], list[bool]]):
    rng = random.Random(seed)
    made = [(cell, encoded(codec, example(rng, split, *cell))) for cell in CELLS for _ in range(each)]

    def accuracy() -> dict[tuple[str, str], float]:
        hits = defaultdict(list)
        for (cell, _), hit in zip(made, exact([pair for _, pair in made])):
            hits[cell].append(hit)
        return {cell: sum(values) / len(values) for cell, values in hits.items()}

    return accuracy


class Jax:
    """The step in JAX, on whatever device it finds."""

    def __init__(self, config: Config, params: Params, rows: int, length: int) -> None:
        self.params, self._config, self._rows, self._length = params, config, rows, length
        self._state, self._step = fresh_state(params), step_function(config, DECAY)
        self._predict = jax.jit(lambda p, t: jnp.argmax(model.logits(p, config, t, jnp.ones_like(t)), axis=-1))
        self._waiting: list[Pair] = []

    def step(self, source: Iterator[Pair], rate: float, adam_rate: float, number: int) -> tuple[jax.Array, int]:
        """The loss is not waited for: the device works while the next batch is made."""
        tokens, segments, mask = self._batch(source)
        self.params, self._state, loss = self._step(
            self.params, self._state, tokens, segments, mask, rate, adam_rate, float(number)
        )
        return loss, int((segments > 0).sum())

    def _batch(self, source: Iterator[Pair]) -> Batch:
        """Rows of one length, or half as many of twice the length whenever enough long examples wait."""
        if sum(len(prompt) + len(answer) for prompt, answer, _ in self._waiting) < 0.8 * self._rows * self._length:
            return pack(source, self._rows, self._length, self._waiting)
        waiting, self._waiting = self._waiting, []
        return pack(chain(waiting, source), self._rows // 2, 2 * self._length, [])

    def exact(self, pairs: list[Pair]) -> list[bool]:
        return [hit for at in range(0, len(pairs), BLOCK) for hit in self._exact_block(pairs[at : at + BLOCK])]

    def _exact_block(self, pairs: list[Pair]) -> list[bool]:
        longest = max(len(prompt) + len(answer) for prompt, answer, _ in pairs)
        length = -(-longest // 512) * 512  # few lengths, few compilations
        tokens, mask = np.zeros((BLOCK, length + 1), np.int32), np.zeros((BLOCK, length + 1), bool)
        for row, (prompt, answer, _) in enumerate(pairs):
            tokens[row, : len(prompt) + len(answer)] = prompt + answer
            mask[row, len(prompt) : len(prompt) + len(answer)] = True
        best = np.asarray(self._predict(self.params, tokens[:, :-1]))
        return ((best == tokens[:, 1:]) | ~mask[:, 1:]).all(axis=1)[: len(pairs)].tolist()


class Compiled:
    """The step in C++, on a CPU."""

    def __init__(self, config: Config, params: Params, tokens: int, threads: int) -> None:
        self._native = Native(config, {name: np.asarray(value) for name, value in params.items()}, threads)
        self._tokens = tokens

    @property
    def params(self) -> dict[str, np.ndarray]:
        return self._native.params

    def step(self, source: Iterator[Pair], rate: float, adam_rate: float, number: int) -> tuple[float, int]:
        examples, seen = [], 0
        while seen < self._tokens:
            examples.append(whole(next(source)))
            seen += len(examples[-1][0])
        return self._native.step(examples, rate, adam_rate, number, DECAY), seen

    def exact(self, pairs: list[Pair]) -> list[bool]:
        return self._native.exact([whole(pair) for pair in pairs])


def whole(pair: Pair) -> tuple[list[int], list[float]]:
    prompt, answer, weights = pair
    return prompt + answer, [0.0] * len(prompt) + weights


# --------------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=60, help="end after so much time by the clock")
    length.add_argument("--tokens", type=float, help="end after so many tokens: the same run again, however busy the machine is")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="continue from the weights of this .npz or .gguf")
    parser.add_argument("--drop", type=int, nargs="+", default=[], help="of --start, without these layers (0 is the first)")
    parser.add_argument("--threads", type=int, default=0, help="run the step in C++ (native.cpp) on so many threads, not in JAX")
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
    before: list[dict] = []
    if args.start:
        params, config, before = load(args.start)
        params, config = without_layers(params, config, args.drop)
    else:
        config = Config(len(codec.tokens), args.width, args.layers, args.heads, args.hidden)
        params = model.initialise(config, args.seed)
    if args.threads:
        trainer = Compiled(config, params, args.rows * args.length, args.threads)
    else:
        trainer = Jax(config, params, args.rows, args.length)
    print(f"{model.count(params)} parameters on {args.threads or jax.devices()[0].platform}", flush=True)

    accuracy = validator(codec, "validation", args.validate_each, 99, trainer.exact)
    mix = Mix()
    if args.start:
        mix.update(accuracy())
    source = stream(codec, args.seed, mix)
    began = saved = time.time()
    number = seen = 0
    losses: list[float | jax.Array] = []
    while (progress := seen / args.tokens if args.tokens else (time.time() - began) / (60 * args.minutes)) < 1:
        number += 1
        warm = min(1.0, number / 50)
        factor = warm * max(0.02, 0.5 * (1 + math.cos(math.pi * progress)))
        loss, used = trainer.step(source, args.rate * factor, args.adam_rate * factor, number)
        seen += used
        losses.append(loss)
        if number % 50 == 0:
            mean = np.mean([float(one) for one in losses])
            losses.clear()
            elapsed = time.time() - began
            print(f"step {number} loss {mean:.4f} tokens {seen} {seen / elapsed:.0f}/s {elapsed:.0f}s", flush=True)
        spent = {"seconds": round(time.time() - began), "cpuSeconds": round(time.process_time())}
        leg = {"seed": args.seed, "steps": number, "tokens": seen, "rate": args.rate, "adamRate": args.adam_rate, **spent}
        if args.start:
            leg |= {"start": args.start.name, "drop": args.drop}
        if number % args.validate_every == 0:
            shares = accuracy()
            mix.update(shares)
            for task in TASKS:
                print("  " + task.ljust(11) + " ".join(f"{f} {shares[task, f]:.2f}" for f in families_of(task)), flush=True)
        if time.time() - saved > args.save_every:
            save(args.out, trainer.params, config, [*before, leg])
            saved = time.time()
    save(args.out, trainer.params, config, [*before, leg])
    print(json.dumps(leg))


if __name__ == "__main__":
    main()
