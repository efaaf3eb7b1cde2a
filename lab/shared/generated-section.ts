/** Replaces what stands between `<!-- generated: name -->` and the next `<!-- end -->`; throws when the marks are not there. */
export function replaceSection(document: string, name: string, content: string): string {
  const opening = `<!-- generated: ${name} -->`;
  const start = document.indexOf(opening);
  const end = document.indexOf("<!-- end -->", start);
  if (start < 0 || end < 0) throw new Error(`Find the marks of the section "${name}": they are missing`);
  return `${document.slice(0, start + opening.length)}\n\n${content}\n\n${document.slice(end)}`;
}
