import { ConclaveError } from "../errors.ts";
import { DECISION_STATUSES, NAMED_TERMS, type NamedTerm } from "../types.ts";
import type { Address, AgentId, DecisionStatus, Outcome, Ppm, SeatIndex, SeatInfo, Terms } from "../types.ts";
import { isSkill } from "../skill.ts";
import { LAYOUTS, greatestOf, type Layout, type Field } from "./layouts.ts";

type ReputationChanges = Outcome["reputationChanges"];
/** Every named term with the names of its values. */
const NAMED = Object.entries(NAMED_TERMS) as readonly (readonly [NamedTerm, readonly string[]])[];

/** Packs the fields of a word. Throws a RangeError, which names the field, when a value does not fit its bits. */
export function packWord<const L extends Layout>(
  layout: L,
  values: Readonly<Record<Field<L>, bigint | number>>,
): bigint {
  return layout.reduce((packed, [name, bits]) => {
    const value = values[name as Field<L>];
    if (!fits(value, bits)) throw new RangeError(`${name} = ${value} is not an unsigned integer of ${bits} bits`);
    return (packed << BigInt(bits)) | BigInt(value);
  }, 0n);
}

/** Returns the fields of a word; bits above its layout are ignored. */
export function unpackWord<const L extends Layout>(layout: L, packed: bigint): Readonly<Record<Field<L>, bigint>> {
  let shift = BigInt(layout.reduce((sum, [, bits]) => sum + bits, 0));
  const values = layout.map(([name, bits]) => {
    shift -= BigInt(bits);
    return [name, BigInt.asUintN(bits, packed >> shift)] as const;
  });
  return Object.fromEntries(values) as Record<Field<L>, bigint>;
}

function fits(value: bigint | number, bits: number): boolean {
  if (typeof value === "number" && !Number.isSafeInteger(value)) return false;
  return BigInt.asUintN(bits, BigInt(value)) === BigInt(value);
}

/** Throws TERMS_INVALID, naming the field, when a value does not fit its bits. */
export function packTerms(terms: Terms): bigint {
  const fields = { ...terms, ...codesOf(terms) };
  const wrong = LAYOUTS.requestTerms.find(([name, bits]) => !fits(fields[name], bits));
  if (wrong !== undefined) {
    const [name] = wrong;
    throw new ConclaveError(
      "TERMS_INVALID",
      `Pack request terms: ${name} = ${fields[name]}: give an integer from 0 to ${greatestOf(LAYOUTS.requestTerms, name)}`,
      { field: name, value: String(fields[name]) },
    );
  }
  return packWord(LAYOUTS.requestTerms, fields);
}

/** The on-chain codes of the terms whose values have names. */
export function codesOf(terms: Terms): Readonly<Record<NamedTerm, number>> {
  const codes = NAMED.map(([name, values]) => [name, values.indexOf(terms[name])] as const);
  return Object.fromEntries(codes) as Record<NamedTerm, number>;
}

/** Null when the word is no uint256 or a named term has a code without a name. */
export function unpackTerms(packed: bigint): Terms | null {
  if (packed < 0n || packed >= 1n << 256n) return null;
  const fields = unpackWord(LAYOUTS.requestTerms, packed);
  const named = NAMED.map(([name, values]) => [name, values[Number(fields[name])]] as const);
  if (named.some(([, value]) => value === undefined)) return null;
  const { fee, tolerance } = fields;
  const small = Object.entries(fields).map(([name, value]) => [name, Number(value)] as const);
  const numbers = Object.fromEntries(small) as Record<keyof typeof fields, number>;
  const names = Object.fromEntries(named) as Pick<Terms, NamedTerm>;
  return { ...numbers, fee, tolerance, ...names };
}

/** Throws a RangeError when a field does not fit its bits. */
export function packSeat({ skill, agentId, reputation, signer }: SeatInfo): bigint {
  return packWord(LAYOUTS.seat, { skill, agentId, reputation, signer: BigInt(signer) });
}

/** Null unless agent id and signer are not zero, reputation and skill in their ranges and the upper bits are clear. */
export function unpackSeat(packed: bigint): SeatInfo | null {
  const seat = unpackWord(LAYOUTS.seat, packed);
  const { agentId, reputation, signer } = seat;
  const skill = Number(seat.skill);
  if (packed !== packWord(LAYOUTS.seat, seat) || !isSkill(skill)) return null;
  if (agentId === 0n || reputation === 0n || reputation > 1_000_000n || signer === 0n) return null;
  return {
    agentId: Number(agentId) as AgentId,
    signer: `0x${signer.toString(16).padStart(40, "0")}` as Address,
    reputation: Number(reputation) as Ppm,
    skill,
  };
}

/** The code of `Status.Decided` in contracts/types/Types.sol: those of other decisions follow. */
const DECIDED_CODE = 2;

/** The number of `Status` in contracts/types/Types.sol. */
export function statusCode(status: DecisionStatus): number {
  return DECIDED_CODE + DECISION_STATUSES.indexOf(status);
}

/** Null when the code is that of no decision. */
export function decisionStatusOf(code: number): DecisionStatus | null {
  return DECISION_STATUSES[code - DECIDED_CODE] ?? null;
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

/** The seats as bits: bit i is seat i. */
export function bitsOf(seats: readonly SeatIndex[]): bigint {
  return seats.reduce((bits, seat) => bits | (1n << BigInt(seat)), 0n);
}

/** The seats whose bits are set, ascending. */
export function seatsOfBits(bits: bigint): readonly SeatIndex[] {
  return Array.from({ length: bits.toString(2).length }, (_, seat) => seat as SeatIndex).filter(
    (seat) => ((bits >> BigInt(seat)) & 1n) === 1n,
  );
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
