import { createHash } from "node:crypto";
import { simSigner } from "../../sim/signer.ts";
import { ONE_PPM } from "../../agents/core/types.ts";
import type { Address, AgentId, Assurance, Attempt, RequestId, Skill } from "../../agents/core/types.ts";
import type { Question } from "./question.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";

/** What is not the same for every attempt to decide a question. */
export interface AttemptPart {
  /** Skills of the seats; absent: 1 everywhere. */
  readonly skills?: readonly Skill[];
  /** The attempt's number; absent: the first. */
  readonly attempt?: number;
}

/** A question has one request id under every protocol, so that leaders, chairs and roles are drawn by the question. */
export function attemptFor(
  question: Question,
  protocol: number,
  seats: number,
  assurance: Assurance,
  { skills = [], attempt = 0 }: AttemptPart = {},
): Attempt {
  const id = createHash("sha256")
    .update(question.drawnBy ?? question.text)
    .digest()
    .readUInt32BE(0);
  return {
    domain: { chainId: 31_337, oracle: `0x${"0a".repeat(20)}` as Address },
    request: {
      id: BigInt(id) as RequestId,
      consumer: `0x${"0c".repeat(20)}` as Address,
      question: question.text,
      terms: defaultTerms({ fee: 1_000n, committeeSize: seats, assurance, protocol, ...question.form }),
    },
    attempt,
    committee: Array.from({ length: seats }, (_, seat) => ({
      agentId: (seat + 1) as AgentId,
      signer: simSigner(seat).address,
      reputation: ONE_PPM,
      skill: skills[seat] ?? 1,
    })),
  };
}
