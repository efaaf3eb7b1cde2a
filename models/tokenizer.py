"""A small byte-level BPE whose digits never merge, in the exact form llama.cpp calls "gpt2".

The file `tokenizer.json` beside this one holds the merges; the vocabulary follows from them:
id 0 is the end of sequence, ids 1..256 are the bytes, then one token for each merge.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from tasks import CELLS, example

EOS = "<eos>"
EOS_ID = 0
FILE = Path(__file__).with_name("tokenizer.json")


def byte_alphabet() -> list[str]:
    """GPT-2's printable stand-in for each byte, in byte order."""
    keep = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    extra = iter(range(256, 512))
    return [chr(b) if b in keep else chr(next(extra)) for b in range(256)]


def _pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    # Digits stand alone. llama.cpp's "gpt-2" splitter keeps digit runs together, which is the same as long as no
    # merge contains a digit.
    return pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True), pre_tokenizers.Split(Regex("[0-9]"), "isolated")]
    )


def learn(vocabulary: int, examples: int, seed: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    made = (example(rng, "train", *rng.choice(CELLS)) for _ in range(examples))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = _pre_tokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[EOS], initial_alphabet=byte_alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator((f"{one.prompt}\n{one.completion}" for one in made), trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in merges]


def load_merges() -> list[tuple[str, str]]:
    return [tuple(line.split(" ")) for line in json.loads(FILE.read_text())["merges"]]


def vocabulary(merges: list[tuple[str, str]]) -> list[str]:
    return [EOS, *byte_alphabet(), *(a + b for a, b in merges)]


class Codec:
    def __init__(self) -> None:
        merges = load_merges()
        self.tokens = vocabulary(merges)
        ids = {token: i for i, token in enumerate(self.tokens)}
        self._tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges))
        self._tokenizer.pre_tokenizer = _pre_tokenizer()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    def encode_pair(self, prompt: str, completion: str) -> tuple[list[int], list[int]]:
        """The ids of `prompt` + newline, and of `completion` + end of sequence."""
        return self.encode(prompt + "\n"), [*self.encode(completion), EOS_ID]

    def tokens_at(self, text: str, positions: list[int]) -> list[int]:
        """Which tokens of an ASCII text cover these characters."""
        offsets = self._tokenizer.encode(text).offsets
        return [next(i for i, (_, end) in enumerate(offsets) if at < end) for at in positions]


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn tokenizer.json from the training split.")
    parser.add_argument("--vocabulary", type=int, default=704)
    parser.add_argument("--examples", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    merges = learn(args.vocabulary, args.examples, args.seed)
    FILE.write_text(json.dumps({"merges": [" ".join(m) for m in merges]}, ensure_ascii=True, indent=0) + "\n")
    print(f"{len(vocabulary(merges))} tokens")


if __name__ == "__main__":
    main()
