import { cidString } from "../../core/encoding/cid.ts";
import { sha256 } from "../../core/encoding/bytes.ts";
import type { Protocol, Rendering } from "../../core/protocol.ts";
import { decodeMessage, readRoot } from "../../core/encoding/transcript.ts";
import { addMessage, emptyTally } from "../../core/seat/tally.ts";
import type { Attempt, Digest, Header, Message } from "../../core/types.ts";
import { type VerifyOptions, type VerifyReport } from "./report.ts";
import { standingAttempt } from "./standing-decision.ts";
import { verifyRequest } from "./verify.ts";

/** A message of a transcript, as its protocol reads it. */
export interface Spoken {
  readonly cid: string;
  readonly header: Header;
  /** Null if the protocol refuses the payload. */
  readonly rendering: Rendering | null;
  /** Indices of the messages that its sender says it held. */
  readonly parents: readonly number[];
}

export interface Deliberation {
  readonly report: VerifyReport;
  readonly attempt: Attempt;
  readonly protocol: Protocol;
  /** Messages in the order of the root; of a refuted transcript, those before the first that failed. */
  readonly messages: readonly Spoken[];
  /** Indices of the messages by payload digest: several messages have the same payload if they say nothing. */
  readonly byPayload: ReadonlyMap<Digest, readonly number[]>;
  /** PH14: says in words what the last complete round has and lacks. It plays the protocol, which takes long under a hashgraph. */
  readonly reasons: () => readonly string[];
}

/** TR8: reads the deliberation from the blocks that an audit has checked. Null if the chain has no decision to read. */
export async function readDeliberation(
  options: VerifyOptions,
): Promise<{ readonly report: VerifyReport; readonly deliberation: Deliberation | null }> {
  const { chain, store, requestId, signal } = options;
  const events = await chain.requestEvents(requestId, signal);
  const blocks = new Map<Digest, Uint8Array>();
  const report = await verifyRequest({
    ...options,
    chain: { ...chain, requestEvents: async () => events },
    store: {
      get: async (digest, ended) => {
        const bytes = await store.get(digest, ended);
        if (sha256(bytes) === digest) blocks.set(digest, bytes);
        return bytes;
      },
    },
  });
  if (report.failure?.step === "chain") return { report, deliberation: null };
  const { attempt, protocol, committed } = standingAttempt(chain.domain, events);
  const root = blocks.get(committed.decision.transcript);
  const read = root === undefined ? { refused: "missing" } : readRoot(attempt, protocol, root);
  const links = "refused" in read ? [] : read.messages.slice(0, report.checked.messageSignatures);
  return { report, deliberation: { report, attempt, protocol, ...readAll(attempt, protocol, links, blocks) } };
}

function readAll(
  attempt: Attempt,
  protocol: Protocol,
  links: readonly Digest[],
  blocks: ReadonlyMap<Digest, Uint8Array>,
): Pick<Deliberation, "messages" | "byPayload" | "reasons"> {
  const found = links.flatMap((digest) => {
    const bytes = blocks.get(digest);
    const message = bytes === undefined ? null : decodeMessage(bytes);
    return message === null ? [] : [{ digest, message }];
  });
  // A refused question was hung without a deliberation.
  const isRefused = protocol.refuseRequest(attempt) !== null;
  const reasons = (): readonly string[] => {
    if (isRefused || protocol.explain === undefined) return [];
    return protocol.explain(
      attempt,
      found.reduce((before, { message }) => addMessage(before, message).tally, emptyTally),
    );
  };
  const rendered = found.map(({ digest, message }) => renderedOf(attempt, protocol, digest, message));
  return { ...spokenIn(rendered), reasons };
}

/** A message whose signature was checked, as its protocol reads it alone. */
export interface Rendered extends Omit<Spoken, "parents"> {
  readonly names: Rendering["parents"];
}

export function renderedOf(attempt: Attempt, protocol: Protocol, digest: Digest, message: Message): Rendered {
  const { header, payload } = message;
  const rendering = protocol.render(attempt, header, payload);
  return { cid: cidString(digest), header, rendering, names: rendering?.parents ?? [] };
}

/** Finds the parents of messages among them, in the order in which they are given. */
export function spokenIn(found: readonly Rendered[]): Pick<Deliberation, "messages" | "byPayload"> {
  const groups = Map.groupBy(found.keys(), (index) => (found[index] as Rendered).header.payloadDigest);
  const messages = found.map(({ names, ...rendered }, index): Spoken => {
    const parents = names.flatMap((parent) => {
      const said = (groups.get(parent.digest) ?? []).filter(
        (one) => one !== index && found[one]?.header.seat === parent.seat,
      );
      // The latest message before this one; in the order of the root an event may come before its parents.
      return said.findLast((one) => one < index) ?? said[0] ?? [];
    });
    return { ...rendered, parents: [...new Set(parents)] };
  });
  return { messages, byPayload: groups };
}
