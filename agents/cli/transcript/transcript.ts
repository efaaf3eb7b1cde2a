import { createWriteStream } from "node:fs";
import { lstat, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { verifiedBlock } from "../../adapters/ipfs/block.ts";
import { writeCar } from "../../adapters/ipfs/car.ts";
import type { TranscriptSource } from "../../adapters/ipfs/transcript-source.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import { protocolByCode } from "../../core/protocols/index.ts";
import type { Attempt, Digest } from "../../core/types.ts";
import { argumentOf, type Argument } from "../../node/audit/argument.ts";
import type { VerifyReport } from "../../node/audit/report.ts";
import { readDeliberation, type Deliberation } from "../../node/audit/deliberation.ts";
import { parseRequestId, usage } from "../shared/arguments.ts";
import { createAuditReader } from "../shared/audit-reader.ts";
import { chainFlags, findChain, type ChainFlags } from "../shared/chain-source.ts";
import type { CommandSpec } from "../shared/command.ts";
import { committeeFirst } from "../shared/committee-first.ts";
import { contentFlags, openTranscriptSource, type ContentFlags } from "../shared/content-source.ts";
import { printable } from "../shared/output.ts";
import { transcriptDot, transcriptSvg } from "./graph.ts";
import { transcriptHtml } from "./html.ts";
import { linesOf } from "./lines.ts";
import { readSlashed, unreadable } from "./slashed.ts";
import { transcriptText } from "./text.ts";

interface Options extends ChainFlags, ContentFlags {
  readonly messages?: true;
  readonly html?: true;
  readonly dot?: true;
  readonly svg?: true;
  readonly car?: string;
}

/** The transcript is there already, so what an equivocation has cost is not waited for longer. */
const COST_MS = 10_000;

const pictures = { html: transcriptHtml, dot: transcriptDot, svg: transcriptSvg } as const;

export const transcript: CommandSpec<Options> = {
  example: "conclave transcript 1\nconclave transcript 1 --messages\nconclave transcript 1 --html > deliberation.html",
  options: [
    { flags: "--messages", description: "each message, too, and what an auditor compares: ids, signers, the CID" },
    { flags: "--html", description: "as one HTML file, with the graph of the messages" },
    { flags: "--dot", description: "the graph of the messages for Graphviz" },
    { flags: "--svg", description: "the graph of the messages as a picture: a lane for each seat" },
    { flags: "--car <file>", description: "write it to a CAR as well, once it is proven" },
    ...contentFlags,
    ...chainFlags,
  ],
  run: async ({ args, options, host, json }) => {
    const requestId = parseRequestId(args[0]);
    const car = options.car === undefined ? null : resolve(host.cwd, options.car);
    if (car !== null) for (const path of [car, partOf(car)]) await requireFile(path);
    const asked = (["html", "dot", "svg"] as const).filter((form) => options[form] === true);
    const [form, second] = asked;
    if (second !== undefined) throw usage(`--${second}`, "", "give one of --html, --dot and --svg");
    if (json && form !== undefined)
      throw new ConclaveError("USAGE", `Print the transcript: give --json or --${form}`, { option: `--${form}` });
    const source = await findChain(options, host);
    const chain = await createAuditReader(source, host.signal);
    const store = await openTranscriptSource(options, () => committeeFirst(chain, requestId, host.signal), host);
    try {
      const { report, deliberation } = await readDeliberation({ chain, store, requestId, signal: host.signal });
      if (deliberation === null) {
        const reason = printable(report.failure?.reason ?? "");
        return { json: { report, argument: null, messages: [] }, text: `request ${requestId}: ${reason}`, ok: false };
      }
      if (car !== null && report.ok) await exportCar(car, rootOf(report), store, host.signal);
      const argument = argumentOf(deliberation);
      const { attempt, messages: spoken } = deliberation;
      const agents = argument.equivocations.flatMap(([first = 0]) => {
        const seat = spoken[first]?.header.seat;
        return seat === undefined ? [] : (attempt.committee[seat]?.agentId ?? []);
      });
      const about = { requestId, attempt: attempt.attempt, agents };
      const slashed =
        agents.length === 0
          ? null
          : await readSlashed(chain, source, about, AbortSignal.any([host.signal, AbortSignal.timeout(COST_MS)])).catch(
              unreadable,
            );
      const lines = slashed?.lines ?? [];
      const text =
        form === undefined
          ? transcriptText(deliberation, lines, options.messages === true)
          : pictures[form](deliberation, lines);
      const messages = messagesJson(deliberation);
      const request = requestJson(attempt);
      const output = { report, request, argument: argumentJson(argument), slashed: slashed?.faults ?? [], messages };
      return { json: output, text, ok: report.ok };
    } finally {
      await store.close();
    }
  },
};

function rootOf({ decision }: VerifyReport): Digest {
  if (decision === null) throw new Error("a proven request has a decision");
  return decision.transcript;
}

function partOf(path: string): string {
  return `${path}.part`;
}

/**
 * Refuses a path that exists and is no file, such as a device or a link, since the file would replace it. Throws
 * CONFIG_INVALID.
 */
async function requireFile(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isFile()) return;
  const message = `Write ${path} failed: it is there, and no regular file; correct --car`;
  throw new ConclaveError("CONFIG_INVALID", message, { path, option: "--car" });
}

/** Writes the CAR; the file appears only once it is complete. */
async function exportCar(path: string, root: Digest, store: TranscriptSource, signal: AbortSignal): Promise<void> {
  const part = partOf(path);
  try {
    const get = async (digest: Digest): Promise<Uint8Array> => verifiedBlock(digest, await store.get(digest, signal));
    await pipeline(Readable.from(writeCar(root, get)), createWriteStream(part));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    if (error instanceof ConclaveError) throw error;
    const reason = messageOf(error);
    const message = `Write ${path} failed: ${reason}; make room or correct --car`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, option: "--car" }, error);
  }
}

/** What was asked, and who sat. */
function requestJson({ request: { question, terms }, attempt, committee }: Attempt): object {
  const seats = committee.map(({ agentId, signer }, seat) => ({ seat, agentId, signer }));
  return { question, kind: terms.kind, protocol: protocolByCode(terms.protocol)?.id ?? null, attempt, seats };
}

/** The argument, with messages by their numbers, counted from 1 as everywhere in the output. */
function argumentJson({ answers, silences, remarks, changes, equivocations }: Argument): object {
  const numbered = <Said extends { readonly message: number }>(said: Said): Said => ({
    ...said,
    message: said.message + 1,
  });
  return {
    answers: answers.map(numbered),
    silences: silences.map(numbered),
    remarks: remarks.map(({ about, ...remark }) => ({
      ...numbered(remark),
      about: about === null ? null : about.message + 1,
    })),
    changes: changes.map(({ from, to }) => ({ seat: from.seat, from: from.message + 1, to: to.message + 1 })),
    equivocations: equivocations.map((indices) => indices.map((index) => index + 1)),
  };
}

function messagesJson(deliberation: Deliberation): readonly object[] {
  return deliberation.messages.map((spoken, index) => ({
    number: index + 1,
    cid: spoken.cid,
    round: spoken.header.round,
    phase: spoken.header.phase,
    seat: spoken.header.seat,
    says: spoken.rendering?.name ?? null,
    held: spoken.parents.map((parent) => parent + 1),
    lines: linesOf(deliberation, spoken).map(({ depth, text, about }) => ({
      depth,
      text,
      about: about.map((one) => one + 1),
    })),
  }));
}
