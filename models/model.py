"""A llama-architecture transformer in plain JAX: RMSNorm, interleaved RoPE, SwiGLU, tied embeddings."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import jax
import jax.numpy as jnp
import numpy as np

Params = dict[str, jax.Array]


@dataclass(frozen=True)
class Config:
    vocabulary: int
    width: int = 192
    layers: int = 6
    heads: int = 4
    hidden: int = 512
    rope_base: float = 10000.0
    eps: float = 1e-5
    context: int = 1024

    def as_dict(self) -> dict:
        return asdict(self)


def initialise(config: Config, seed: int) -> Params:
    """Layer weights are stacked on a leading axis; every matrix is [layer, in, out]."""
    rng = np.random.default_rng(seed)
    d, f, n = config.width, config.hidden, config.layers

    def matrix(rows: int, columns: int, scale: float = 1.0) -> jax.Array:
        return jnp.asarray(rng.normal(0, scale * rows**-0.5, (n, rows, columns)), jnp.float32)

    residual = (2 * n) ** -0.5
    return {
        "embedding": jnp.asarray(rng.normal(0, 0.02, (config.vocabulary, d)), jnp.float32),
        "output_norm": jnp.ones(d),
        "attention_norm": jnp.ones((n, d)),
        "query": matrix(d, d),
        "key": matrix(d, d),
        "value": matrix(d, d),
        "attention_output": matrix(d, d, residual),
        "feed_norm": jnp.ones((n, d)),
        "gate": matrix(d, f),
        "up": matrix(d, f),
        "down": matrix(f, d, residual),
    }


def count(params: Params) -> int:
    return sum(int(value.size) for value in params.values())


def _norm(x: jax.Array, weight: jax.Array, eps: float) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def _rotate(x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
    """RoPE on adjacent pairs, as llama.cpp does for this architecture. x: [length, heads, head]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


# Products and attention with hand-written gradients: mathematically the plain ones, but with operands kept apart by
# barriers, because XLA's CPU backend otherwise fuses them into loops that are two to three times slower.

_apart = jax.lax.optimization_barrier


@jax.custom_vjp
def _product(x: jax.Array, weight: jax.Array) -> jax.Array:
    return x @ weight


def _product_forward(x: jax.Array, weight: jax.Array):
    return x @ weight, (x, weight)


def _product_backward(kept, gradient: jax.Array):
    x, weight = kept
    gradient = _apart(gradient)
    return gradient @ weight.T, x.T @ gradient


_product.defvjp(_product_forward, _product_backward)


@jax.custom_vjp
def _attend(q: jax.Array, k: jax.Array, v: jax.Array, bias: jax.Array) -> jax.Array:
    return _attend_forward(q, k, v, bias)[0]


def _attend_forward(q: jax.Array, k: jax.Array, v: jax.Array, bias: jax.Array):
    scores = q @ _apart(k.swapaxes(-1, -2)) * q.shape[-1] ** -0.5
    shares = _apart(jax.nn.softmax(scores + bias, axis=-1))
    return shares @ v, (q, k, v, bias, shares)


def _attend_backward(kept, gradient: jax.Array):
    q, k, v, bias, shares = kept
    gradient = _apart(gradient)
    dv = _apart(shares.swapaxes(-1, -2)) @ gradient
    d_shares = _apart(gradient @ _apart(v.swapaxes(-1, -2)))
    inner = jnp.sum(d_shares * shares, axis=-1, keepdims=True)
    d_scores = _apart(shares * (d_shares - inner) * q.shape[-1] ** -0.5)
    return d_scores @ k, _apart(d_scores.swapaxes(-1, -2)) @ q, dv, jnp.zeros_like(bias)


_attend.defvjp(_attend_forward, _attend_backward)


def _attention(config: Config, q: jax.Array, k: jax.Array, v: jax.Array, bias: jax.Array) -> jax.Array:
    """q, k, v: [batch, length, width]; bias: [batch, 1, length, length]. One row at a time, which keeps the scores in
    the CPU's cache; all rows at once on other devices."""
    length, head = q.shape[1], config.width // config.heads
    angles = jnp.arange(length)[:, None] * config.rope_base ** (-jnp.arange(0, head, 2) / head)[None, :]
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]

    def one(row: tuple[jax.Array, ...]) -> jax.Array:
        a, b, c = (x.reshape(length, config.heads, head) for x in row[:3])
        a, b = _rotate(a, cos, sin), _rotate(b, cos, sin)
        mixed = _attend(a.swapaxes(0, 1), b.swapaxes(0, 1), c.swapaxes(0, 1), row[3])
        return mixed.swapaxes(0, 1).reshape(length, config.width)

    rows = jax.lax.map if jax.default_backend() == "cpu" else lambda f, x: jax.vmap(f)(x)
    return rows(one, (q, k, v, bias))


def logits(params: Params, config: Config, tokens: jax.Array, segments: jax.Array) -> jax.Array:
    """[batch, length] token and segment ids -> [batch, length, vocabulary]. A token sees its own segment only."""
    batch, length = tokens.shape
    causal = jnp.tril(jnp.ones((length, length), bool))
    allowed = causal[None] & (segments[:, :, None] == segments[:, None, :])
    bias = jnp.where(allowed, 0.0, -1e9)[:, None]

    # [batch * length, width]: XLA's CPU backend is several times slower on gradients of three-dimensional products.
    x = params["embedding"][tokens.reshape(-1)]
    for i in range(config.layers):
        y = _norm(x, params["attention_norm"][i], config.eps)
        heads_in = (_product(y, params[name][i]).reshape(batch, length, -1) for name in ("query", "key", "value"))
        mixed = _attention(config, *heads_in, bias).reshape(batch * length, -1)
        x = x + _product(mixed, params["attention_output"][i])
        y = _norm(x, params["feed_norm"][i], config.eps)
        hidden = jax.nn.silu(_product(y, params["gate"][i])) * _product(y, params["up"][i])
        x = x + _product(hidden, params["down"][i])
    scores = _product(_norm(x, params["output_norm"], config.eps), params["embedding"].T)
    return scores.reshape(batch, length, config.vocabulary)
