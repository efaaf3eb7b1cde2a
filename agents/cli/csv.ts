/** A number of a spreadsheet, which begins with a sign but is no formula. */
const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;
/** Spreadsheets run what begins so, and questions come from anybody. */
const FORMULA = /^[=+\-@\t\r]/;

/** Lines as RFC 4180 has them, the head first. What a spreadsheet would run as a formula begins with an apostrophe. */
export function csv(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, ...lines].map((line) => line.map(cell).join(",")).join("\r\n");
}

function cell(text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
