import { isMapOf } from "../../encoding/codec.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { asDigest } from "../../encoding/payload.ts";
import type { Form } from "../../phases/round-book.ts";
import { scoreForm } from "../../phases/scores.ts";
import type { Digest } from "../../types.ts";

/** The phases after COMMIT and REVEAL: SCORE in view 0 only, the others in every view. */
export const SCORE = 20;
export const LEAD = 30;
export const PREPARE = 31;
export const FINAL = 32;

/** A reveal, by its payload digest, that is proposed or voted for; null = none. */
export interface Choice {
  readonly target: Digest | null;
}

export const scoresForm = scoreForm(SCORE);
export const leadForm = choiceForm("lead", LEAD);
export const prepareForm = choiceForm("prepare", PREPARE);
export const finalForm = choiceForm("final", FINAL);

function choiceForm(name: string, phase: number): Form<Choice> {
  return {
    name,
    phase,
    encode: ({ target }) => ({ target: target === null ? null : hexToBytes(target) }),
    decode: (_, value) => {
      if (!isMapOf(value, ["target"])) return null;
      if (value["target"] === null) return { target: null };
      const target = asDigest(value["target"]);
      return target === null ? null : { target };
    },
  };
}
