// How the liar misbehaves under any protocol: it lies in every role and contradicts itself.
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { recoverSigner } from "../../agents/core/encoding/digest.ts";
import { messageDigest } from "../../agents/core/encoding/typed-data.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Address, Attempt, Header, Message, Value } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import type { Model, ModelRequest } from "../../agents/ports/model.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Signer } from "../../agents/ports/signer.ts";

type Fields = Readonly<Record<string, string>>;

/** Lies with full confidence in every role: wrong answers, rejected truths, upheld accusations, bad marks for good work. */
export function lyingModel(honest: Model): Model {
  return {
    descriptor: `liar over ${honest.descriptor}`,
    prompts: honest.prompts,
    async ask(request, signal, onToken) {
      const response = await honest.ask(request, signal, onToken);
      const fields = Object.fromEntries(
        request.schema.properties.map(({ name, enum: allowed }) => [
          name,
          lie(name, response.fields[name] ?? "", allowed, request),
        ]),
      );
      return { ...response, fields: { ...response.fields, ...fields }, confidencePpm: 1_000_000 };
    },
    close: () => honest.close(),
  };
}

const OPPOSITE: Fields = {
  accept: "reject",
  reject: "accept",
  uphold: "refute",
  refute: "uphold",
  same: "different",
  different: "same",
};
const BEST_MARK = 20;

function lie(name: string, truth: string, allowed: readonly string[] | undefined, request: ModelRequest): string {
  if (allowed === undefined) return name === "answer" ? otherAnswer(truth, request) : prose(name);
  if (allowed.every((mark) => /^\d+$/.test(mark))) return String(BEST_MARK - Number(truth));
  const opposite = OPPOSITE[truth];
  if (opposite !== undefined && allowed.includes(opposite)) return opposite;
  return allowed.find((other) => other !== truth) ?? truth;
}

function prose(name: string): string {
  return name === "proof" || name === "quote" ? "checked twice; it is certain" : "checked twice; the answer is wrong";
}

function otherAnswer(truth: string, { user }: ModelRequest): string {
  const [, kind, last] = /^kind: (\w+)(?: A-([A-Z]))?/m.exec(user) ?? [];
  if (kind === "number") return String((Number.parseInt(truth, 10) || 0) + 10);
  if (kind !== "policies" || last === undefined) return `It is not true that: ${truth}`;
  const letters = Array.from({ length: last.charCodeAt(0) - 64 }, (_, index) => String.fromCharCode(65 + index));
  const named = truth.split(",");
  return letters.filter((one) => !named.includes(one)).join(",") || "A";
}

/**
 * First phase in which the liar contradicts itself: it lets answers and reviewed drafts stand, so that the others
 * hear its lies.
 */
const FIRST_OWN_PHASE = 10;
/** Code of the protocol whose messages are events of a graph, which the liar forks. */
const FORKED_EVENT = 3;

/** Keeps the attempts whose committees the agent finds out, before it acts on them. Signing a message needs its attempt. */
export function rememberingChain(chain: ChainReader, attempts: Map<string, Attempt>): ChainReader {
  return {
    ...chain,
    committee: async (request, awaited, signal) => {
      const committee = await chain.committee(request, awaited, signal);
      const { attempt } = awaited;
      attempts.set(attemptKey({ requestId: request.id, attempt }), {
        domain: chain.domain,
        request,
        attempt,
        committee,
      });
      return committee;
    },
  };
}

function attemptKey({ requestId, attempt }: Pick<Header, "requestId" | "attempt">): string {
  return `${requestId}.${attempt}`;
}

/** Says one thing to half of its peers and another to the rest, both properly signed. */
export function equivocatingNetwork(network: Network, signer: Signer, attempts: ReadonlyMap<string, Attempt>): Network {
  const deceived = new Map<Address, boolean>();
  return {
    ...network,
    send(to, frame) {
      if (!deceived.has(to)) deceived.set(to, deceived.size % 2 === 0);
      const second = deceived.get(to) === true ? contradiction(frame, signer, attempts) : null;
      network.send(to, second ?? frame);
    },
  };
}

/**
 * Returns the contradiction of one of its own messages. It leaves relayed messages of others alone, which it cannot
 * sign.
 */
function contradiction(frame: Uint8Array, signer: Signer, attempts: ReadonlyMap<string, Attempt>): Uint8Array | null {
  const message = decodeMessage(frame);
  const attempt = message === null ? undefined : attempts.get(attemptKey(message.header));
  if (message === null || attempt === undefined || !isOwn(message, signer, attempt)) return null;
  const payload = conflicting(message.header, message.payload);
  return payload === null ? null : encodeMessage(resign(message, payload, signer, attempt));
}

/**
 * Returns another payload that every protocol accepts in the same place: other messages seen of the phase before, no
 * word where one seat concludes, another time of an event. Null if the place has no known variant.
 */
export function conflicting(place: Pick<Header, "phase" | "round">, payload: Value): PayloadMap | null {
  if (payload === null || typeof payload !== "object" || Array.isArray(payload) || payload instanceof Uint8Array)
    return null;
  const map = payload as PayloadMap;
  const { proposal, seen, time } = map;
  if (typeof time === "number") return place.round === FORKED_EVENT ? { ...map, time: time + 1 } : null;
  if (place.phase < FIRST_OWN_PHASE || place.phase >= PROPOSE) return null;
  if (Array.isArray(seen)) return { ...map, seen: (seen as readonly Value[]).map(nothing) };
  const isWord = proposal !== undefined && proposal !== null && place.phase > FIRST_OWN_PHASE;
  return isWord ? { ...map, proposal: null } : null;
}

function nothing(list: Value): Value {
  return Array.isArray(list) ? list.map(() => null) : list;
}

function isOwn(message: Message, signer: Signer, attempt: Attempt): boolean {
  return recoverSigner(messageDigest(attempt, message.header), message.signature) === signer.address;
}

function resign(message: Message, payload: Value, signer: Signer, attempt: Attempt): Message {
  const header: Header = { ...message.header, payloadDigest: digestOf(payload) };
  return { header, payload, signature: signer.sign(messageDigest(attempt, header)) };
}
