import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "devnet/README.md",
  "lab/README.md",
  "lab/results.md",
  "models/README.md",
  "sim/README.md",
  ...["docs", "docs/spec", "docs/adr"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
];
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const folders = new Set(
  readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name),
);

/** Readers that a page may be for. */
const READERS = /\b(?:askers?|developers?|operators?|delegators?|auditors?|engineers?|whoever|anybody|everybody)\b/;

/** The first sentence of a page's opening lines that says for whom it is; null without one. */
function readersOf(page: string): string | null {
  const opening = readFileSync(join(root, page), "utf8").split("\n").slice(0, 6);
  return opening.find((line) => line.startsWith("For ") && READERS.test(line)) ?? null;
}

/** Text of a page without its code blocks, which hold examples. */
function proseOf(page: string): string {
  return readFileSync(join(root, page), "utf8").replaceAll(/^```[^]*?^```/gm, "");
}

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsIn(file: string): ReadonlySet<string> {
  const headings = [...readFileSync(file, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, text]) => text as string);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** True if a source declares the name: with a keyword, or as a member of a class or an interface. */
function declares(source: string, name: string): boolean {
  return new RegExp(
    `\\b(?:function|const|class|interface|type|library) ${name}\\b|^ {2}(?:(?:private|readonly|async) )*${name}\\??[(:]`,
    "m",
  ).test(source);
}

describe("pages for readers", () => {
  // The README is for everybody: it sends each reader on.
  for (const page of pages.filter((one) => one !== "README.md")) {
    it(`${page}: its first lines name its readers`, () => {
      assert.notEqual(readersOf(page), null, "say for whom the page is, in a line that begins with For");
    });
  }

  for (const page of pages) {
    it(`${page}: every relative link leads somewhere`, () => {
      const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string);
      for (const link of links.filter((target) => !/^https?:/.test(target))) {
        const [path = "", anchor] = link.split("#");
        const file = path === "" ? join(root, page) : join(root, dirname(page), path);
        assert.ok(existsSync(file), `${link}: there is no ${relative(root, file)}`);
        if (anchor !== undefined) assert.ok(anchorsIn(file).has(anchor), `${link}: there is no such heading`);
      }
    });

    it(`${page}: every path and every npm script that it names is there`, () => {
      const quoted = [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, text]) => text as string);
      for (const path of quoted.filter((text) => /^[\w.-]+\/[\w./-]*$/.test(text))) {
        const isOurs = folders.has(path.split("/")[0] as string) && !/\b[A-Z]+\b|node_modules/.test(path);
        assert.ok(!isOurs || existsSync(join(root, path)), `there is no ${path}`);
      }
      const text = readFileSync(join(root, page), "utf8");
      for (const [, script] of text.matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g))
        assert.ok(script !== undefined && script in scripts, `package.json has no script ${script}`);
    });
  }

  it("docs/README.md: each `name` in [file] is declared in that file", () => {
    const page = proseOf("docs/README.md");
    const pointers = [...page.matchAll(/((?:`\w+`(?:,\s|\sand\s)?)+)\s+in\s+\[[^\]]+\]\(([^)\s]+)\)/g)].flatMap(
      ([, names, link]) =>
        [...(names as string).matchAll(/`(\w+)`/g)].map(([, name]) => ({ name: name as string, link: link as string })),
    );
    assert.ok(pointers.length >= 30, `only ${pointers.length} pointers`);
    assert.deepEqual(
      pointers.filter(({ name, link }) => !declares(readFileSync(join(root, "docs", link), "utf8"), name)),
      [],
    );
  });

  it("no page counts the protocols, so that a new one changes no sentence", () => {
    // A decision and a measurement say what was there at their time.
    const current = pages.filter((page) => !page.startsWith("docs/adr/") && page !== "lab/results.md");
    assert.deepEqual(
      current.filter((page) => /\b(?:nine|ten|eleven|twelve)\b[\w\s]{0,8} protocols\b/i.test(proseOf(page))),
      [],
    );
  });

  it("the README fits on 150 lines", () => {
    assert.ok(readFileSync(join(root, "README.md"), "utf8").split("\n").length <= 150);
  });
});
