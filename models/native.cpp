// The training step of models/train.py for CPUs with AVX2: forward, backward and Muon. Products are of bfloat16 with 32-bit sums
// where the CPU has AVX512-BF16, else of 32-bit numbers. Examples lie one after the other without padding, and each attends to itself only. One call runs on one thread.
// Weights are as in model.py: [layer, in, out], stacked.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Floats = std::vector<float>;
#ifdef __AVX512BF16__

using Pairs = std::vector<uint32_t>;  // two bfloat16 that are neighbours along the summed axis

uint32_t half(float value) {  // to nearest, ties to even
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

constexpr int kRows = 12, kColumns = 32;

/** C[R, 32] = or += A[R, 2k] B[2k, 32]. A pair of row r and step s is at a[r * rs + s * cs]. */
template <int R>
void tile(long k, const uint32_t* a, long rs, long cs, const uint32_t* b, float* c, long ldc, __mmask16 left, __mmask16 right, bool add) {
  __m512 sums[R][2];
  for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  const uint32_t* rows[4] = {a, a + 3 * rs, a + 6 * rs, a + 9 * rs};
  for (long s = 0; s < k; ++s) {
    const __m512bh b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 16);
    b += kColumns;
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const __m512bh x = (__m512bh)_mm512_set1_epi32((int)rows[r / 3][(r % 3) * rs]);
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], x, b0);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], x, b1);
    }
    for (int i = 0; i < 4; ++i) rows[i] += cs;
  }
  for (int r = 0; r < R; ++r) {
    float* out = c + r * ldc;
    if (add) {
      sums[r][0] = _mm512_add_ps(sums[r][0], _mm512_maskz_loadu_ps(left, out));
      sums[r][1] = _mm512_add_ps(sums[r][1], _mm512_maskz_loadu_ps(right, out + 16));
    }
    _mm512_mask_storeu_ps(out, left, sums[r][0]);
    _mm512_mask_storeu_ps(out + 16, right, sums[r][1]);
  }
}

using Tile = void (*)(long, const uint32_t*, long, long, const uint32_t*, float*, long, __mmask16, __mmask16, bool);
constexpr Tile kTiles[kRows + 1] = {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>, tile<7>, tile<8>, tile<9>, tile<10>, tile<11>, tile<12>};

thread_local Pairs left_pairs, right_pairs;

/** out[i, n] = (x[2i, n], x[2i + 1, n]), a missing last row being zero. */
void pair_rows(long k, long n, const float* x, long ld, uint32_t* out, long out_ld) {
  for (long i = 0; i < (k + 1) / 2; ++i) {
    const float *low = x + 2 * i * ld, *high = low + ld;
    uint32_t* to = out + i * out_ld;
    if (2 * i + 1 < k) {
      for (long j = 0; j < n; ++j) to[j] = half(low[j]) | half(high[j]) << 16;
    } else {
      for (long j = 0; j < n; ++j) to[j] = half(low[j]);
    }
  }
}

/** C[m, n] = or += A B, where A is [m, k], or [k, m] if `at`, and B is [k, n], or [n, k] if `bt`. */
void product(bool at, bool bt, long m, long n, long k, const float* a, long lda, const float* b, long ldb, float* c, long ldc, bool add) {
  const long pairs = (k + 1) / 2, panels = (n + kColumns - 1) / kColumns;
  left_pairs.resize(std::max<size_t>(left_pairs.size(), m * pairs));
  right_pairs.resize(std::max<size_t>(right_pairs.size(), panels * pairs * kColumns));
  uint32_t *pa = left_pairs.data(), *pb = right_pairs.data();
  if (at) {
    pair_rows(k, m, a, lda, pa, m);
  } else {
    for (long i = 0; i < m; ++i) {
      uint16_t* to = (uint16_t*)(pa + i * pairs);
      const float* from = a + i * lda;
      for (long j = 0; j < k; ++j) to[j] = (uint16_t)half(from[j]);
      if (k % 2) to[k] = 0;
    }
  }
  for (long p = 0; p < panels; ++p) {
    uint32_t* to = pb + p * pairs * kColumns;
    const long width = std::min<long>(kColumns, n - p * kColumns);
    if (!bt) {
      pair_rows(k, width, b + p * kColumns, ldb, to, kColumns);
    } else {
      for (long j = 0; j < width; ++j) {
        const float* from = b + (p * kColumns + j) * ldb;
        for (long s = 0; s < k / 2; ++s) to[s * kColumns + j] = half(from[2 * s]) | half(from[2 * s + 1]) << 16;
        if (k % 2) to[(k / 2) * kColumns + j] = half(from[k - 1]);
      }
    }
  }
  const long rs = at ? 1 : pairs, cs = at ? m : 1;
  for (long p = 0; p < panels; ++p) {
    const long width = std::min<long>(kColumns, n - p * kColumns);
    const auto left = (__mmask16)((1u << std::min<long>(16, width)) - 1);
    const auto right = (__mmask16)((1u << std::max<long>(0, width - 16)) - 1);
    for (long i = 0; i < m; i += kRows) {
      const long rows = std::min<long>(kRows, m - i);
      kTiles[rows](pairs, pa + i * rs, rs, cs, pb + p * pairs * kColumns, c + i * ldc + p * kColumns, ldc, left, right, add);
    }
  }
}

