import { parseHTML } from "linkedom/worker";
import { hides } from "./inline-style.ts";

export type Tree = ReturnType<typeof parseHTML>["document"];

/** The part of the DOM that is read here: Node's own types do not have it. */
export interface TreeNode {
  readonly nodeType: number;
  readonly nodeName: string;
  textContent: string | null;
  /** This and the attributes are as they are when they are asked for. */
  readonly childNodes: ArrayLike<TreeNode> & Iterable<TreeNode>;
  remove(): void;
}

export interface TreeElement extends TreeNode {
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  replaceChildren(): void;
  normalize(): void;
}

export const ELEMENT = 1;
export const TEXT = 3;
const COMMENT = 8;

/** Elements of which a browser shows no words: what stands in them is for older ones, or something else is shown in its place. */
const WORDLESS: ReadonlySet<string> = new Set(
  "audio canvas datalist iframe meter noembed noframes object progress rp svg template video".toUpperCase().split(" "),
);
/** Attributes by which readability tells articles, titles, names of authors, tables of data, links, pictures and films. */
const ATTRIBUTES: ReadonlySet<string> = new Set(
  "aria-hidden aria-modal class colspan content data data-src datatable href id itemprop name property rel role rowspan src summary type".split(
    " ",
  ),
);
/**
 * Expressions of readability and linkedom take time that grows with the square of a value's length, of its white space above all. More than
 * names and addresses need; a title is cut at as many bytes.
 */
const MAX_VALUE = 512;

/** The tree of a page, which may leave out the elements html and body. */
export function treeOf(html: string): Tree {
  const { document } = parseHTML(html);
  if ((document.documentElement as TreeNode | null)?.nodeName === "HTML") return document;
  return parseHTML(`<html><head></head><body>${html}</body></html>`).document;
}

/** The parser keeps the names of attributes as they are written. */
export function isHidden({ nodeName, attributes }: TreeElement): boolean {
  let isOpen = nodeName !== "DIALOG";
  for (const { name, value } of attributes) {
    const known = name.toLowerCase();
    if (known === "hidden" || known === "popover" || (known === "style" && hides(value))) return true;
    isOpen ||= known === "open";
  }
  return !isOpen;
}

/**
 * EV11: takes out of a tree what is hidden, words that no browser shows, comments, what nobody reads of attributes, and runs of white
 * space; and joins pieces of text. What is left is as large as its elements and words: no page is slower by what else it has.
 */
export function tidy(root: TreeElement): void {
  tidyElement(root);
  root.normalize();
}

function tidyElement(element: TreeElement): void {
  tidyAttributes(element);
  if (WORDLESS.has(element.nodeName)) element.replaceChildren();
  for (const child of element.childNodes) {
    const isElement = isElementNode(child);
    if (child.nodeType === COMMENT || (isElement && isHidden(child))) child.remove();
    else if (isElement) tidyElement(child);
    else if (child.nodeType === TEXT) child.textContent = spaced(child.textContent ?? "");
  }
}

function isElementNode(node: TreeNode): node is TreeElement {
  return node.nodeType === ELEMENT;
}

function tidyAttributes(element: TreeElement): void {
  const seen = new Set<string>();
  const renewed = new Map<string, string>();
  for (const { name, value } of element.attributes) {
    const known = name.toLowerCase();
    const isRead = ATTRIBUTES.has(known) && !seen.has(known);
    const tidied = isRead ? spaced(value).slice(0, MAX_VALUE) : "";
    if (isRead) seen.add(known);
    // Most stay as they are: what is made anew takes memory.
    if (isRead && name === known && tidied === value) continue;
    element.removeAttribute(name);
    if (isRead) renewed.set(known, tidied);
  }
  for (const [name, value] of renewed) element.setAttribute(name, value);
}

/** A text with one space in place of each run of white space. */
export function spaced(text: string): string {
  return text.replaceAll(/\s{2,}|[^\S ]/g, " ");
}
