import type { Deliberation } from "../../node/audit/deliberation.ts";
import { escapeXml, transcriptSvg } from "./graph.ts";
import { factsOf, linesOf, numbers, titleOf } from "./lines.ts";

/** Most messages for which the page has a picture. */
const MAX_DRAWN = 200;

const STYLE = `
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}
dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
section{border-top:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.5rem 0}
h2{font-size:1rem;margin:0}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0}
.picture{overflow-x:auto}
`;

/** Writes one file without scripts; it loads nothing, whatever the texts contain. */
export function transcriptHtml(deliberation: Deliberation): string {
  const { messages, attempt } = deliberation;
  const facts = factsOf(deliberation).map(
    ({ name, text }) => `<dt>${escapeXml(name)}</dt><dd><bdi>${escapeXml(text)}</bdi></dd>`,
  );
  const sections = messages.map((spoken, index) => {
    const lines = linesOf(deliberation, spoken).map(({ depth, text }) => `${"  ".repeat(depth)}${text}`);
    const parents = spoken.parents.length === 0 ? "" : `<p>held ${numbers(spoken.parents)}</p>`;
    return `<section id="m${index + 1}"><h2>${escapeXml(titleOf(deliberation, index))}</h2><pre>${escapeXml(lines.join("\n"))}</pre>${parents}<p><small>${spoken.cid}</small></p></section>`;
  });
  const picture = messages.length > MAX_DRAWN ? [] : [`<div class="picture">${transcriptSvg(deliberation)}</div>`];
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width">',
    `<title>Conclave request ${attempt.request.id}</title><style>${STYLE}</style></head><body>`,
    `<h1>Request ${attempt.request.id}</h1>`,
    `<dl>${facts.join("")}</dl>`,
    ...picture,
    ...sections,
    "</body></html>",
  ].join("\n");
}
