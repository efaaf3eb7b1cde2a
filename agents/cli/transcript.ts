import { readDeliberation, type Deliberation } from "../node/deliberation.ts";
import { parseRequestId, usage } from "./arguments.ts";
import { createAuditReader } from "./audit-reader.ts";
import { chainFlags, findChain, type ChainFlags } from "./chain-source.ts";
import type { CommandSpec } from "./command.ts";
import { committeeFirst } from "./committee-first.ts";
import { contentFlags, openContentSource, type ContentFlags } from "./content-source.ts";
import { printable } from "./output.ts";
import { transcriptDot, transcriptSvg } from "./transcript-graph.ts";
import { transcriptHtml } from "./transcript-html.ts";
import { linesOf } from "./transcript-lines.ts";
import { transcriptText } from "./transcript-text.ts";

interface Options extends ChainFlags, ContentFlags {
  readonly html?: true;
  readonly dot?: true;
  readonly svg?: true;
}

const forms = { html: transcriptHtml, dot: transcriptDot, svg: transcriptSvg } as const;

export const transcript: CommandSpec<Options> = {
  name: "transcript <id>",
  summary: "read a deliberation: who said what, the votes, the counter-proofs, why it ended; verifies it first",
  example: "conclave transcript 1\nconclave transcript 1 --html > deliberation.html",
  options: [
    { flags: "--html", description: "as one HTML file, with the graph of the messages" },
    { flags: "--dot", description: "the graph of the messages for Graphviz" },
    { flags: "--svg", description: "the graph of the messages as a picture: a lane for each seat" },
    ...contentFlags,
    ...chainFlags,
  ],
  run: async ({ args, options, host }) => {
    const requestId = parseRequestId(args[0]);
    const asked = (["html", "dot", "svg"] as const).filter((form) => options[form] === true);
    const [form, second] = asked;
    if (second !== undefined) throw usage(`--${second}`, "", "give one of --html, --dot and --svg");
    const chain = await createAuditReader(await findChain(options, host), host.signal);
    const store = await openContentSource(options, () => committeeFirst(chain, requestId, host.signal), host);
    try {
      const { report, deliberation } = await readDeliberation({ chain, store, requestId, signal: host.signal });
      if (deliberation === null) {
        const reason = printable(report.failure?.reason ?? "");
        return { json: { report, messages: [] }, text: `request ${requestId}: ${reason}`, ok: false };
      }
      const text = (form === undefined ? transcriptText : forms[form])(deliberation);
      return { json: { report, messages: jsonOf(deliberation) }, text, ok: report.ok };
    } finally {
      await store.close();
    }
  },
};

function jsonOf(deliberation: Deliberation): readonly object[] {
  return deliberation.messages.map((spoken, index) => ({
    number: index + 1,
    cid: spoken.cid,
    round: spoken.header.round,
    phase: spoken.header.phase,
    seat: spoken.header.seat,
    says: spoken.reading?.name ?? null,
    held: spoken.parents.map((parent) => parent + 1),
    lines: linesOf(deliberation, spoken).map(({ depth, text, about }) => ({
      depth,
      text,
      about: about.map((one) => one + 1),
    })),
  }));
}
