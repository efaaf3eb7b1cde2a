/** A spreadsheet's number, which may begin with a sign but is no formula. */
const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;
/**
 * Beginnings that spreadsheets run as formulas, some also in full width; questions come from anybody. In half of Europe
 * a semicolon separates cells, so text after one begins a cell as well.
 */
const FORMULA = /(^|;)(["'\s]*)([=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20])/g;

/**
 * Writes lines by RFC 4180, the head first. Text that a spreadsheet would run as a formula begins with an apostrophe.
 */
export function csv(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, ...lines].map((line) => line.map(cell).join(",")).join("\r\n");
}

function cell(text: string): string {
  const harmless = NUMBER.test(text) ? text : text.replaceAll(FORMULA, "$1'$2$3");
  return /[",;\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
