import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { createAnswerBook, type AnswerBook } from "../eval/answer-book.ts";
import { greedyOf, openVariants } from "../eval/models.ts";
import { replaceSection } from "../shared/generated-section.ts";
import { provenanceOf } from "../shared/provenance.ts";
import { paperOptionsFrom } from "./options.ts";
import { svgOf } from "./plot.ts";
import { findingsText } from "./report.ts";
import type { Findings } from "./study.ts";

const lab = join(import.meta.dirname, "..");

/**
 * Runs the study of one paper and returns the exit code. Throws CommanderError, USAGE, and what opening a model
 * throws.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const { study, isQuick, size, seed, jobs, cache, model, json, writes } = paperOptionsFrom(argv);
  const started = performance.now();
  const opened: { book: AnswerBook | null } = { book: null };
  try {
    const findings = await study.run({
      isQuick,
      size,
      seed,
      book: async () =>
        (opened.book ??= createAnswerBook(await openVariants([model, ...greedyOf([model])], jobs), cache)),
      tell: (line) => process.stderr.write(`${line}\n`),
    });
    const provenance = provenanceOf("papers", argv, [seed], opened.book, (performance.now() - started) / 1000);
    const text = findingsText(findings, provenance);
    if (writes) await write(`papers ${study.id}`, text, findings);
    process.stdout.write(json ? `${JSON.stringify({ provenance, ...findings })}\n` : `${text}\n`);
    return 0;
  } finally {
    await opened.book?.close();
  }
}

async function write(section: string, text: string, { charts }: Findings): Promise<void> {
  const results = join(lab, "results.md");
  const plots = join(lab, "plots");
  const files = new Map([[results, replaceSection(readFileSync(results, "utf8"), section, text)]]);
  for (const chart of charts) files.set(join(plots, `${chart.file}.svg`), await svgOf(chart));
  mkdirSync(plots, { recursive: true });
  for (const [path, content] of files) {
    writeFileSync(path, content);
    process.stderr.write(`${relative(process.cwd(), path)} is written\n`);
  }
}
