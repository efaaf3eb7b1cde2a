// How fast `conclave verify --since 0` proves many decisions, beside the time to hash the same blocks and check the same signatures once.
import { join } from "node:path";
import { Command } from "commander";
import { cidOf } from "../../../agents/adapters/ipfs/block.ts";
import { LocalBlocks } from "../../../agents/adapters/ipfs/local-blocks.ts";
import { runCli } from "../../../agents/cli/run-cli.ts";
import { cidString } from "../../../agents/core/encoding/codec.ts";
import { sha256 } from "../../../agents/core/encoding/bytes.ts";
import { recoverSigner } from "../../../agents/core/encoding/digest.ts";
import { decisionDigest, messageDigest } from "../../../agents/core/encoding/typed-data.ts";
import { decodeMessage } from "../../../agents/core/encoding/transcript.ts";
import type { Digest, Hex, Message } from "../../../agents/core/types.ts";
import { between } from "../../../scripts/shared/arguments.ts";
import { startDecidedChain, type Decided, type DecidedChain } from "../../../devnet/decided-chain.ts";

const MAX_RATIO = 1.3;

function commandLine(): Command {
  return new Command("bench:verify")
    .description(
      `Makes N decisions of four seats on a local chain, spoils one byte of one transcript, and runs \`conclave verify --since 0 --jobs 1\` over all of them, from a folder. Beside it, half before and half after, one thread hashes every block and every signed message of the others once and recovers the signer, all decoded and in memory. Ends with 1 if the ratio of the processor times (all threads, without the start of the program) is above ${MAX_RATIO}, or if verify does not find and name the spoilt transcript.`,
    )
    .option("--count <n>", "decisions, 2 to 100,000", between(2, 100_000), 1000)
    .option("--json", "print one JSON object instead of text")
    .addHelpText("after", "\nExample:\n  npm run -s bench:verify -- --count 100 --json\n")
    .exitOverride();
}

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

/** Measures and prints, and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const { count, json } = commandLine()
    .parse(argv, { from: "user" })
    .opts<{ readonly count: number; readonly json?: true }>();
  const world = await startDecidedChain(count, (done) => process.stderr.write(`${done} of ${count} decisions made\n`));
  try {
    const report = await measure(world);
    process.stdout.write(json ? `${JSON.stringify(report)}\n` : asText(report));
    return report.ok ? 0 : 1;
  } finally {
    await world.close();
  }
}

async function measure(world: DecidedChain) {
  const { decisions } = world;
  const victim = decisions[Math.floor(decisions.length / 2)] as Decided;
  const sound = decisions.filter((decided) => decided !== victim).map(decodedOf);
  const half = Math.floor(sound.length / 2);
  const spoilt = await spoil(world.folder, victim);
  const before = await timed(async () => checkOnce(sound.slice(0, half)));
  const { found, ...verified } = await verifyAll(world.folder);
  const after = await timed(async () => checkOnce(sound.slice(half)));
  const baseline = {
    wallSeconds: before.wallSeconds + after.wallSeconds,
    cpuSeconds: before.cpuSeconds + after.cpuSeconds,
  };
  const [failure] = found.failures;
  const named = found.refuted === 1 && failure?.requestId === spoilt.requestId && failure.cid === spoilt.cid;
  const cpuRatio = verified.cpuSeconds / baseline.cpuSeconds;
  return {
    ok: named && cpuRatio <= MAX_RATIO && found.proven === sound.length,
    decisions: decisions.length,
    signatures: found.signatures,
    spoilt,
    named,
    verify: { ...verified, perSecond: decisions.length / verified.wallSeconds },
    baseline: { ...baseline, perSecond: sound.length / baseline.wallSeconds },
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
