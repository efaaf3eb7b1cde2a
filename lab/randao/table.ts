import { binomialTail, seatsToBreak } from "../complexity/committee-odds.ts";
import { markdownTable } from "../shared/markdown.ts";
import { anyOf, blocksPerGain, choose, secondsToRun, withWithholding } from "./odds.ts";
import { quorumOf } from "../../agents/core/quorum.ts";

const SIZES = [4, 7, 13] as const;
/** Hostile shares of the agents' stake, in percent. */
const STAKES = [10, 20, 33] as const;
/** Shares of the proposers, in percent. */
const PROPOSERS = [1, 10, 33] as const;
/** `SEED_DELAY` of contracts/types/Limits.sol. */
const SEED_DELAY = 8;
/**
 * Blocks between a request's block and its seed block: the delay, and at most this many when an epoch is nearly over.
 */
const FEWEST_BLOCKS = SEED_DELAY - 1;
const MOST_BLOCKS = 31;
/** Assumed value of a block, in ether: see the ADR. */
const BLOCK_ETH = 0.05;

/** Returns the tables of docs/adr/007-seed-from-prevrandao.md as Markdown. */
export function randaoTables(): string {
  return [foreign(), chosen(), price(), lookahead()].join("\n\n");
}

/** The table of a draw whose time the attacker does not choose. */
function foreign(): string {
  const rows = cases().map(([n, stake]) => {
    const q = tail(n, seatsToBreak(n), stake);
    const odds = PROPOSERS.map((share) => {
      const counts = Array.from({ length: MOST_BLOCKS - FEWEST_BLOCKS + 1 }, (_, more) => FEWEST_BLOCKS + more);
      const values = counts.map((blocks) => withWithholding(q, share / 100, blocks));
      return Math.max(...values);
    });
    return [String(n), `${stake} %`, show(q), ...odds.map(show)];
  });
  return markdownTable(["n", "stake s", "fair", ...PROPOSERS.map((share) => `p = ${share} %`)], rows);
}

/**
 * The table of a request that the attacker times so that k slots of its own come and half of them are published
 * before the seed block.
 */
function chosen(): string {
  const runs = [1, 2, 3, 4] as const;
  const draws = (run: number): number => choose(run, Math.ceil(run / 2)) + 1;
  const rows = cases().map(([n, stake]) => {
    const q = tail(n, seatsToBreak(n), stake);
    return [String(n), `${stake} %`, show(q), ...runs.map((run) => show(anyOf(q, draws(run))))];
  });
  return markdownTable(["n", "stake s", "fair", ...runs.map((run) => `k = ${run}: ${draws(run)} draws`)], rows);
}

function price(): string {
  const rows = cases().map(([n, stake]) => {
    const blocks = [seatsToBreak(n), quorumOf(n)].map((least) => blocksPerGain(tail(n, least, stake)));
    return [String(n), `${stake} %`, ...blocks.flatMap((count) => [show(count), show(count * BLOCK_ETH)])];
  });
  return markdownTable(["n", "stake s", "> f: blocks", "ETH", "> 2/3: blocks", "ETH"], rows);
}

/** The table of how often an attacker proposes the request's block and all others before the seed block. */
function lookahead(): string {
  const delays = [2, 4, 8, 16] as const;
  const rows = ([1, 10, 20, 33] as const).map((share) => [
    `${share} %`,
    ...delays.map((delay) => duration(secondsToRun(share / 100, delay))),
  ]);
  return markdownTable(["p", ...delays.map((delay) => `delay ${delay}${delay === SEED_DELAY ? " (ours)" : ""}`)], rows);
}

function cases(): readonly (readonly [n: number, stake: number])[] {
  return SIZES.flatMap((n) => STAKES.map((stake) => [n, stake] as const));
}

function tail(n: number, least: number, stake: number): number {
  const { numerator, denominator } = binomialTail(n, least, { numerator: BigInt(stake), denominator: 100n });
  return Number(numerator) / Number(denominator);
}

/** Formats three significant digits. */
function show(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : Number(value.toPrecision(3)).toString();
}

function duration(seconds: number): string {
  const units = [
    ["years", 365.25 * 86_400],
    ["days", 86_400],
    ["hours", 3_600],
    ["minutes", 60],
  ] as const;
  const [unit, size] = units.find(([, length]) => seconds >= 2 * length) ?? (["seconds", 1] as const);
  const count = seconds / size;
  return count >= 1e6 ? `${count.toExponential(1)} ${unit}` : `${show(count)} ${unit}`;
}
