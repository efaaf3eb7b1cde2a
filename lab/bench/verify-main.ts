// How fast `conclave verify --since 0` proves many decisions, beside the time to hash the same blocks and check the same signatures once.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { deserialize, serialize } from "node:v8";
import { cidOf } from "../../agents/adapters/ipfs/block.ts";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import { cidString } from "../../agents/core/encoding/codec.ts";
import { decisionDigest, messageDigest, recoverSigner, sha256 } from "../../agents/core/encoding/digest.ts";
import { secp256k1 } from "../../agents/core/encoding/secp256k1.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Digest, Hex, Message } from "../../agents/core/types.ts";
import { startDecidedChain, type Decided, type DecidedChain } from "../../devnet/decided-chain.ts";

const help = `Usage: npm run bench:verify -- [--count N] [--json] [--help]

Makes N decisions of four seats on a local chain (default 1000), spoils one byte of one transcript, and runs
\`conclave verify --since 0 --jobs 1\` over all of them, from a folder. Beside it, half before and half after, one thread hashes
every block and every signed message of the others once and recovers the signer, all decoded and in memory. Ends with 1 when the
ratio of the processor times (all threads, without the start of the program) is above 1.3, or when the spoilt transcript is not
the one that is found.

Example: npm run -s bench:verify -- --count 100 --json`;

const MAX_RATIO = 1.3;
const MIN_FASTER = 5;
/** The decisions that are not spoilt, for the processes that measure. */
const SOUND = "sound.bin";

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
      measure: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  if (values.measure !== undefined) {
    process.stdout.write(JSON.stringify(await measure(values.measure)));
    return 0;
  }
  const count = Number(values.count);
  if (!Number.isInteger(count) || count < 2 || count > 100_000) throw new Error("Give --count from 2 to 100000");
  const world = await startDecidedChain(count, (done) => process.stderr.write(`${done} of ${count} decisions made\n`));
  try {
    const report = await compare(world);
    process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : asText(report));
    return report.ok ? 0 : 1;
  } finally {
    await world.close();
  }
}

/** Each curve in a process of its own, over the same decisions. */
async function compare({ decisions, folder }: DecidedChain) {
  const victim = decisions[Math.floor(decisions.length / 2)] as Decided;
  const sound = decisions.filter((decided) => decided !== victim);
  const spoilt = await spoil(folder, victim);
  await writeFile(join(folder, SOUND), serialize(sound));
  const noble = await measureApart(folder, ["--conditions=noble"]);
  const fastest = await measureApart(folder, []);
  const isRight = ({ proven, refuted, failures }: VerifyJson): boolean =>
    proven === sound.length &&
    refuted === 1 &&
    failures[0]?.requestId === spoilt.requestId &&
    failures[0].cid === spoilt.cid;
  const named = [noble, fastest].every(({ found }) => isRight(found));
  const faster = fastest.verify.perSecond / noble.verify.perSecond;
  return {
    ok: named && fastest.cpuRatio <= MAX_RATIO && (fastest.curve === "noble" || faster >= MIN_FASTER),
    decisions: decisions.length,
    signatures: fastest.found.signatures,
    spoilt,
    named,
    noble,
    fastest,
    faster,
  };
}

async function measureApart(folder: string, conditions: readonly string[]): Promise<Measured> {
  const script = fileURLToPath(import.meta.url);
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [...conditions, script, "--measure", folder], {
    maxBuffer: 64 << 20,
  });
  return JSON.parse(stdout) as Measured;
}

interface Rate extends Times {
  readonly perSecond: number;
}

/** What one curve does. */
interface Measured {
  readonly curve: string;
  readonly verify: Rate;
  readonly baseline: Rate;
  readonly cpuRatio: number;
  readonly wallRatio: number;
  readonly found: VerifyJson;
}

async function measure(folder: string): Promise<Measured> {
  const sound = (deserialize(await readFile(join(folder, SOUND))) as readonly Decided[]).map(decodedOf);
  const half = Math.floor(sound.length / 2);
  const before = await timed(async () => checkOnce(sound.slice(0, half)));
  const { found, ...verified } = await verifyAll(folder);
  const after = await timed(async () => checkOnce(sound.slice(half)));
  const baseline = {
    wallSeconds: before.wallSeconds + after.wallSeconds,
    cpuSeconds: before.cpuSeconds + after.cpuSeconds,
  };
  return {
    curve: secp256k1.library,
    verify: { ...verified, perSecond: (found.proven + found.refuted) / verified.wallSeconds },
    baseline: { ...baseline, perSecond: sound.length / baseline.wallSeconds },
    cpuRatio: verified.cpuSeconds / baseline.cpuSeconds,
    wallRatio: verified.wallSeconds / baseline.wallSeconds,
    found,
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

type Decoded = Decided & { readonly messages: readonly Message[] };

function decodedOf(decided: Decided): Decoded {
  const messages = decided.blocks.slice(1).map((bytes) => decodeMessage(bytes));
  return { ...decided, messages: messages.filter((message) => message !== null) };
}

function checkOnce(decisions: readonly Decoded[]): void {
  for (const { attempt, certificate, blocks, messages } of decisions) {
    for (const bytes of blocks) sha256(bytes);
    for (const { header, signature } of messages) requireSigned(messageDigest(attempt, header), signature);
    const digest = decisionDigest(attempt, certificate.decision);
    for (const { signature } of certificate.signatures) requireSigned(digest, signature);
  }
}

function requireSigned(digest: Digest, signature: Hex): void {
  if (recoverSigner(digest, signature) === null) throw new Error("a signature of the bench's own is bad");
}

async function timed(action: () => Promise<unknown>): Promise<Times> {
  const started = performance.now();
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return { wallSeconds: (performance.now() - started) / 1_000, cpuSeconds: (user + system) / 1_000_000 };
}

function asText(report: Awaited<ReturnType<typeof compare>>): string {
  const { noble, fastest, spoilt } = report;
  const line = (name: string, { wallSeconds, cpuSeconds, perSecond }: Rate): string =>
    `  ${name}: ${perSecond.toFixed(1)} decisions per second (${wallSeconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time)`;
  const linesOf = ({ curve, verify, baseline, cpuRatio, wallRatio }: Measured): readonly string[] => [
    `signatures by ${curve}`,
    line("conclave verify --since 0", verify),
    line("hashes and signatures once", baseline),
    `  ratio of processor times ${cpuRatio.toFixed(2)}, of wall times ${wallRatio.toFixed(2)}`,
  ];
  return [
    `${report.decisions} decisions, ${report.signatures} signatures, one thread that verifies`,
    ...linesOf(noble),
    ...linesOf(fastest),
    `${report.faster.toFixed(1)} times the decisions of noble, at least ${MIN_FASTER}; ratio of processor times at most ${MAX_RATIO}`,
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
