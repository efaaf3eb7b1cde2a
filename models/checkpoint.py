"""Weights on disk: what `train.py` saves (.npz), and what it starts from (.npz, or a .gguf of this folder)."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import jax.numpy as jnp
import numpy as np

from model import Config, Params

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


def save(path: Path, params: Params, config: Config, legs: list[dict]) -> None:
    meta = json.dumps({"config": config.as_dict(), "training": legs})
    temporary = path.with_suffix(".partial.npz")
    np.savez(temporary, meta=np.array(meta), **{name: np.asarray(value) for name, value in params.items()})
    temporary.replace(path)


def load(path: Path) -> tuple[Params, Config, list[dict]]:
    """Weights, their shape, and what trained them, one leg after the other."""
    return _load_gguf(path) if path.suffix == ".gguf" else _load_npz(path)


def _load_npz(path: Path) -> tuple[Params, Config, list[dict]]:
    with np.load(path) as stored:
        meta = json.loads(str(stored["meta"]))
        params = {name: jnp.asarray(stored[name]) for name in stored.files if name != "meta"}
    return params, Config(**meta["config"]), meta["training"]


def _load_gguf(path: Path) -> tuple[Params, Config, list[dict]]:
    """The weights as the file has them, rounded to eight bits."""
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("tokenizer.")}
    tensors = {one.name: gguf.quants.dequantize(one.data, one.tensor_type) for one in reader.tensors}
    embedding = tensors["token_embd.weight"]
    config = Config(
        len(embedding), fields["llama.embedding_length"], fields["llama.block_count"],
        fields["llama.attention.head_count"], fields["llama.feed_forward_length"],
    )  # fmt: skip
    params = {"embedding": embedding, "output_norm": tensors["output_norm.weight"]}
    for name, short in LAYER_NAMES.items():
        stacked = np.stack([tensors[f"blk.{layer}.{short}.weight"] for layer in range(config.layers)])
        params[name] = stacked if stacked.ndim == 2 else stacked.swapaxes(1, 2)  # ours are [layer, in, out]
    legs = json.loads(fields.get("conclave.training", "[]"))
    return {name: jnp.asarray(np.ascontiguousarray(value)) for name, value in params.items()}, config, legs


def without_layers(params: Params, config: Config, gone: list[int]) -> tuple[Params, Config]:
    """A smaller model to start from: it must learn what the missing layers did, so it makes other mistakes."""
    kept = jnp.asarray([layer for layer in range(config.layers) if layer not in gone])
    fewer = {
        name: value if name in ("embedding", "output_norm") else value[kept] for name, value in params.items()
    }
    return fewer, Config(**(config.as_dict() | {"layers": len(kept)}))
