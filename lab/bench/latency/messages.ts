// What the bench and its seats' processes tell each other, and what seats send each other beside messages of the product.

/** Sizes of the frames of the three steps, in bytes. */
export type Sizes = readonly [propose: number, prevote: number, precommit: number];

/**
 * What a seat takes for its part, in milliseconds: from the last message to its proposal, from the proposal to its first vote,
 * from a quorum of these to its second vote, from a quorum of those to the certificate. Null where that did not happen in order.
 */
export type Stages = readonly [
  propose: number | null,
  prevote: number | null,
  precommit: number | null,
  certify: number | null,
];

export type ToSeat =
  | { readonly kind: "peers"; readonly multiaddrs: readonly (readonly string[])[] }
  | { readonly kind: "decide"; readonly repetition: number }
  | { readonly kind: "exchange"; readonly repetition: number; readonly sizes: Sizes }
  | { readonly kind: "ping"; readonly to: number; readonly bytes: number; readonly count: number }
  | { readonly kind: "close" };

/** Moments are nanoseconds of the machine's monotonic clock, which all processes share. */
export type FromSeat =
  | { readonly kind: "listening"; readonly multiaddrs: readonly string[] }
  | { readonly kind: "connected" }
  | {
      readonly kind: "decided";
      /** Null if this seat did not propose. */
      readonly proposer: { readonly lastMessageAt: bigint; readonly sizes: Sizes } | null;
      readonly certifiedAt: bigint;
      readonly stages: Stages;
      /** Processor time of the process for the whole decision. */
      readonly cpuMs: number;
    }
  | { readonly kind: "exchanged"; readonly startedAt: bigint | null; readonly doneAt: bigint }
  | { readonly kind: "pinged"; readonly delaysMs: readonly number[] };

/** No message of the product begins with this byte. */
const BARE = 0xff;
const HEAD_BYTES = 16;

export type BareKind = "ping" | "pong" | "propose" | "prevote" | "precommit";
const KINDS: readonly BareKind[] = ["ping", "pong", "propose", "prevote", "precommit"];

/** A frame that nobody verifies, keeps or signs. */
export interface BareFrame {
  readonly kind: BareKind;
  readonly repetition: number;
  readonly sentAt: bigint;
}

export function encodeBare({ kind, repetition, sentAt }: BareFrame, bytes: number): Uint8Array {
  const frame = new Uint8Array(Math.max(bytes, HEAD_BYTES));
  const view = new DataView(frame.buffer);
  view.setUint8(0, BARE);
  view.setUint8(1, KINDS.indexOf(kind));
  view.setUint32(2, repetition);
  view.setBigInt64(6, sentAt);
  return frame;
}

/** Null for a message of the product. */
export function decodeBare(frame: Uint8Array): BareFrame | null {
  if (frame[0] !== BARE) return null;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  return {
    kind: KINDS[view.getUint8(1)] as BareKind,
    repetition: view.getUint32(2),
    sentAt: view.getBigInt64(6),
  };
}
