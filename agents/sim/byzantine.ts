import { digestOf } from "../core/codec.ts";
import { messageDigest, recoverSigner } from "../core/digest.ts";
import { decodeMessage, encodeMessage } from "../core/transcript.ts";
import type { Address, Domain, Header, Message, Value } from "../core/types.ts";
import type { Model, ModelRequest } from "../ports/model.ts";
import type { Network } from "../ports/network.ts";
import type { Signer } from "../ports/signer.ts";

/** Lies with full confidence in every role: wrong answers, rejected truths, upheld accusations. */
export function lyingModel(honest: Model): Model {
  return {
    descriptor: `liar over ${honest.descriptor}`,
    async ask(request, signal, onToken) {
      const response = await honest.ask(request, signal, onToken);
      return {
        ...response,
        fields: { ...response.fields, ...lie(request, response.fields) },
        confidencePpm: 1_000_000,
      };
    },
    close: () => honest.close(),
  };
}

const OPPOSITE: Readonly<Record<string, string>> = {
  accept: "reject",
  reject: "accept",
  uphold: "refute",
  refute: "uphold",
  yes: "no",
  no: "yes",
};

function lie(request: ModelRequest, fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const answer = fields["answer"];
  if (answer === undefined)
    return { check: "checked twice; the answer is wrong", verdict: OPPOSITE[fields["verdict"] ?? ""] ?? "reject" };
  const allowed = request.schema.properties.find(({ name }) => name === "answer")?.enum;
  const other = allowed?.find((choice) => choice !== answer) ?? String((Number.parseInt(answer, 10) || 0) + 10);
  return { proof: "checked twice; it is certain", answer: other };
}

/**
 * Says one thing to half of the peers and another to the rest, both properly signed, in every slot of one phase.
 * `conflicting` makes the second payload.
 */
export function equivocatingNetwork(
  network: Network,
  signer: Signer,
  domain: Domain,
  phase: number,
  conflicting: (payload: Value) => Value,
): Network {
  const deceived = new Map<Address, boolean>();
  return {
    ...network,
    send(to, frame) {
      if (!deceived.has(to)) deceived.set(to, deceived.size % 2 === 0);
      const message = decodeMessage(frame);
      if (
        message === null ||
        !isOwn(message, signer, domain) ||
        message.header.phase !== phase ||
        deceived.get(to) !== true
      )
        network.send(to, frame);
      else network.send(to, encodeMessage(resign(message, conflicting(message.payload), signer, domain)));
    },
  };
}

/** Relayed messages of others are left alone: this seat cannot sign for them. */
function isOwn(message: Message, signer: Signer, domain: Domain): boolean {
  return recoverSigner(messageDigest(domain, message.header), message.signature) === signer.address;
}

function resign(message: Message, payload: Value, signer: Signer, domain: Domain): Message {
  const header: Header = { ...message.header, payloadDigest: digestOf(payload) };
  return { header, payload, signature: signer.sign(messageDigest(domain, header)) };
}