#else

constexpr int kRows = 6, kColumns = 16;
constexpr long kDepth = 512;  // of the summed axis at once: a panel of B stays in the nearest cache

/** C[R, columns] = or += A[R, k] B[k, 16]. A number of row r and step s is at a[r * rs + s * cs]. */
template <int R>
void tile(long k, const float* a, long rs, long cs, const float* b, float* c, long ldc, int columns, bool add) {
  __m256 sums[R][2];  // in registers, if all loops over it are unrolled
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_ps();
  for (long s = 0; s < k; ++s) {
    const __m256 b0 = _mm256_loadu_ps(b + s * kColumns), b1 = _mm256_loadu_ps(b + s * kColumns + 8);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const __m256 x = _mm256_broadcast_ss(a + r * rs + s * cs);
      sums[r][0] = _mm256_fmadd_ps(x, b0, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(x, b1, sums[r][1]);
    }
  }
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), limit = _mm256_set1_epi32(columns);
  const __m256i masks[2] = {_mm256_cmpgt_epi32(limit, places), _mm256_cmpgt_epi32(limit, _mm256_add_epi32(places, _mm256_set1_epi32(8)))};
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      float* out = c + r * ldc + 8 * h;
      if (add) sums[r][h] = _mm256_add_ps(sums[r][h], _mm256_maskload_ps(out, masks[h]));
      _mm256_maskstore_ps(out, masks[h], sums[r][h]);
    }
  }
}

using Tile = void (*)(long, const float*, long, long, const float*, float*, long, int, bool);
constexpr Tile kTiles[kRows + 1] = {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>};

thread_local Floats panel;

/** C[m, n] = or += A B, where A is [m, k], or [k, m] if `at`, and B is [k, n], or [n, k] if `bt`. */
void product(bool at, bool bt, long m, long n, long k, const float* a, long lda, const float* b, long ldb, float* c, long ldc, bool add) {
  const long rs = at ? 1 : lda, cs = at ? lda : 1;
  panel.resize(kDepth * kColumns);
  for (long first = 0; first < k; first += kDepth) {
    const long depth = std::min(kDepth, k - first);
    for (long j = 0; j < n; j += kColumns) {
      const long width = std::min<long>(kColumns, n - j);
      if (bt) {
        for (long w = 0; w < width; ++w)
          for (long s = 0; s < depth; ++s) panel[s * kColumns + w] = b[(j + w) * ldb + first + s];
      } else {
        for (long s = 0; s < depth; ++s) std::copy_n(b + (first + s) * ldb + j, width, panel.data() + s * kColumns);
      }
      for (long i = 0; i < m; i += kRows) {
        const long rows = std::min<long>(kRows, m - i);
        kTiles[rows](depth, a + i * rs + first * cs, rs, cs, panel.data(), c + i * ldc + j, ldc, (int)width, add || first > 0);
      }
    }
  }
}

#endif

struct Shape {
  int vocabulary, width, layers, heads, hidden;
  float rope_base, eps;
};

