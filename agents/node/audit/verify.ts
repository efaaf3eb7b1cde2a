import { bytesToHex } from "../../core/encoding/bytes.ts";
import { replay } from "../../core/encoding/transcript.ts";
import { encodeReputationChanges, encodeShares } from "../../core/encoding/words.ts";
import type { Decision, Outcome } from "../../core/types.ts";
import { checkCertificate } from "./certificate.ts";
import { checkMessages } from "./messages.ts";
import { Failed, report, type Audit, type VerifyOptions, type VerifyReport } from "./report.ts";
import { checkRoot } from "./root.ts";
import { standingAttempt } from "./standing-decision.ts";

/**
 * Proves a decision from the chain and the transcript alone. It checks every hash and signature, then replays the
 * protocol, which must yield exactly what the chain holds. Throws REQUEST_UNKNOWN, CHAIN_* and NETWORK_FAILED, which
 * are no verdict.
 */
export async function verifyRequest(options: VerifyOptions): Promise<VerifyReport> {
  const audit: Audit = {
    options,
    decision: null,
    refused: null,
    messages: 0,
    rounds: 0,
    certificateSignatures: 0,
    blocks: 0,
    messageSignatures: 0,
  };
  try {
    await run(audit);
    return report(audit, null);
  } catch (error) {
    if (error instanceof Failed) return report(audit, error);
    throw error;
  }
}

async function run(audit: Audit): Promise<void> {
  const { options } = audit;
  const { chain, requestId, signal } = options;
  const { attempt, protocol, committed } = standingAttempt(chain.domain, await chain.requestEvents(requestId, signal));
  audit.decision = committed.decision;
  audit.refused = protocol.refuseRequest(attempt);
  options.onProgress?.("chain", 1, 1);
  await checkCertificate(audit, attempt, committed);
  const digests = await checkRoot(audit, attempt, protocol, committed.decision.transcript);
  const messages = await checkMessages(audit, attempt, digests);
  if (options.replays === false) throw new Failed("replay", "the protocol was not run again", null, "unavailable");
  const replayed = replay(attempt, protocol, committed.decision.transcript, messages);
  if (replayed.kind === "failed") throw new Failed("replay", replayed.reason, replayed.block);
  audit.rounds = replayed.conclusion.through.round + 1;
  options.onProgress?.("replay", 1, 1);
  const differences = differencesOf(replayed.conclusion.outcome, committed.decision);
  if (differences.length > 0) throw new Failed("decision", `the transcript yields ${differences.join(", ")}`);
  options.onProgress?.("decision", 1, 1);
}

function differencesOf(yielded: Outcome, committed: Decision): readonly string[] {
  const pairs: readonly (readonly [name: string, yielded: string, committed: string])[] = [
    ["status", yielded.status, committed.status],
    ["outcome", yielded.outcome, committed.outcome],
    ["answer", JSON.stringify(yielded.answer), JSON.stringify(committed.answer)],
    ["confidence", String(yielded.confidence), String(committed.confidence)],
    [
      "reputation changes",
      bytesToHex(encodeReputationChanges(yielded.reputationChanges)),
      bytesToHex(encodeReputationChanges(committed.reputationChanges)),
    ],
    ["shares", bytesToHex(encodeShares(yielded.shares)), bytesToHex(encodeShares(committed.shares))],
    ["answered", yielded.answered.join(), committed.answered.join()],
    ["agreed", yielded.agreed.join(), committed.agreed.join()],
  ];
  return pairs
    .filter(([, mine, theirs]) => mine !== theirs)
    .map(([name, mine, theirs]) => `${name} ${mine} where the chain has ${theirs}`);
}
