"""Write a checkpoint as a GGUF file: `python models/export.py /tmp/small.npz models/conclave-small.gguf`."""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np

from tokenizer import EOS_ID, load_merges, vocabulary
from train import load

NORMAL, CONTROL, UNUSED = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL, gguf.TokenType.UNUSED
FIRST_HIGH_BYTE = 1 + 0x80  # id of byte 0x80: ids are 1 + byte
LAYER_NAMES = {
    "attention_norm": "attn_norm",
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "attention_output": "attn_output",
    "feed_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


def token_types(count: int) -> list[int]:
    """Bytes outside ASCII are unused: a lone one would not be text, and the grammar must never choose it."""
    types = [int(NORMAL)] * count
    types[EOS_ID] = int(CONTROL)
    types[FIRST_HIGH_BYTE : 1 + 256] = [int(UNUSED)] * 128
    return types


def export(checkpoint: Path, target: Path, version: str) -> None:
    params, config, training = load(checkpoint)
    merges = load_merges()
    tokens = vocabulary(merges)
    assert len(tokens) == config.vocabulary
    writer = gguf.GGUFWriter(str(target), "llama")
    writer.add_name("conclave-small")
    writer.add_version(version)
    writer.add_license("MIT")
    writer.add_description(
        f"Toy model trained from scratch: seed {training['seed']}, {training['steps']} steps, {training['tokens']} tokens"
    )
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
    args = parser.parse_args()
    export(args.checkpoint, args.target, args.version)
    print(f"{args.target}: {args.target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
