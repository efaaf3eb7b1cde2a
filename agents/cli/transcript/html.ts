import type { Deliberation } from "../../node/audit/deliberation.ts";
import { escapeXml, transcriptSvg } from "./graph.ts";
import { printable } from "../shared/output.ts";
import { factsOf, linesOf, numbers, recordOf, sharesOf, titleOf, type Fact } from "./lines.ts";
import { ANSWERS_HEAD, storyOf, type Equivocation } from "./story.ts";

/** Most messages for which the page has a picture. */
const MAX_DRAWN = 200;

const STYLE = `
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}
dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
section{border-top:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.5rem 0}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:1.5rem 0 .25rem}h3{font-size:1rem;margin:0}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0}
.picture{overflow-x:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:start;vertical-align:top;padding:.25rem .75rem .25rem 0;overflow-wrap:anywhere}
tr+tr{border-top:1px solid color-mix(in srgb,currentColor 20%,transparent)}
.bad{color:light-dark(#b3261e,#f2857d)}.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(16rem,1fr));gap:1rem}
.sides>div{border:1px solid light-dark(#b3261e,#f2857d);border-radius:.25rem;padding:.5rem}
summary{cursor:pointer;margin:1rem 0 .5rem}
`;

/** Writes one file without scripts; it loads nothing, whatever the texts contain. The argument comes first, the record is folded. */
export function transcriptHtml(deliberation: Deliberation, slashed: readonly string[]): string {
  const { messages, attempt } = deliberation;
  const { answers, objections, changes, equivocations } = storyOf(deliberation);
  const shares = sharesOf(deliberation);
  const sections = messages.map((spoken, index) => {
    const lines = linesOf(deliberation, spoken).map(({ depth, text }) => `${"  ".repeat(depth)}${text}`);
    const parents = spoken.parents.length === 0 ? "" : `<p>held ${numbers(spoken.parents)}</p>`;
    return `<section id="m${index + 1}"><h3>${escapeXml(titleOf(deliberation, index))}</h3><pre>${escapeXml(lines.join("\n"))}</pre>${parents}<p><small>${spoken.cid}</small></p></section>`;
  });
  const picture = messages.length > MAX_DRAWN ? [] : [`<div class="picture">${transcriptSvg(deliberation)}</div>`];
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width">',
    `<title>Conclave request ${attempt.request.id}</title><style>${STYLE}</style></head><body>`,
    `<h1>${bdi(attempt.request.question)}</h1>`,
    factList(factsOf(deliberation)),
    "<h2>Answers</h2>",
    `<table><tr>${ANSWERS_HEAD.map((name) => `<th scope="col">${name}</th>`).join("")}</tr>`,
    ...answers.map((row) => `<tr>${row.map((cell) => `<td>${bdi(cell)}</td>`).join("")}</tr>`),
    "</table>",
    ...listed("Objections", objections),
    ...listed("Changed their minds", changes),
    ...equivocations.map(equivocationHtml),
    ...(equivocations.length === 0 ? [] : slashed.map((line) => `<p>${bdi(line)}</p>`)),
    ...(shares.length === 0 ? [] : ["<h2>Shares</h2>", factList(shares)]),
    ...picture,
    `<details><summary>Record</summary>${factList(recordOf(deliberation))}</details>`,
    `<details><summary>${messages.length} messages</summary>`,
    ...sections,
    "</details>",
    "</body></html>",
  ].join("\n");
}

function factList(facts: readonly Fact[]): string {
  const entries = facts.map(({ name, text }) => `<dt>${escapeXml(name)}</dt><dd>${bdi(text)}</dd>`);
  return `<dl>${entries.join("")}</dl>`;
}

function listed(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [`<h2>${title}</h2>`, `<ul>${lines.map((line) => `<li>${bdi(line)}</li>`).join("")}</ul>`];
}

function equivocationHtml({ title, sides }: Equivocation): string {
  const pair = sides.map((side) => {
    const differing = side.differing.length === 0 ? "" : `<p class="bad">differs</p>${linesHtml(side.differing)}`;
    const same = side.same.length === 0 ? "" : `<p>the same in all</p>${linesHtml(side.same)}`;
    return `<div><h3>${escapeXml(side.title)}</h3>${differing}${same}</div>`;
  });
  return `<h2 class="bad">Equivocation</h2><p>${escapeXml(title)}</p><div class="sides">${pair.join("")}</div>`;
}

function linesHtml(lines: readonly string[]): string {
  return `<pre>${escapeXml(lines.join("\n"))}</pre>`;
}

/** A stranger's text, whose direction of writing stays its own. */
function bdi(text: string): string {
  return `<bdi>${escapeXml(printable(text))}</bdi>`;
}
