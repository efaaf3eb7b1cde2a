// The decoders of bytes from outside: each with inputs that it takes, and with what it promises of all others.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { Uint8ArrayList } from "uint8arraylist";
import { readCar, writeCar } from "../../agents/adapters/ipfs/car.ts";
import { createGatewaySource } from "../../agents/adapters/ipfs/gateway-source.ts";
import { encodeJournalHeader, encodeRecord } from "../../agents/adapters/journal/codec.ts";
import { createFileJournals } from "../../agents/adapters/journal/file-journal.ts";
import { createFrameDecoder } from "../../agents/adapters/libp2p/frames.ts";
import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import { readCompletion, StreamError, TooLarge } from "../../agents/adapters/models/openai-stream.ts";
import { parseOutput } from "../../agents/adapters/models/output.ts";
import { postQuery } from "../../agents/adapters/subgraph/endpoint.ts";
import { requestsQuery } from "../../agents/adapters/subgraph/queries.ts";
import { createFileEvidence } from "../../agents/adapters/evidence/file-evidence.ts";
import { loadAgentConfig } from "../../agents/cli/shared/config.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { decodeBlock, encode, encodeBlock } from "../../agents/core/encoding/codec.ts";
import {
  buildTranscript,
  decodeMessage,
  describedBy,
  encodeMessage,
  readRoot,
} from "../../agents/core/encoding/transcript.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import type { Digest, Message, SeatIndex } from "../../agents/core/types.ts";
import { createInputReader, encodeInput } from "../../agents/node/seat/records.ts";
import { createPlan } from "../../sim/plan.ts";
import { listenOnLoopback } from "../../scripts/shared/loopback.ts";

export interface Target {
  /** Inputs that the decoder takes. */
  readonly samples: readonly Uint8Array[];
  /** Decodes the input. Resolves if it is taken, and if it is refused as promised; else throws. */
  readonly run: (bytes: Uint8Array) => void | Promise<void>;
}

const FRAME_BYTES = 4_096;
/** Evidence files are named by request, agent and kind. */
const EVIDENCE = `${"1".padStart(39, "0")}-2-0.json`;
const never = new AbortController().signal;

const { attempt } = createPlan(
  { protocol: "mbft", n: 4, byzantine: 0, faults: [], byzantineKinds: [], kind: "number", errorPpm: 0, sources: [] },
  1,
);
const payload = { commitment: new Uint8Array(32).fill(7) };
const message: Message = {
  header: {
    requestId: attempt.request.id,
    attempt: 0,
    protocol: mbft.code,
    phase: 1,
    round: 0,
    seat: 2 as SeatIndex,
    payloadDigest: sha256(encode(payload)),
  },
  payload,
  signature: `0x${"11".repeat(65)}`,
};
const { rootBlock } = buildTranscript(attempt, mbft, emptyTally, { round: 0, phase: 0 });
const utf8 = (text: string): Uint8Array => Buffer.from(text);
const SALT = new Uint8Array(16).fill(3);

const leaf = encodeBlock({ leaf: new Uint8Array(40) });
const tree = encodeBlock({ messages: [{ link: sha256(leaf) }] });
const blocks = new Map<Digest, Uint8Array>([leaf, tree].map((block) => [sha256(block), block]));
const word = `0x${"33".repeat(32)}`;
const subgraphAnswer = {
  _meta: { block: { number: 9, hash: word, timestamp: 9 }, hasIndexingErrors: false },
  deployment: { oracle: "0x11", registry: "0x22", requests: 1, agents: 5, activeAgents: 5 },
  requests: [
    {
      id: "0x01",
      number: 1,
      consumer: "0x33",
      protocol: 1,
      kind: "Number",
      currency: "Token",
      fee: "20",
      question: "What is 1 plus 1?",
      status: "Decided",
      provisional: false,
      settled: true,
      attempt: 0,
      timestamp: "9",
      transaction: word,
      refund: "0",
      decision: {
        status: "Decided",
        answer: "2",
        confidence: 900_000,
        transcript: word,
        attempt: { number: 0 },
        signers: [{ number: 0, agent: { number: 1 } }],
      },
    },
  ],
};