/** In the order of `NAMES` in native.py. */
struct Weights {
  float *embedding, *output_norm, *attention_norm, *query, *key, *value, *attention_output, *feed_norm, *gate, *up, *down;
};

struct Kept {  // of one layer, for the way back
  Floats x, y, q, k, v, mixed, sums, middle, y2, gate, up;
};

struct Run {
  Shape shape;
  long tokens, examples;
  const int* starts;  // [examples + 1]
  std::vector<Kept>& kept;
  Floats cosines, sines;  // [longest, head / 2]
};

/** Buffers outlive a call: fresh memory costs a fault for every page. Their old contents are never read. */
thread_local std::vector<Kept> kept_buffers;
thread_local Floats buffers[9];

float* room(int which, size_t size) {
  if (buffers[which].size() < size) buffers[which].resize(size);
  return buffers[which].data();
}

void fit(Floats& one, size_t size) {
  if (one.size() < size) one.resize(size);
}

void norm(const Shape& s, long n, const float* x, const float* weight, float* y) {
  for (long i = 0; i < n; ++i) {
    const float* row = x + i * s.width;
    float sum = 0;
    for (int j = 0; j < s.width; ++j) sum += row[j] * row[j];
    const float scale = 1 / std::sqrt(sum / s.width + s.eps);
    for (int j = 0; j < s.width; ++j) y[i * s.width + j] = row[j] * scale * weight[j];
  }
}

/** Adds to dx and to the weight's gradient. */
void norm_back(const Shape& s, long n, const float* x, const float* weight, const float* dy, float* dx, float* d_weight) {
  for (long i = 0; i < n; ++i) {
    const float *row = x + i * s.width, *d = dy + i * s.width;
    float sum = 0, dot = 0;
    for (int j = 0; j < s.width; ++j) sum += row[j] * row[j];
    for (int j = 0; j < s.width; ++j) dot += row[j] * d[j] * weight[j];
    const float scale = 1 / std::sqrt(sum / s.width + s.eps), pull = dot * scale * scale * scale / s.width;
    for (int j = 0; j < s.width; ++j) {
      d_weight[j] += d[j] * row[j] * scale;
      dx[i * s.width + j] += d[j] * weight[j] * scale - row[j] * pull;
    }
  }
}

/** RoPE on adjacent pairs, in place; `sign` -1 turns back. */
void rotate(const Run& run, float* x, float sign) {
  const int head = run.shape.width / run.shape.heads, pairs = head / 2;
  for (long e = 0; e < run.examples; ++e) {
    for (long t = run.starts[e]; t < run.starts[e + 1]; ++t) {
      const float *c = run.cosines.data() + (t - run.starts[e]) * pairs, *s = run.sines.data() + (t - run.starts[e]) * pairs;
      for (int h = 0; h < run.shape.heads; ++h) {
        float* at = x + t * run.shape.width + h * head;
        for (int i = 0; i < pairs; ++i) {
          const float even = at[2 * i], odd = at[2 * i + 1], sine = sign * s[i];
          at[2 * i] = even * c[i] - odd * sine;
          at[2 * i + 1] = even * sine + odd * c[i];
        }
      }
    }
  }
}

constexpr long kBlock = 72;  // queries that attention handles at once
thread_local Floats shares_buffer, slopes_buffer;

/** Rows first .. last of one head's softmax, each [last], into `shares`. With `given` the row sums are known. */
void attention_shares(const Run& run, const Kept& kept, long start, int h, long first, long last, float* sums, bool given, float* shares) {
  const int d = run.shape.width, head = d / run.shape.heads;
  const float scale = 1 / std::sqrt((float)head);
  const long at = start * d + h * head;
  product(false, true, last - first, last, head, kept.q.data() + at + first * d, d, kept.k.data() + at, d, shares, last, false);
  for (long i = first; i < last; ++i) {
    float* row = shares + (i - first) * last;
    float& log_sum = sums[(start + i) * run.shape.heads + h];
    if (!given) {
      float top = -1e30f, sum = 0;
      for (long j = 0; j <= i; ++j) top = std::max(top, row[j] * scale);
      for (long j = 0; j <= i; ++j) sum += std::exp(row[j] * scale - top);
      log_sum = top + std::log(sum);
    }
    for (long j = 0; j <= i; ++j) row[j] = std::exp(row[j] * scale - log_sum);
    std::fill(row + i + 1, row + last, 0.f);
  }
}

