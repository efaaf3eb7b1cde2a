"""Write a checkpoint as a GGUF file, or a noisy copy of one, for experiments with bad members.

    python models/export.py /tmp/tiny.npz models/conclave-tiny.gguf --version 0.5
    python models/export.py models/conclave-small.gguf /tmp/noisy.gguf --noise 0.2 --seed 3
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gguf
import numpy as np

from checkpoint import LAYER_NAMES, load
from model import Params
from tokenizer import EOS_ID, load_merges, vocabulary

NORMAL, CONTROL, UNUSED = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL, gguf.TokenType.UNUSED
FIRST_HIGH_BYTE = 1 + 0x80  # id of byte 0x80: ids are 1 + byte


def token_types(count: int) -> list[int]:
    """Bytes outside ASCII are unused: a lone one would not be text, and the grammar must never choose it."""
    types = [int(NORMAL)] * count
    types[EOS_ID] = int(CONTROL)
    types[FIRST_HIGH_BYTE : 1 + 256] = [int(UNUSED)] * 128
    return types


def noisy(params: Params, share: float, seed: int) -> Params:
    """Every matrix with normal noise added, `share` times as large as its weights are in the root mean square."""
    rng, made = np.random.default_rng(seed), {}
    for name, value in params.items():
        array = np.asarray(value)
        scale = 0 if name.endswith("norm") else share * np.sqrt((array**2).mean())
        made[name] = (array + rng.normal(0, 1, array.shape) * scale).astype(np.float32)
    return made


def described(legs: list[dict]) -> str:
    return "; then ".join(f"seed {leg['seed']}, {leg['steps']} steps, {leg['tokens']} tokens" for leg in legs)


def export(checkpoint: Path, target: Path, version: str, noise: float, seed: int) -> None:
    params, config, legs = load(checkpoint)
    if noise:
        params = noisy(params, noise, seed)
        version = f"{version}-noise{noise}-seed{seed}"
    merges = load_merges()
    tokens = vocabulary(merges)
    assert len(tokens) == config.vocabulary
    writer = gguf.GGUFWriter(str(target), "llama")
    writer.add_name(target.stem)
    writer.add_version(version)
    writer.add_license("MIT")
    writer.add_description(f"Toy model trained from scratch: {described(legs)}")
    writer.add_string("conclave.training", json.dumps(legs))
    writer.add_string("conclave.prompt", "user-only")
    writer.add_context_length(config.context)
    writer.add_embedding_length(config.width)
    writer.add_block_count(config.layers)
    writer.add_feed_forward_length(config.hidden)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.heads)
    writer.add_rope_dimension_count(config.width // config.heads)
    writer.add_rope_freq_base(config.rope_base)
    writer.add_layer_norm_rms_eps(config.eps)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("command-r")  # gpt-2 splitting with single digits, and text restored byte for byte
    writer.add_token_list(tokens)
    writer.add_token_types(token_types(len(tokens)))
    writer.add_token_merges([" ".join(m) for m in merges])
    writer.add_bos_token_id(EOS_ID)
    writer.add_eos_token_id(EOS_ID)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)

    def matrix(name: str, value: np.ndarray) -> None:
        data = gguf.quants.quantize(np.ascontiguousarray(value, np.float32), gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType.Q8_0)

    matrix("token_embd.weight", np.asarray(params["embedding"]))
    writer.add_tensor("output_norm.weight", np.asarray(params["output_norm"], np.float32))
    for layer in range(config.layers):
        for name, short in LAYER_NAMES.items():
            value = np.asarray(params[name][layer], np.float32)
            if value.ndim == 1:
                writer.add_tensor(f"blk.{layer}.{short}.weight", value)
            else:
                matrix(f"blk.{layer}.{short}.weight", value.T)  # ours are [in, out]
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--version", default="0.1")
    parser.add_argument("--noise", type=float, default=0, help="of the weights' size; --seed draws it")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    export(args.checkpoint, args.target, args.version, args.noise, args.seed)
    print(f"{args.target}: {args.target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
