import { getDocument } from "unpdf/pdfjs";
import { limits } from "../../core/limits.ts";
import { ReadingError } from "./failure.ts";

const MAX_PAGES = 500;
const SILENT = 0;

/** EV11: the words of a PDF, page after page, in the order in which it draws them; no script of it runs, and no font is loaded. */
export async function readPdf(body: Uint8Array): Promise<{ readonly title: string; readonly text: string }> {
  const loading = getDocument({
    data: Uint8Array.from(body),
    disableFontFace: true,
    useSystemFonts: false,
    isEvalSupported: false,
    useWorkerFetch: false,
    stopAtErrors: true,
    verbosity: SILENT,
  });
  try {
    const document = await loading.promise;
    const pages = document["numPages"];
    if (pages > MAX_PAGES) throw new ReadingError("too-large", `the PDF has ${pages} pages, more than ${MAX_PAGES}`);
    const { info } = await document.getMetadata();
    const title = (info as { readonly Title?: unknown }).Title;
    let text = "";
    for (let number = 1; number <= pages && text.length <= limits.snapshotTextBytes; number += 1) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      text += items.map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : "")).join("");
      text += "\n";
      page.cleanup();
    }
    return { title: typeof title === "string" ? title : "", text };
  } catch (error) {
    if (error instanceof ReadingError) throw error;
    throw new ReadingError("undecodable", `the body is no PDF that can be read (${(error as Error).name})`);
  } finally {
    await loading.destroy();
  }
}
