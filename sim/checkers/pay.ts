import { bytesToHex, encodeRequestId } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { ABSENT, type Message, type SeatIndex, type Value } from "../../agents/core/types.ts";
import { agrees } from "../plan.ts";
import { honestSeats, type Trace } from "../trace.ts";
import { fieldsOf, firstCertificate, transcribed } from "./transcript.ts";

const COMMIT = 1;
const REVEAL = 2;
const DRAFT = 10;
const TOP_TIER = 900_000;
const [FLAT, SAFE, SURE] = [1, 30, 240];

/**
 * SI11: all certificates state the same shares and changes. Who is paid answered blind, as the raw messages of the certified transcript
 * show: it bound itself to an answer of the first round, or wrote the first draft (PY7). If one can tell by the answer alone, it is the
 * decided one, and paid by its tier (PY3). A Hung attempt pays alike (PY6). Who said nothing, and nobody else, is absent (PY9).
 */
export function checkPay(trace: Trace): readonly string[] {
  const certificate = firstCertificate(trace);
  const messages = transcribed(trace);
  if (certificate === null || messages === null) return [];
  const { decision } = certificate;
  const { terms } = trace.attempt.request;
  const differing = honestSeats(trace).flatMap(({ seat, certificates }) =>
    certificates
      .filter(({ certificate: other }) => paidBy(other.decision) !== paidBy(decision))
      .map(() => `seat ${seat} holds other shares or reputation changes`),
  );
  const unearned = decision.shares.flatMap((share, seat): readonly string[] => {
    const isSilent = !messages.some(({ header }) => header.seat === seat);
    // Nobody is asked anything in a refused attempt.
    if (isSilent !== (share === ABSENT) && messages.length > 0)
      return [`seat ${seat} ${isSilent ? "said nothing" : "spoke"}, and its share is ${share}`];
    if (share === 0 || share === ABSENT) return [];
    const answered = blindAnswer(trace, messages, seat as SeatIndex);
    if (answered === null) return [`seat ${seat} is paid and answered nothing blind`];
    if (decision.status === "hung") return share === FLAT ? [] : [`seat ${seat} is paid ${share} for a Hung attempt`];
    if (terms.kind === "text" || terms.kind === "policies") return [];
    const { answer, tier } = answered;
    if (typeof answer !== "string" || !agrees(terms, answer, decision.answer))
      return [`seat ${seat} is paid and answered ${JSON.stringify(answer)}, not ${JSON.stringify(decision.answer)}`];
    return share === (tier === TOP_TIER ? SURE : SAFE)
      ? []
      : [`seat ${seat} is paid ${share} for tier ${JSON.stringify(tier)}`];
  });
  return [...differing, ...unearned];
}

function paidBy({
  shares,
  reputationChanges,
}: {
  readonly shares: unknown;
  readonly reputationChanges: unknown;
}): string {
  return JSON.stringify([shares, reputationChanges]);
}

type Fields = ReturnType<typeof fieldsOf>;

/** What a seat bound itself to before it could see others' answers; null if nothing. */
function blindAnswer({ protocol }: Trace, messages: readonly Message[], seat: SeatIndex): Fields | null {
  if (protocol.id === "adversarial") {
    const draft = messages.find(({ header, payload }) => header.phase === DRAFT && proposalIn(payload) !== null);
    return draft?.header.seat === seat ? proposalIn(draft.payload) : null;
  }
  const own = messages.filter(({ header }) => header.seat === seat);
  if (protocol.id === "hashgraph") {
    const recorded = (stage: number) =>
      own.map(({ payload }) => fieldsOf(fieldsOf(payload)["record"])).find((record) => record["stage"] === stage);
    return opened(own[0], 0, recorded(0)?.["body"], recorded(1)?.["body"]);
  }
  const first = Math.min(...messages.filter(({ header }) => header.phase === COMMIT).map(({ header }) => header.round));
  const said = (phase: number) => own.find(({ header }) => header.phase === phase && header.round === first)?.payload;
  return opened(own[0], first, said(COMMIT), said(REVEAL));
}

function proposalIn(payload: Value | undefined): Fields | null {
  const proposal = fieldsOf(payload)["proposal"];
  return proposal === null || proposal === undefined ? null : fieldsOf(proposal);
}

/** The revealed answer, if it opens the commitment (PH1). */
function opened(
  message: Message | undefined,
  round: number,
  commit: Value | undefined,
  reveal: Value | undefined,
): Fields | null {
  const [commitment, proposal] = [fieldsOf(commit)["commitment"], proposalIn(reveal)];
  if (message === undefined || proposal === null || !(commitment instanceof Uint8Array)) return null;
  const { seat, attempt } = message.header;
  const { answer = null, proof = null, tier = null, salt = null } = proposal;
  const requestId = encodeRequestId(message.header.requestId);
  const opening = digestOf({ requestId, attempt, round, seat, answer, proof, tier, salt });
  return bytesToHex(commitment) === opening ? proposal : null;
}