template <class Act>
void each_block(const Run& run, const Act& act) {
  for (long e = 0; e < run.examples; ++e) {
    const long start = run.starts[e], length = run.starts[e + 1] - start;
    for (int h = 0; h < run.shape.heads; ++h)
      for (long first = 0; first < length; first += kBlock) act(start, h, first, std::min(length, first + kBlock));
  }
}

void attend(const Run& run, Kept& kept) {
  const int d = run.shape.width, head = d / run.shape.heads;
  each_block(run, [&](long start, int h, long first, long last) {
    shares_buffer.resize(std::max<size_t>(shares_buffer.size(), kBlock * last));
    attention_shares(run, kept, start, h, first, last, kept.sums.data(), false, shares_buffer.data());
    const long at = start * d + h * head;
    product(false, false, last - first, head, last, shares_buffer.data(), last, kept.v.data() + at, d, kept.mixed.data() + at + first * d, d, false);
  });
}

/** dq, dk and dv start as zeros. */
void attend_back(const Run& run, Kept& kept, const float* d_mixed, float* dq, float* dk, float* dv) {
  const int d = run.shape.width, head = d / run.shape.heads;
  const float scale = 1 / std::sqrt((float)head);
  each_block(run, [&](long start, int h, long first, long last) {
    const long at = start * d + h * head, rows = last - first;
    shares_buffer.resize(std::max<size_t>(shares_buffer.size(), kBlock * last));
    slopes_buffer.resize(std::max<size_t>(slopes_buffer.size(), kBlock * last));
    float *shares = shares_buffer.data(), *slopes = slopes_buffer.data();
    attention_shares(run, kept, start, h, first, last, kept.sums.data(), true, shares);
    const float* given = d_mixed + at + first * d;
    product(true, false, last, head, rows, shares, last, given, d, dv + at, d, true);
    product(false, true, rows, last, head, given, d, kept.v.data() + at, d, slopes, last, false);
    for (long i = 0; i < rows; ++i) {
      float inner = 0;
      for (long j = 0; j < last; ++j) inner += slopes[i * last + j] * shares[i * last + j];
      for (long j = 0; j < last; ++j) slopes[i * last + j] = shares[i * last + j] * (slopes[i * last + j] - inner) * scale;
    }
    product(false, false, rows, head, last, slopes, last, kept.k.data() + at, d, dq + at + first * d, d, true);
    product(true, false, last, head, rows, slopes, last, kept.q.data() + at + first * d, d, dk + at, d, true);
  });
}

Run prepared(const Shape& shape, long examples, const int* starts) {
  kept_buffers.resize(shape.layers);
  Run run{shape, starts[examples], examples, starts, kept_buffers, {}, {}};
  const int pairs = shape.width / shape.heads / 2;
  long longest = 0;
  for (long e = 0; e < examples; ++e) longest = std::max<long>(longest, starts[e + 1] - starts[e]);
  for (long t = 0; t < longest; ++t) {
    for (int i = 0; i < pairs; ++i) {
      const double angle = t * std::pow((double)shape.rope_base, -(double)i / pairs);
      run.cosines.push_back((float)std::cos(angle));
      run.sines.push_back((float)std::sin(angle));
    }
  }
  return run;
}

