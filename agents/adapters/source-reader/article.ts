import { Readability } from "@mozilla/readability";
import type { Tree, TreeElement, TreeNode } from "./tree.ts";

/** More characters than the title of a snapshot has. */
const MAX_TITLE = 1000;

/** Readability, but for what takes it time that grows with the square of a text's length, or with its pieces. */
export class Article extends Readability<TreeNode> {
  declare _flags: number;
  readonly #root: TreeElement;

  constructor(document: Tree) {
    super(document, { serializer: (element) => element, charThreshold: 0 });
    this.#root = document.documentElement as TreeElement;
  }

  /** How much of a heading's words stand in a title: 1 for all, 0 for none. Readability looks each up in a list, however many there are. */
  _textSimilarity(first: string, second: string): number {
    const [known, words] = [new Set(wordsOf(first)), wordsOf(second)];
    if (known.size === 0 || words.length === 0) return 0;
    const others = words.filter((word) => !known.has(word));
    return 1 - others.join(" ").length / words.join(" ").length;
  }

  /** Readability calls this when it begins anew with a tree that it parsed again, whose text is in pieces. */
  _removeFlag(flag: number): void {
    this._flags &= ~flag;
    this.#root.normalize();
  }
}

function wordsOf(text: string): readonly string[] {
  return text.slice(0, MAX_TITLE).toLowerCase().split(/\W+/).filter(Boolean);
}
