import { isMapOf } from "../../encoding/codec.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { asDigest, hasTwice, listOf } from "../../encoding/payload.ts";
import type { Form } from "../../phases/round-book.ts";
import type { Attempt, Digest, SeatIndex, Value } from "../../types.ts";

/** The phase after VOTE. */
export const JUDGE = 11;

export interface Judgement {
  readonly author: SeatIndex;
  readonly target: Digest;
  readonly verdict: "uphold" | "refute" | "abstain";
}

export interface Judgements {
  readonly judgements: readonly Judgement[];
}

export const judgeForm: Form<Judgements> = {
  name: "judge",
  phase: JUDGE,
  encode: ({ judgements }) => ({
    judgements: judgements.map(({ author, target, verdict }) => ({ author, target: hexToBytes(target), verdict })),
  }),
  decode: (attempt, value) => {
    if (!isMapOf(value, ["judgements"])) return null;
    const decode = (entry: Value): Judgement | null => decodeJudgement(attempt, entry);
    const judgements = listOf(value["judgements"], limits.counterProofsPerRound, decode);
    return judgements === null || hasTwice(judgements, ({ author, target }) => `${author}.${target}`)
      ? null
      : { judgements };
  },
};

function decodeJudgement(attempt: Attempt, entry: Value): Judgement | null {
  if (!isMapOf(entry, ["author", "target", "verdict"])) return null;
  const { author, verdict } = entry;
  const target = asDigest(entry["target"]);
  if (target === null || typeof author !== "number" || author < 0 || author >= attempt.committee.length) return null;
  if (verdict !== "uphold" && verdict !== "refute" && verdict !== "abstain") return null;
  return { author: author as SeatIndex, target, verdict };
}