/** The last hidden state, [tokens, width]. */
float* forward(Run& run, const Weights& w, const int* tokens) {
  const Shape& s = run.shape;
  const long n = run.tokens, d = s.width, f = s.hidden;
  float *x = room(0, n * d), *hidden = room(1, n * f);
  for (long t = 0; t < n; ++t) std::copy_n(w.embedding + tokens[t] * d, d, x + t * d);
  for (int l = 0; l < s.layers; ++l) {
    Kept& kept = run.kept[l];
    for (Floats* one : {&kept.y, &kept.q, &kept.k, &kept.v, &kept.mixed, &kept.y2, &kept.x, &kept.middle}) fit(*one, n * d);
    fit(kept.gate, n * f), fit(kept.up, n * f), fit(kept.sums, n * s.heads);
    std::copy_n(x, n * d, kept.x.data());
    norm(s, n, x, w.attention_norm + l * d, kept.y.data());
    const auto project = [&](const float* weight, Floats& to) { product(false, false, n, d, d, kept.y.data(), d, weight + l * d * d, d, to.data(), d, false); };
    project(w.query, kept.q), project(w.key, kept.k), project(w.value, kept.v);
    rotate(run, kept.q.data(), 1), rotate(run, kept.k.data(), 1);
    attend(run, kept);
    product(false, false, n, d, d, kept.mixed.data(), d, w.attention_output + l * d * d, d, x, d, true);
    std::copy_n(x, n * d, kept.middle.data());
    norm(s, n, x, w.feed_norm + l * d, kept.y2.data());
    product(false, false, n, f, d, kept.y2.data(), d, w.gate + l * d * f, f, kept.gate.data(), f, false);
    product(false, false, n, f, d, kept.y2.data(), d, w.up + l * d * f, f, kept.up.data(), f, false);
    for (long i = 0; i < n * f; ++i) hidden[i] = kept.gate[i] / (1 + std::exp(-kept.gate[i])) * kept.up[i];
    product(false, false, n, d, f, hidden, f, w.down + l * d * f, d, x, d, true);
  }
  return x;
}

void backward(Run& run, const Weights& w, const Weights& g, float* dx) {
  const Shape& s = run.shape;
  const long n = run.tokens, d = s.width, f = s.hidden;
  float *hidden = room(1, n * f), *d_hidden = room(2, n * f), *d_up = room(3, n * f), *dy = room(4, n * d);
  float *d_mixed = room(5, n * d), *dq = room(6, n * d), *dk = room(7, n * d), *dv = room(8, n * d);
  for (int l = s.layers - 1; l >= 0; --l) {
    Kept& kept = run.kept[l];
    const long square = l * d * d, wide = l * d * f;
    product(false, true, n, f, d, dx, d, w.down + wide, d, d_hidden, f, false);
    for (long i = 0; i < n * f; ++i) {
      const float gate = kept.gate[i], up = kept.up[i], given = d_hidden[i];
      const float sigmoid = 1 / (1 + std::exp(-gate)), silu = gate * sigmoid;
      hidden[i] = silu * up;
      d_up[i] = given * silu;
      d_hidden[i] = given * up * (sigmoid + silu * (1 - sigmoid));
    }
    product(true, false, f, d, n, hidden, f, dx, d, g.down + wide, d, true);
    product(true, false, d, f, n, kept.y2.data(), d, d_hidden, f, g.gate + wide, f, true);
    product(true, false, d, f, n, kept.y2.data(), d, d_up, f, g.up + wide, f, true);
    product(false, true, n, d, f, d_hidden, f, w.gate + wide, f, dy, d, false);
    product(false, true, n, d, f, d_up, f, w.up + wide, f, dy, d, true);
    norm_back(s, n, kept.middle.data(), w.feed_norm + l * d, dy, dx, g.feed_norm + l * d);

    product(true, false, d, d, n, kept.mixed.data(), d, dx, d, g.attention_output + square, d, true);
    product(false, true, n, d, d, dx, d, w.attention_output + square, d, d_mixed, d, false);
    for (float* one : {dq, dk, dv}) std::fill_n(one, n * d, 0.f);
    attend_back(run, kept, d_mixed, dq, dk, dv);
    rotate(run, dq, -1), rotate(run, dk, -1);
    bool add = false;
    const auto project_back = [&](const float* weight, float* d_weight, const float* given) {
      product(true, false, d, d, n, kept.y.data(), d, given, d, d_weight + square, d, true);
      product(false, true, n, d, d, given, d, weight + square, d, dy, d, add);
      add = true;
    };
    project_back(w.query, g.query, dq), project_back(w.key, g.key, dk), project_back(w.value, g.value, dv);
    norm_back(s, n, kept.x.data(), w.attention_norm + l * d, dy, dx, g.attention_norm + l * d);
  }
}

}  // namespace

