import type { Mutant } from "./mutant.ts";
import { payMutants } from "./mutants-pay.ts";
import { protocolMutants } from "./mutants-protocols.ts";
import { sourceMutants } from "./mutants-sources.ts";

const CERTIFY = "agents/core/seat/certify/certify.ts";
const RULES = "agents/core/seat/certify/rules.ts";
const VOTES = "agents/core/seat/certify/votes.ts";
/** Faults that cause many ballots with few messages each. */
const ROUGH = "--faults storm --byzantine-kinds double-voter";
/** Byzantine seats that send two messages for one slot. */
const FORKING = "--byzantine-kinds equivocating,twin,forking-gossiper";

/**
 * Planted faults: each switches one safety rule off. A new one needs a text that occurs once in the file, its
 * replacement, arguments under which `npm run sim -- --mutant ID` notices, and the checkers that must notice. Bugs of
 * single protocols stand in mutants-protocols.ts, those of pay and skill in mutants-pay.ts, those of sources in
 * mutants-sources.ts.
 */
export const mutants: readonly Mutant[] = [
  {
    id: "CE4-attempt",
    bug: "roots of another attempt, version or question are accepted",
    file: "agents/core/encoding/transcript.ts",
    find: "return found !== undefined && compareBytes(found, encodeBlock(value)) === 0;",
    replace: "return found !== undefined;",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds censoring-proposer",
    expect: ["replay"],
  },
  {
    id: "CE4-order",
    bug: "roots that list messages out of order are accepted",
    file: "agents/core/encoding/transcript.ts",
    find: "previous !== null && compareMessages(previous, message) >= 0",
    replace: "previous !== null && compareMessages(previous, message) > 9",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds censoring-proposer",
    seed: 343,
    expect: ["replay"],
  },
  {
    id: "CE5",
    bug: "a fresh root that lacks messages held in time is voted for",
    file: RULES,
    find: "if (omitted.length === 0) return prevote(state, root);",
    replace: "if (omitted.length >= 0) return prevote(state, root);",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds censoring-proposer",
    expect: ["omission"],
  },
  {
    id: "CE7-lock",
    bug: "a locked seat votes for other fresh roots",
    file: RULES,
    find: "if (state.locked !== null && state.locked.root !== root) return prevote(state, null);",
    replace: "",
    sim: `--protocol mbft --n 4 --byzantine 1 ${ROUGH}`,
    seed: 523,
    expect: ["agreement", "certificate-uniqueness"],
  },
  {
    id: "CE8-double",
    bug: "who voted twice counts for the vote that is held only",
    file: VOTES,
    find: "return votes.length > 1 || votes.some(",
    replace: "return votes.slice(0, 1).some(",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds equivocating,twin,forking-gossiper",
    seed: 818,
    expect: ["termination"],
  },
  {
    id: "CE8-evidence",
    bug: "equivocations in certify phases yield no evidence",
    file: CERTIFY,
    find: `const effects: Effect[] = added.kind === "equivocation" ? [{ kind: "evidence", evidence: added.evidence }] : [];`,
    replace: "const effects: Effect[] = [];",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds equivocating,twin,forking-gossiper",
    expect: ["accountability"],
  },
  {
    id: "CE11-durable",
    bug: "a seat acts on inputs before they are durable",
    file: "agents/node/seat/session.ts",
    find: "if (!(await this.journalled(batch.flatMap(({ records }) => records)))) return;",
    replace: "void this.journalled(batch.flatMap(({ records }) => records));",
    sim: "--protocol mbft --n 4 --byzantine 0 --faults crash",
    expect: ["no-honest-slash"],
  },
  {
    id: "CE12",
    bug: "a certified seat falls silent without handing on its certificate",
    file: RULES,
    find: `{ kind: "send", phase: CERTIFICATE, round: decision.round, payload },`,
    replace: "",
    sim: "--protocol mbft --n 4 --byzantine 1",
    expect: ["termination"],
  },
  {
    id: "QUORUM",
    bug: "more than half of the seats pass for more than 2/3",
    file: "agents/core/quorum.ts",
    find: "return exceeds(weight, total, 2, 3);",
    replace: "return exceeds(weight, total, 1, 2);",
    sim: `--protocol mbft --n 7 --byzantine 2 ${ROUGH}`,
    expect: ["agreement", "certificate-uniqueness", "validity"],
  },
  {
    id: "CE6",
    bug: "a root is voted for again without a quorum of prevotes behind it",
    file: RULES,
    find: "else if (isPolka(state.votes, context.attempt, validBallot, root))",
    replace: "else if (validBallot < state.ballot)",
    sim: `--protocol mbft --n 4 --byzantine 1 ${ROUGH}`,
    seed: 129,
    expect: ["omission", "agreement", "certificate-uniqueness"],
  },
  {
    id: "CE7-valid",
    bug: "a proposer proposes something new in the place of what is valid",
    file: "agents/core/seat/certify/proposals.ts",
    find: "if (state.valid !== null) {",
    replace: "if (state.valid !== null && state.ballot < 0) {",
    sim: `--protocol mbft --n 4 --byzantine 1 ${ROUGH}`,
    seed: 65,
    expect: ["termination"],
  },
  {
    id: "CE12-signatures",
    bug: "signatures of decisions count unread",
    file: "agents/core/seat/certify/signatures.ts",
    find: "if (decision === null || signer === null || signer !== context.attempt.committee[signed.seat]?.signer) break;",
    replace: "if (decision === null) break;",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds equivocating",
    expect: ["certificate-uniqueness"],
  },
  {
    id: "TR3-forged",
    bug: "messages count whoever signed them",
    file: "agents/node/seat/ingress.ts",
    find: "if (forged !== null) return blame(from, forged, frame.length, { seat });",
    replace: "",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds malformed",
    expect: ["no-honest-slash"],
  },
  {
    id: "CE17",
    bug: "who leaves a round keeps the precommits that ended it",
    file: RULES,
    find: `effects: [{ kind: "forward", messages }] };`,
    replace: "effects: messages.flatMap(() => []) };",
    sim: "--protocol mbft --n 4 --byzantine 1 --faults storm --byzantine-kinds silent --kind boolean",
    expect: ["termination"],
  },
  {
    id: "PH2",
    bug: "of two messages in one slot the first counts",
    file: "agents/core/seat/tally.ts",
    find: 'return held.length > 1 ? "void" : held[0];',
    replace: "return held[0];",
    sim: `--protocol mbft --n 4 --byzantine 1 ${FORKING}`,
    expect: ["accountability"],
  },
  ...payMutants,
  ...protocolMutants,
  ...sourceMutants,
];
