import { isMapOf } from "../encoding/codec.ts";
import { listOf } from "../encoding/payload.ts";
import type { Origin } from "../prompts/prompt.ts";
import type { PayloadMap } from "../protocol.ts";
import type { Value } from "../types.ts";

/** PH12: what made the answers behind a message. It is signed with the message for people to read; no rule reads it. */

/** The most engines that one message may rest on, and the most answers of each. */
const MAX_ENGINES = 4;
const MAX_SEEDS = 128;
const MAX_TEXT = 160;
const TEXT = /^[\x20-\x7e]{1,160}$/;
/** Suffix of the sampling if the engine took no seed; the seeds are then written as 0. */
const NO_SEED = " no-seed";

/** Makes an adapter's origin fit into a message. */
export function tidyOrigin({ model, engine, sampling, prompts, seed }: Origin): Origin {
  const tidy = (text: string): string => text.replace(/[^\x20-\x7e]+/g, "-").slice(0, MAX_TEXT) || "-";
  return {
    model: tidy(model),
    engine: tidy(engine),
    sampling: tidy(sampling),
    prompts: tidy(prompts),
    seed: seed === null ? null : seed >>> 0,
  };
}

/** Encodes one entry per engine, with the seeds of its answers in order; null without origins. */
export function encodeOrigins(origins: readonly Origin[]): Value {
  const engines: { model: string; engine: string; sampling: string; prompts: string; seeds: number[] }[] = [];
  for (const { model, engine, sampling: drawn, prompts, seed: given } of origins) {
    const sampling = given === null ? `${drawn.slice(0, MAX_TEXT - NO_SEED.length)}${NO_SEED}` : drawn;
    const seed = given ?? 0;
    const known = engines.find(
      (one) => one.model === model && one.engine === engine && one.sampling === sampling && one.prompts === prompts,
    );
    if (known === undefined) engines.push({ model, engine, sampling, prompts, seeds: [seed] });
    else if (known.seeds.length < MAX_SEEDS) known.seeds.push(seed);
  }
  return engines.length === 0 ? null : engines.slice(0, MAX_ENGINES);
}

/** Decodes strictly: no origins for a missing value, null for anything that `encodeOrigins` does not make. */
export function decodeOrigins(value: Value | undefined): readonly Origin[] | null {
  if (value === undefined) return [];
  const engines = listOf(value, MAX_ENGINES, decodeEngine);
  if (engines === null || engines.length === 0) return null;
  const names = engines.map(([one]) => JSON.stringify({ ...one, seed: one?.seed === null }));
  return new Set(names).size < names.length ? null : engines.flat();
}

function decodeEngine(value: Value): readonly Origin[] | null {
  if (!isMapOf(value, ["model", "engine", "prompts", "sampling", "seeds"])) return null;
  const { model, engine, sampling, prompts } = value;
  if (!isLabel(model) || !isLabel(engine) || !isLabel(sampling) || !isLabel(prompts)) return null;
  const seeds = listOf(value.seeds, MAX_SEEDS, (seed) => (isSeed(seed) ? seed : null));
  if (seeds === null || seeds.length === 0) return null;
  if (!sampling.endsWith(NO_SEED)) return seeds.map((seed) => ({ model, engine, sampling, prompts, seed }));
  const drawn = sampling.slice(0, -NO_SEED.length);
  if (drawn === "" || seeds.some((seed) => seed !== 0)) return null;
  return seeds.map(() => ({ model, engine, sampling: drawn, prompts, seed: null }));
}

export function withOrigins(payload: PayloadMap, origins: readonly Origin[]): PayloadMap {
  const made = encodeOrigins(origins);
  return made === null ? payload : { ...payload, made };
}

export function withoutOrigins(payload: PayloadMap): PayloadMap {
  if (!("made" in payload)) return payload;
  const { made: _, ...rest } = payload;
  return rest;
}

function isLabel(value: Value): value is string {
  return typeof value === "string" && TEXT.test(value);
}

function isSeed(value: Value): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
