// How fast `conclave verify --since 0` proves many decisions, beside the time to hash the same blocks and check the same signatures once.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cidOf } from "../agents/adapters/ipfs/block.ts";
import { LocalBlocks } from "../agents/adapters/ipfs/local-blocks.ts";
import { runCli } from "../agents/cli/run-cli.ts";
import { cidString } from "../agents/core/codec.ts";
import { decisionDigest, messageDigest, recoverSigner, sha256 } from "../agents/core/digest.ts";
import { decodeMessage } from "../agents/core/transcript.ts";
import type { Digest, Hex } from "../agents/core/types.ts";
import { startDecidedChain, type Decided, type DecidedChain } from "./lib/decided-chain.ts";

const help = `Usage: npm run bench:verify -- [--count N] [--json] [--help]

Makes N decisions of four seats on a local chain (default 1000), spoils one byte of one transcript, and runs
\`conclave verify --since 0 --jobs 1\` over all of them, from a folder. Then it hashes every block and recovers every signature
once, with all digests at hand, in one thread. Ends with 1 when the ratio of the processor times is above 1.3, or when the
spoilt transcript is not the one that is found.

Example: npm run -s bench:verify -- --count 100 --json`;

const MAX_RATIO = 1.3;

interface Times {
  readonly wallSeconds: number;
  /** Of all threads of this process. */
  readonly cpuSeconds: number;
}

interface VerifyJson {
  readonly proven: number;
  readonly refuted: number;
  readonly signatures: number;
  readonly failures: readonly { readonly requestId: string; readonly cid: string }[];
}

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      count: { type: "string", default: "1000" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const count = Number(values.count);
  if (!Number.isInteger(count) || count < 2 || count > 100_000) throw new Error("Give --count from 2 to 100000");
  const world = await startDecidedChain(count, (done) => process.stderr.write(`${done} of ${count} decisions made\n`));
  try {
    const report = await measure(world);
    process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : asText(report));
    return report.ok ? 0 : 1;
  } finally {
    await world.close();
  }
}

async function measure(world: DecidedChain) {
  const { decisions } = world;
  const spoilt = await spoil(world.folder, decisions[Math.floor(decisions.length / 2)] as Decided);
  const { found, ...verified } = await verifyAll(world.folder);
  const baseline = await timed(async () => checkOnce(decisions.flatMap(signaturesOf), decisions));
  const [failure] = found.failures;
  const named = found.refuted === 1 && failure?.requestId === spoilt.requestId && failure.cid === spoilt.cid;
  const cpuRatio = verified.cpuSeconds / baseline.cpuSeconds;
  return {
    ok: named && cpuRatio <= MAX_RATIO && found.proven === decisions.length - 1,
    decisions: decisions.length,
    signatures: found.signatures,
    spoilt,
    named,
    verify: { ...verified, perSecond: decisions.length / verified.wallSeconds },
    baseline: { ...baseline, perSecond: decisions.length / baseline.wallSeconds },
    cpuRatio,
    wallRatio: verified.wallSeconds / baseline.wallSeconds,
  };
}

/** One bit of one message, behind everybody's back. */
async function spoil(folder: string, { attempt, blocks }: Decided) {
  const [, bytes] = blocks as readonly [Uint8Array, Uint8Array];
  const digest = sha256(bytes);
  const store = new LocalBlocks(join(folder, "blocks"));
  await store.open();
  await store.put(cidOf(digest), bytes.with(40, (bytes[40] as number) ^ 1));
  return { requestId: String(attempt.request.id), cid: cidString(digest) };
}

async function verifyAll(folder: string): Promise<Times & { readonly found: VerifyJson }> {
  let printed = "";
  const args = ["verify", "--since", "0", "--jobs", "1", "--json", "--deployment", "deployment.json", "--store", "."];
  const times = await timed(() =>
    runCli(args, {
      stdout: (text) => void (printed += text),
      stderr: (text) => void process.stderr.write(text),
      environment: {},
      cwd: folder,
      signal: new AbortController().signal,
    }),
  );
  const found = JSON.parse(printed) as VerifyJson | { readonly error: unknown };
  if ("error" in found) throw new Error(printed);
  return { found, ...times };
}

type Signed = readonly [digest: Digest, signature: Hex];

/** Of the messages and of the decision. */
function signaturesOf({ attempt, certificate, blocks }: Decided): readonly Signed[] {
  const messages = blocks.slice(1).flatMap((bytes): readonly Signed[] => {
    const message = decodeMessage(bytes);
    return message === null ? [] : [[messageDigest(attempt, message.header), message.signature]];
  });
  const digest = decisionDigest(attempt, certificate.decision);
  return [...messages, ...certificate.signatures.map(({ signature }): Signed => [digest, signature])];
}

function checkOnce(signatures: readonly Signed[], decisions: readonly Decided[]): void {
  for (const { blocks } of decisions) for (const bytes of blocks) sha256(bytes);
  for (const [digest, signature] of signatures)
    if (recoverSigner(digest, signature) === null) throw new Error("a signature of the bench's own is bad");
}

async function timed(action: () => Promise<unknown>): Promise<Times> {
  const started = performance.now();
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return { wallSeconds: (performance.now() - started) / 1_000, cpuSeconds: (user + system) / 1_000_000 };
}

function asText(report: Awaited<ReturnType<typeof measure>>): string {
  const { verify, baseline, spoilt } = report;
  const line = (name: string, { wallSeconds, cpuSeconds, perSecond }: Times & { readonly perSecond: number }): string =>
    `${name}: ${perSecond.toFixed(1)} decisions per second (${wallSeconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time)`;
  return [
    `${report.decisions} decisions, ${report.signatures} signatures, one thread that verifies`,
    line("conclave verify --since 0", verify),
    line("hashes and signatures once", baseline),
    `ratio of processor times ${report.cpuRatio.toFixed(2)}, of wall times ${report.wallRatio.toFixed(2)}; at most ${MAX_RATIO}`,
    `the spoilt block ${spoilt.cid} of request ${spoilt.requestId}: ${report.named ? "found and named" : "NOT FOUND"}`,
    "",
  ].join("\n");
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