type Targets = Readonly<Record<string, Target>>;

/** Makes the targets; files go to the folder, which is the caller's. */
export async function createTargets(
  folder: string,
): Promise<{ readonly targets: Targets; readonly close: () => Promise<void> }> {
  mkdirSync(join(folder, "journals"), { recursive: true });
  mkdirSync(join(folder, "evidence"), { recursive: true });
  const served = await serveBytes();
  const car = await collect(writeCar(sha256(tree), async (digest) => blocks.get(digest) as Uint8Array));
  const targets = { ...peerTargets(), ...fileTargets(folder, car), ...serverTargets(served) };
  return { targets, close: () => served.close() };
}

/** What peers send. */
function peerTargets(): Targets {
  return {
    frames: {
      samples: [utf8("\0\0\0\u0003abc\0\0\0\u0001x")],
      // Any error that this throws makes the mesh reset the stream of the sender.
      run: (bytes) => {
        const decoder = createFrameDecoder(FRAME_BYTES);
        try {
          for (let at = 0; at < bytes.length; at += 7)
            for (const frame of decoder.decode(new Uint8ArrayList(bytes.subarray(at, at + 7))))
              if (frame.byteLength > FRAME_BYTES) throw new Finding("a frame is longer than its bound");
        } catch (error) {
          if (error instanceof Finding) throw error;
        }
      },
    },
    message: {
      samples: [encodeMessage(message)],
      run: (bytes) => {
        const decoded = decodeMessage(bytes);
        if (decoded !== null && Buffer.compare(encodeMessage(decoded), bytes) !== 0)
          throw new Finding("two encodings of one message are taken");
      },
    },
    root: {
      samples: [rootBlock],
      run: (bytes) => {
        describedBy(bytes);
        readRoot(attempt, mbft, bytes);
        const block = decodeBlock(bytes, limits.rootBytes);
        if (block !== null && Buffer.compare(encodeBlock(block), bytes) !== 0)
          throw new Finding("two encodings of one block are taken");
      },
    },
  };
}

/** What stands in files. */
function fileTargets(folder: string, car: Uint8Array): Targets {
  const file = (name: string, bytes: Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  };
  return {
    record: {
      samples: encodeInput({ kind: "message", message }),
      run: refusing((bytes) => void createInputReader()(bytes)),
    },
    journal: {
      samples: [
        Buffer.concat([
          encodeJournalHeader(SALT),
          ...[utf8("one"), utf8("two")].map((record, index) => encodeRecord(SALT, index, record)),
        ]),
      ],
      run: refusing(async (bytes) => {
        file("journals/fuzz.journal", bytes);
        const journal = await createFileJournals(join(folder, "journals")).open("fuzz");
        try {
          for await (const record of journal.read()) void record;
          await journal.append(utf8("more"));
        } finally {
          await journal.close();
        }
      }),
    },
    car: {
      samples: [car],
      run: refusing(async (bytes) => {
        const read = await readCar(
          (async function* () {
            for (let at = 0; at < bytes.length; at += 11) yield bytes.subarray(at, at + 11);
          })(),
        );
        for await (const block of read.blocks)
          if (sha256(block.bytes) !== block.digest) throw new Finding("a block with another hash is taken");
      }),
    },
    gguf: {
      samples: [tinyGguf()],
      run: refusing((bytes) => void readGgufHeader(file("fuzz.gguf", bytes))),
    },
    config: {
      samples: [
        utf8(
          JSON.stringify({
            chain: {
              rpcUrl: "http://127.0.0.1:1",
              chainId: 1,
              oracle: `0x${"11".repeat(20)}`,
              registry: `0x${"22".repeat(20)}`,
            },
            model: { kind: "openai", url: "http://127.0.0.1:1/v1", model: "m", fallbacks: [] },
            listen: ["/ip4/127.0.0.1/tcp/0"],
            timing: { phaseMs: 1000 },
            metrics: { port: 0 },
          }),
        ),
      ],
      run: refusing(async (bytes) => void (await loadAgentConfig(file("conclave.json", bytes)))),
    },
    evidence: {
      samples: [utf8('{"kind":"messages","request":{"id":"1"},"agentId":2}')],
      run: refusing(async (bytes) => {
        file(`evidence/${EVIDENCE}`, bytes);
        await createFileEvidence(join(folder, "evidence")).list();
      }),
    },
  };
}

