// The thread of one extraction: everything that it gets is a stranger's.
import { parentPort, workerData } from "node:worker_threads";
import { normaliseText } from "../../core/sources/text.ts";
import { limits } from "../../core/limits.ts";
import { textOf } from "./charset.ts";
import type { Extraction, ExtractionJob } from "./extraction.ts";
import { ReadingError } from "./failure.ts";

// The rule takes the port of a thread for a window.
// eslint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(await extraction(workerData as ExtractionJob));

async function extraction(job: ExtractionJob): Promise<Extraction> {
  try {
    const { title, text } = await made(job);
    return { title: shortened(title), text: shortened(text) };
  } catch (error) {
    if (!(error instanceof ReadingError)) throw error;
    return { reason: error.reason, detail: error.message };
  }
}

/** Each kind loads its own library alone. */
async function made({ kind, body, charset, pointer }: ExtractionJob): Promise<{ title: string; text: string }> {
  if (pointer !== null && kind !== "json")
    throw new ReadingError("no-such-value", "the source has a JSON pointer, but the page is no JSON");
  switch (kind) {
    case "html":
      return (await import("./html.ts")).readHtml(textOf(body, charset, true));
    case "json":
      return { title: "", text: (await import("./json-text.ts")).readJson(textOf(body, charset, false), pointer) };
    case "plain":
      return { title: "", text: textOf(body, charset, false) };
    case "pdf":
      return (await import("./pdf.ts")).readPdf(body);
  }
}

/** No more than a snapshot needs to see that the text is cut. */
function shortened(text: string): string {
  return normaliseText(text).slice(0, limits.snapshotTextBytes + 2);
}
