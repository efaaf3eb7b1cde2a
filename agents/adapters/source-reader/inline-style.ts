/** What stands in a style beside its words. */
const COMMENT = String.raw`\/\*[^]*?(?:\*\/|$)`;
const STRING = String.raw`"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?`;
const ESCAPE = String.raw`\\(?:[\da-f]{1,6}(?:\r\n|[ \t\n\r\f])?|[^])`;
const SPECIAL = new RegExp(`${COMMENT}|${STRING}|${ESCAPE}`, "gi");

const S = String.raw`[ \t\n\r\f]*`;
const HIDDEN = `display${S}:${S}none|visibility${S}:${S}(?:hidden|collapse)`;
const HIDING = new RegExp(`(?:^|;)${S}(?:${HIDDEN})${S}(?:!${S}important${S})?(?=;|$)`, "i");

/** EV11: whether an inline style has a declaration that hides its element, however it is written. */
export function hides(style: string): boolean {
  return HIDING.test(style.replaceAll(SPECIAL, simplified));
}

/** A comment as a space, a string as an empty one, an escape as its character if that may stand in a name. */
function simplified(special: string): string {
  if (special.startsWith("/*")) return " ";
  if (!special.startsWith("\\")) return '""';
  const code = special.slice(1);
  // A number ends before the white space.
  const character = /^[\da-f]/i.test(code) ? String.fromCharCode(Number.parseInt(code, 16)) : code;
  return /^[a-z-]$/i.test(character) ? character : "?";
}
