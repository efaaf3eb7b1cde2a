import {
  appealSizes,
  binomialTail,
  hypergeometricTail,
  seatsToBreak,
  showRatio,
  type Ratio,
} from "./committee-odds.ts";
import { markdownTable } from "../shared/markdown.ts";
import { quorumOf } from "../../agents/core/quorum.ts";

const SIZES = [4, 7, 10, 13, 16, 19, 25, 31, 43, 61, 64, 101] as const;
/** Hostile shares of all stake, in percent. */
const SHARES = [20, 25, 33] as const;
const APPEALS = 2;
/** Largest committee of the system. */
const MAX_COMMITTEE = 64;

/** The tables of docs/spec/complexity.md, as Markdown. */
export function oddsTables(): string {
  return [committees(), appeals(), fewAgents()].join("\n\n");
}

function committees(): string {
  return markdownTable(
    ["n", "f + 1", ...SHARES.map((share) => `${share} %`), "> 2/3", ...SHARES.map((share) => `${share} %`)],
    SIZES.map((n) => [
      String(n),
      String(seatsToBreak(n)),
      ...SHARES.map((share) => odds(n, seatsToBreak(n), share)),
      String(quorumOf(n)),
      ...SHARES.map((share) => odds(n, quorumOf(n), share)),
    ]),
  );
}

function appeals(): string {
  const rows = SIZES.map((n) => {
    const last = appealSizes(n, APPEALS).at(-1) as number;
    return [
      appealSizes(n, APPEALS).join(" > ") + (last > MAX_COMMITTEE ? " *" : ""),
      ...SHARES.map((share) => odds(last, seatsToBreak(last), share)),
      ...SHARES.map((share) => odds(last, quorumOf(last), share)),
    ];
  });
  const heading = (what: string) => SHARES.map((share) => `${what}, ${share} %`);
  return markdownTable(["sizes", ...heading("f + 1"), ...heading("> 2/3")], rows);
}

/** The table for few agents. */
function fewAgents(): string {
  const share = 25;
  const registered = [40, 100, 400] as const;
  return markdownTable(
    ["n", "f + 1", ...registered.map((agents) => `${agents} agents`), "many agents"],
    ([4, 7, 13, 31] as const).map((n) => [
      String(n),
      String(seatsToBreak(n)),
      ...registered.map((agents) => showRatio(hypergeometricTail(agents, (agents * share) / 100, n, seatsToBreak(n)))),
      odds(n, seatsToBreak(n), share),
    ]),
  );
}

function odds(n: number, least: number, share: number): string {
  const ratio: Ratio = { numerator: BigInt(share), denominator: 100n };
  return showRatio(binomialTail(n, least, ratio));
}
