/** A number of a spreadsheet, which begins with a sign but is no formula. */
const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;
/**
 * Spreadsheets run what begins so, some also in full width, and questions come from anybody. Where a semicolon parts the cells, as in
 * half of Europe, what follows one begins a cell as well.
 */
const FORMULA = /(^|;)(["'\s]*)([=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20])/g;

/** Lines as RFC 4180 has them, the head first. What a spreadsheet would run as a formula has an apostrophe before it. */
export function csv(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, ...lines].map((line) => line.map(cell).join(",")).join("\r\n");
}

function cell(text: string): string {
  const harmless = NUMBER.test(text) ? text : text.replaceAll(FORMULA, "$1'$2$3");
  return /[",;\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
