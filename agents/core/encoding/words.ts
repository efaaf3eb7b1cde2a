import { ConclaveError } from "../errors.ts";
import { CURRENCIES } from "../types.ts";
import type {
  Address,
  AgentId,
  AnswerKind,
  Assurance,
  DecisionStatus,
  Outcome,
  Ppm,
  SeatIndex,
  SeatInfo,
  Terms,
} from "../types.ts";
import { uint } from "./bytes.ts";

type ReputationChanges = Outcome["reputationChanges"];

const ANSWER_KINDS: readonly AnswerKind[] = ["boolean", "choice", "number", "text", "policies"];
const ASSURANCES: readonly Assurance[] = ["normal", "high"];

/** `RequestTerms` of contracts/types/Types.sol, from the highest bit to the lowest. */
const TERMS_LAYOUT = [
  ["fee", 96n],
  ["duration", 32n],
  ["appeals", 4n],
  ["retries", 4n],
  ["tolerance", 40n],
  ["callbackGasLimit", 32n],
  ["committeeSize", 8n],
  ["assurance", 4n],
  ["currency", 4n],
  ["decimals", 8n],
  ["options", 8n],
  ["kind", 8n],
  ["protocol", 8n],
] as const;

/** Throws TERMS_INVALID, naming the field, when a value does not fit its bits. */
export function packTerms(terms: Terms): bigint {
  const fields = {
    ...terms,
    assurance: ASSURANCES.indexOf(terms.assurance),
    currency: CURRENCIES.indexOf(terms.currency),
    kind: ANSWER_KINDS.indexOf(terms.kind),
  };
  return TERMS_LAYOUT.reduce((packed, [name, bits]) => {
    const value = fields[name];
    const fits = typeof value === "bigint" || Number.isSafeInteger(value);
    if (!fits || BigInt(value) < 0n || BigInt(value) >= 1n << bits) {
      throw new ConclaveError(
        "TERMS_INVALID",
        `Pack request terms: ${name} = ${value} is not an unsigned integer of ${bits} bits`,
        {
          field: name,
          value: String(value),
        },
      );
    }
    return (packed << bits) | BigInt(value);
  }, 0n);
}

/** Null when the word is no uint256 or holds an unknown kind, assurance or currency. */
export function unpackTerms(packed: bigint): Terms | null {
  if (packed < 0n || packed >= 1n << 256n) return null;
  const fields: Record<string, bigint> = {};
  let rest = packed;
  for (const [name, bits] of TERMS_LAYOUT.toReversed()) {
    fields[name] = rest & ((1n << bits) - 1n);
    rest >>= bits;
  }
  const field = (name: (typeof TERMS_LAYOUT)[number][0]): bigint => fields[name] as bigint;
  const kind = ANSWER_KINDS[Number(field("kind"))];
  const assurance = ASSURANCES[Number(field("assurance"))];
  const currency = CURRENCIES[Number(field("currency"))];
  if (kind === undefined || assurance === undefined || currency === undefined) return null;
  return {
    fee: field("fee"),
    duration: Number(field("duration")),
    appeals: Number(field("appeals")),
    retries: Number(field("retries")),
    tolerance: field("tolerance"),
    callbackGasLimit: Number(field("callbackGasLimit")),
    committeeSize: Number(field("committeeSize")),
    assurance,
    currency,
    decimals: Number(field("decimals")),
    options: Number(field("options")),
    kind,
    protocol: Number(field("protocol")),
  };
}

/** agentId uint32 << 192 | reputation uint32 << 160 | signer. */
export function packSeat(seat: SeatInfo): bigint {
  return (uint(BigInt(seat.agentId), 32n) << 192n) | (uint(BigInt(seat.reputation), 32n) << 160n) | BigInt(seat.signer);
}

/** Null unless agent id and signer are not zero, the reputation is in (0, 1_000_000] and the upper bits are clear. */
export function unpackSeat(packed: bigint): SeatInfo | null {
  if (packed < 0n) return null;
  const agentId = packed >> 192n;
  const reputation = (packed >> 160n) & 0xffff_ffffn;
  const signer = packed & ((1n << 160n) - 1n);
  if (agentId === 0n || agentId > 0xffff_ffffn || reputation === 0n || reputation > 1_000_000n || signer === 0n)
    return null;
  return {
    agentId: Number(agentId) as AgentId,
    signer: `0x${signer.toString(16).padStart(40, "0")}` as Address,
    reputation: Number(reputation) as Ppm,
  };
}

/** The number of `Status` in contracts/types/Types.sol. */
export function statusCode(status: DecisionStatus): number {
  switch (status) {
    case "decided":
      return 3;
    case "hung":
      return 4;
  }
}

/** Pairs of bytes (seat, int8 steps). Throws unless seats ascend strictly and every step is in -128..-1 or +1. */
export function encodeReputationChanges(changes: ReputationChanges): Uint8Array {
  const bytes = Uint8Array.from(changes.flatMap(({ seat, steps }) => [seat, steps & 0xff]));
  const decoded = decodeReputationChanges(bytes);
  const same = decoded?.every(
    (change, index) => change.seat === changes[index]?.seat && change.steps === changes[index].steps,
  );
  if (same !== true) throw new RangeError("encodeReputationChanges: a seat or a step is out of range or out of order");
  return bytes;
}

/** Null when the bytes are not what `encodeReputationChanges` yields. */
export function decodeReputationChanges(bytes: Uint8Array): ReputationChanges | null {
  if (bytes.length % 2 !== 0) return null;
  const changes: ReputationChanges[number][] = [];
  for (let index = 0; index < bytes.length; index += 2) {
    const seat = bytes[index] as number;
    const unsigned = bytes[index + 1] as number;
    const steps = unsigned > 127 ? unsigned - 256 : unsigned;
    const previous = changes.at(-1)?.seat ?? -1;
    if (seat <= previous || steps === 0 || steps > 1) return null;
    changes.push({ seat: seat as SeatIndex, steps });
  }
  return changes;
}

/** One byte per seat. Throws when a share is not in 0..255. */
export function encodeShares(shares: readonly number[]): Uint8Array {
  if (!shares.every((share) => Number.isInteger(share) && share >= 0 && share <= 255)) {
    throw new RangeError("encodeShares: a share is not an integer in 0..255");
  }
  return Uint8Array.from(shares);
}

export function decodeShares(bytes: Uint8Array): readonly number[] {
  return [...bytes];
}
