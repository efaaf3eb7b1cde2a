import { Parser } from "htmlparser2";
import { Article } from "./article.ts";
import { ReadingError } from "./failure.ts";
import { ELEMENT, TEXT, isHidden, spaced, tidy, treeOf, type TreeElement, type TreeNode } from "./tree.ts";

/** More than pages have; readability takes time that grows with the product of both. */
const MAX_DEPTH = 128;
const MAX_ELEMENTS = 20_000;
const MAX_ATTRIBUTES = 50_000;
/** Attributes, comments and pieces of text. */
const MAX_PARTS = 100_000;
/** Elements that end the line before and after them. */
const BLOCKS: ReadonlySet<string> = new Set(
  "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead tr ul".split(
    " ",
  ),
);
/** Elements whose words are not shown, beside those that the tree has without words. */
const UNSEEN: ReadonlySet<string> = new Set("head noscript script style".split(" "));
/** Elements that stand in a line beside their like. */
const CELLS: ReadonlySet<string> = new Set(["td", "th"]);

/** EV11: the article of a page, as readability finds it, else all that the page shows. No script runs. */
export function readHtml(html: string): { readonly title: string; readonly text: string } {
  requireBounded(html);
  const document = treeOf(html);
  const { title } = document;
  const root = document.documentElement as TreeElement;
  if (isHidden(root)) return { title, text: "" };
  tidy(root);
  const article = new Article(document).parse();
  if (article?.content) return { title: article.title ?? title, text: shownIn(article.content) };
  // Readability took the tree to pieces.
  const whole = treeOf(html).documentElement as TreeElement;
  tidy(whole);
  return { title, text: shownIn(whole) };
}

/** Counts without a tree, and stops at the first thing too many. */
function requireBounded(html: string): void {
  const refuse = (why: string): never => {
    throw new ReadingError("too-large", `the page ${why}`);
  };
  let [depth, elements, attributes, parts] = [0, 0, 0, 0];
  const count = (): void => {
    parts += 1;
    if (parts > MAX_PARTS) refuse(`has more than ${MAX_PARTS} attributes, comments and pieces of text`);
  };
  const parser = new Parser({
    onopentag() {
      depth += 1;
      elements += 1;
      if (depth > MAX_DEPTH) refuse(`is nested deeper than ${MAX_DEPTH}`);
      if (elements > MAX_ELEMENTS) refuse(`has more than ${MAX_ELEMENTS} elements`);
    },
    onclosetag() {
      depth -= 1;
    },
    onattribute() {
      attributes += 1;
      if (attributes > MAX_ATTRIBUTES) refuse(`has more than ${MAX_ATTRIBUTES} attributes`);
      count();
    },
    ontext: count,
    oncomment: count,
  });
  parser.end(html);
}

/** The words below a node, blocks on lines of their own, cells apart. */
function shownIn(node: TreeNode): string {
  if (node.nodeType === TEXT) return spaced(node.textContent ?? "");
  const name = node.nodeName.toLowerCase();
  if (node.nodeType === ELEMENT && UNSEEN.has(name)) return "";
  const words = Array.from(node.childNodes, shownIn).join("");
  if (BLOCKS.has(name)) return `\n${words}\n`;
  return CELLS.has(name) ? ` ${words} ` : words;
}