extern "C" {

/**
 * Adds to the gradients that of sum(weight * lost) / scale, and returns this sum. Tokens whose weight is 0 are not predicted.
 * `best` receives the most probable next token of the others. Without gradients only `best` is made.
 */
double conclave_step(const Shape* shape, const Weights* w, const Weights* g, long examples, const int* starts, const int* tokens, const int* targets,
                     const float* weights, double scale, int* best) {
  Run run = prepared(*shape, examples, starts);
  const long n = run.tokens, d = shape->width, v = shape->vocabulary;
  const float* x = forward(run, *w, tokens);
  std::vector<long> asked;
  for (long t = 0; t < n; ++t)
    if (weights[t] > 0) asked.push_back(t);
  const long rows = (long)asked.size();
  Floats last(rows * d), states(rows * d), scores(rows * v);
  for (long i = 0; i < rows; ++i) std::copy_n(x + asked[i] * d, d, last.data() + i * d);
  norm(*shape, rows, last.data(), w->output_norm, states.data());
  product(false, true, rows, v, d, states.data(), d, w->embedding, d, scores.data(), v, false);
  double lost = 0;
  for (long i = 0; i < rows; ++i) {
    float* row = scores.data() + i * v;
    const long top = std::max_element(row, row + v) - row;
    best[asked[i]] = (int)top;
    if (g == nullptr) continue;
    const float highest = row[top], chosen = row[targets[asked[i]]];
    float sum = 0;
    for (long j = 0; j < v; ++j) sum += row[j] = std::exp(row[j] - highest);
    const float factor = (float)(weights[asked[i]] / scale);
    lost += (double)factor * (highest + std::log(sum) - chosen);
    for (long j = 0; j < v; ++j) row[j] *= factor / sum;
    row[targets[asked[i]]] -= factor;
  }
  if (g == nullptr) return lost;
  Floats d_states(rows * d), d_last(rows * d);
  float* dx = room(0, n * d);  // x is no longer needed
  std::fill_n(dx, n * d, 0.f);
  product(true, false, v, d, rows, scores.data(), v, states.data(), d, g->embedding, d, true);
  product(false, false, rows, d, v, scores.data(), v, w->embedding, d, d_states.data(), d, false);
  norm_back(*shape, rows, last.data(), w->output_norm, d_states.data(), d_last.data(), g->output_norm);
  for (long i = 0; i < rows; ++i) std::copy_n(d_last.data() + i * d, d, dx + asked[i] * d);
  backward(run, *w, *g, dx);
  for (long t = 0; t < n; ++t)
    for (long j = 0; j < d; ++j) g->embedding[tokens[t] * d + j] += dx[t * d + j];
  return lost;
}

/** Muon on one matrix [rows, columns], in place. */
void conclave_muon(long rows, long columns, float* weight, const float* gradient, float* momentum, float rate, float decay) {
  const long size = rows * columns, less = std::min(rows, columns), more = std::max(rows, columns);
  Floats x(size), next(size), a(less * less), b(less * less);
  double sum = 0;
  for (long i = 0; i < size; ++i) {
    momentum[i] = 0.95f * momentum[i] + gradient[i];
    x[i] = gradient[i] + 0.95f * momentum[i];
    sum += (double)x[i] * x[i];
  }
  const float scale = (float)(1 / (std::sqrt(sum) + 1e-7));
  for (float& one : x) one *= scale;
  const bool tall = rows > columns;
  for (int round = 0; round < 5; ++round) {
    // x xT of the wide form, which is xT x of the tall one.
    product(tall, !tall, less, less, more, x.data(), columns, x.data(), columns, a.data(), less, false);
    product(false, false, less, less, less, a.data(), less, a.data(), less, b.data(), less, false);
    for (long i = 0; i < less * less; ++i) b[i] = -4.7750f * a[i] + 2.0315f * b[i];
    if (tall) product(false, false, rows, columns, columns, x.data(), columns, b.data(), less, next.data(), columns, false);
    else product(false, false, rows, columns, rows, b.data(), less, x.data(), columns, next.data(), columns, false);
    for (long i = 0; i < size; ++i) x[i] = 3.4445f * x[i] + next[i];
  }
  const float pace = rate * std::sqrt(std::max(1.f, (float)columns / (float)rows));
  for (long i = 0; i < size; ++i) weight[i] = weight[i] * (1 - rate * decay) - pace * x[i];
}
}
