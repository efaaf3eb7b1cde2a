import { ConclaveError } from "../../core/errors.ts";
import { conflictsOf } from "../../node/audit/argument.ts";
import type { Deliberation, Spoken } from "../../node/audit/deliberation.ts";
import { printable } from "../shared/output.ts";
import { numbers } from "./lines.ts";

/** Draws the graph of a transcript's messages: an edge leads from a message to one that its sender held before. */

/** Most messages in a picture; with more it is unreadable. DOT has no such bound. */
const MAX_DRAWN = 600;
const COLUMN = 120;
const ROW = 64;
const MARGIN = 72;
const RADIUS = 15;

export function transcriptDot({ messages }: Deliberation): string {
  const nodes = messages.map(({ header, rendering }, index) => {
    const name = rendering?.name ?? "refused";
    return `  m${index + 1} [label=${dotText(`[${index + 1}] seat ${header.seat}\n${name} ${header.round}`)}];`;
  });
  const edges = messages.flatMap(({ parents }, index) => parents.map((parent) => `  m${index + 1} -> m${parent + 1};`));
  return ["digraph transcript {", "  rankdir=RL;", "  node [shape=box];", ...nodes, ...edges, "}"].join("\n");
}

/** Quotes text for DOT: our line feeds become breaks, backslashes of others stay backslashes. */
function dotText(text: string): string {
  const lines = text.split("\n").map((line) => printable(line).replaceAll("\\", "\\\\").replaceAll('"', '\\"'));
  return `"${lines.join("\\n")}"`;
}

/**
 * Draws a lane for each seat, with time from left to right. Colours follow the reader's scheme, light or dark. Throws
 * USAGE if there are too many messages to draw.
 */
export function transcriptSvg(deliberation: Deliberation): string {
  const { messages, attempt } = deliberation;
  if (messages.length > MAX_DRAWN)
    throw new ConclaveError(
      "USAGE",
      `Draw ${messages.length} messages: a picture of more than ${MAX_DRAWN} cannot be read; use --dot`,
      { option: "--svg", messages: messages.length },
    );
  const columns = columnsOf(messages);
  const placeNames = messages.map(({ header }, index) => `${header.seat} ${columns[index]}`);
  // A seat that signed twice for one slot has its messages side by side.
  const sharing = Map.groupBy(messages.keys(), (index) => placeNames[index]);
  const place = (index: number): readonly [x: number, y: number] => {
    const placed = sharing.get(placeNames[index]) as readonly number[];
    const aside = (placed.indexOf(index) + 0.5) / placed.length - 0.5;
    return [
      MARGIN + ((columns[index] as number) + 0.5 + (aside * 2) / 3) * COLUMN,
      ROW * ((messages[index] as Spoken).header.seat + 1),
    ];
  };
  const width = MARGIN + (Math.max(-1, ...columns) + 1) * COLUMN;
  const height = ROW * (attempt.committee.length + 1);
  const lanes = attempt.committee.map((_, seat) => {
    const y = ROW * (seat + 1);
    return `<text x="8" y="${y + 4}">seat ${seat}</text><path class="lane" d="M${MARGIN} ${y}H${width}"/>`;
  });
  const edges = messages.flatMap(({ parents }, index) =>
    parents.map((parent) => `<path class="held" d="${curve(place(index), place(parent))}"/>`),
  );
  const nodes = messages.map((spoken, index) =>
    nodeOf(spoken, index, place(index), numbers(conflictsOf(messages, spoken))),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="messages by seat, from left to right">`,
    `<style>${STYLE}</style>`,
    ...lanes,
    ...edges,
    ...nodes,
    "</svg>",
  ].join("\n");
}

const STYLE = `
svg{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--faint:#c4cad1;--edge:#8b94a0;--bad:#b3261e;background:var(--paper)}
@media(prefers-color-scheme:dark){svg{--ink:#e6e9ed;--paper:#14171a;--faint:#3a424b;--edge:#7b8692;--bad:#f2857d}}
text{font:12px system-ui,sans-serif;fill:var(--ink)}
.lane{stroke:var(--faint);stroke-dasharray:2 4}
.held{stroke:var(--edge);stroke-width:.7;fill:none}
circle{fill:var(--paper);stroke:var(--ink)}
.twice circle{stroke:var(--bad);stroke-width:2}
.twice text{fill:var(--bad)}
.number,.name{text-anchor:middle}
.name{font-size:10px}
`;

/** @param conflicting numbers of the other messages that its seat signed for the same slot; "" if there are none */
function nodeOf(
  { header, rendering }: Spoken,
  index: number,
  [x, y]: readonly [number, number],
  conflicting: string,
): string {
  const name = escapeXml(printable(rendering?.name ?? "refused"));
  const [mark, also] = conflicting === "" ? ["", ""] : [' class="twice"', `; its seat signed ${conflicting}, too`];
  const title = `<title>[${index + 1}] seat ${header.seat}, ${name} of round ${header.round}${also}</title>`;
  const number = `<text class="number" x="${x}" y="${y + 4}">${index + 1}</text>`;
  return `<g${mark}>${title}<circle cx="${x}" cy="${y}" r="${RADIUS}"/>${number}<text class="name" x="${x}" y="${y + RADIUS + 11}">${name}</text></g>`;
}

function curve([fromX, fromY]: readonly [number, number], [toX, toY]: readonly [number, number]): string {
  const [start, end] = [fromX - RADIUS, toX + RADIUS];
  const middle = (start + end) / 2;
  return `M${start} ${fromY}C${middle} ${fromY} ${middle} ${toY} ${end} ${toY}`;
}

/**
 * Returns each message's column: a round and phase is a column, and a message stands right of those that its sender
 * held.
 */
function columnsOf(messages: readonly Spoken[]): readonly number[] {
  const positions = [...new Set(messages.map(({ header }) => `${header.round}.${header.phase}`))];
  const columns = messages.map(({ header }) => positions.indexOf(`${header.round}.${header.phase}`));
  // Parents may come later in the order of the root. There is no cycle, but the passes are bounded anyway.
  for (let pass = 0; pass < messages.length; pass++) {
    let moved = false;
    for (const [index, { parents }] of messages.entries()) {
      const least = Math.max(0, ...parents.map((parent) => (columns[parent] as number) + 1));
      if (least <= (columns[index] as number)) continue;
      columns[index] = least;
      moved = true;
    }
    if (!moved) break;
  }
  return columns;
}

export function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