/** What servers answer. */
function serverTargets(served: Served): Targets {
  return {
    completion: {
      samples: [
        utf8(
          'data: {"choices":[{"delta":{"content":"{}"},"logprobs":{"content":[{"token":"{}","logprob":-0.1}]}}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
        ),
        utf8(
          '{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
        ),
      ],
      run: async (bytes) => {
        for (const type of ["text/event-stream", "application/json"])
          try {
            const response = new Response(Uint8Array.from(bytes), { headers: { "content-type": type } });
            await readCompletion(response, { thinking: 0, most: 100 }, () => undefined);
          } catch (error) {
            if (!(error instanceof StreamError || error instanceof TooLarge)) throw error;
          }
      },
    },
    output: {
      samples: [utf8('{"proof":"2 + 2","answer":"4","verdict":"accept"}')],
      run: (bytes) => {
        const properties = [
          { name: "proof", maxLength: 20 },
          { name: "answer" },
          { name: "verdict", enum: ["accept", "reject"] },
        ];
        const output = parseOutput(Buffer.from(bytes).toString(), { properties });
        if ("fields" in output && Object.keys(output.fields).length !== properties.length)
          throw new Finding("fields are missing, and the output is taken");
      },
    },
    gateway: {
      samples: [leaf],
      run: refusing(async (bytes) => {
        served.bytes = bytes;
        const got = await createGatewaySource(served.url).get(sha256(leaf), never);
        if (Buffer.compare(got, leaf) !== 0) throw new Finding("a block with another hash is taken");
      }),
    },
    subgraph: {
      samples: [utf8(JSON.stringify({ data: subgraphAnswer }))],
      run: refusing(async (bytes) => {
        served.bytes = bytes;
        await postQuery({ url: served.url }, requestsQuery({ first: 10, where: {} }), never);
      }),
    },
  };
}

/** What a decoder must not do. */
class Finding extends Error {}

/** A decoder that may refuse its input by an error with a code. */
function refusing(decode: (bytes: Uint8Array) => void | Promise<void>): Target["run"] {
  return async (bytes) => {
    try {
      await decode(bytes);
    } catch (error) {
      if (!(error instanceof ConclaveError)) throw error;
    }
  };
}

interface Served {
  bytes: Uint8Array;
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** A server of this machine that answers everything with the bytes. */
async function serveBytes(): Promise<Served> {
  const state = { bytes: new Uint8Array() };
  const server = await listenOnLoopback(createServer((_, response) => void response.end(state.bytes)));
  return Object.assign(state, server);
}

async function collect(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

/** A GGUF header with a text, a list and a tensor. */
function tinyGguf(): Uint8Array {
  const u32 = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const u64 = (value: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
  };
  const text = (value: string): Buffer => Buffer.concat([u64(value.length), Buffer.from(value)]);
  const [STRING, ARRAY, UINT32] = [8, 9, 4];
  return Buffer.concat([
    Buffer.from("GGUF"),
    u32(3),
    u64(1),
    u64(4),
    text("general.architecture"),
    u32(STRING),
    text("llama"),
    text("general.name"),
    u32(STRING),
    text("tiny"),
    text("llama.context_length"),
    u32(UINT32),
    u32(64),
    text("tokenizer.ggml.tokens"),
    u32(ARRAY),
    u32(STRING),
    u64(2),
    text("a"),
    text("b"),
    text("w"),
    u32(1),
    u64(4),
    u32(0),
    u64(0),
    Buffer.alloc(64),
  ]);
}
