import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, it } from "node:test";
import { ANSWER_KINDS } from "../../agents/core/types.ts";

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

/** What programs of this repository make; no checkout holds it. */
const MADE = /^(?:\.cache\/|dashboard\/dist\b|sdk\/dist\b)/;

/** Readers, of whom each page is for one. */
const READERS = ["asker", "contract developer", "operator", "auditor", "protocol engineer"];

/** Words that name a reader, or several. */
const NAMES =
  /\b(?:contract developer|protocol engineer|asker|developer|operator|delegator|auditor|engineer|whoever|anybody|everybody)\b/g;

/** Pages for several readers, with the reason. */
const SHARED = new Map([
  ["README.md", "it sends each reader on"],
  ["docs/README.md", "it is the index"],
  ["docs/dashboard.md", "the dashboard is one program for askers, auditors and operators"],
  ["docs/operations.md", "it is the deal between operators and askers, on one page"],
  ["docs/reasons.md", "it lists the errors that anybody can get"],
]);

/** Readers that an opening names in the line that says for whom the page is, texts of links aside. */
function readersIn(opening: string): readonly string[] {
  const line = opening
    .split("\n")
    .slice(0, 6)
    .find((one) => one.startsWith("For "));
  const words = line?.replaceAll(/\[[^\]]*\]\([^)]*\)/g, "").replaceAll(/\b(\w+(?:er|or))s\b/g, "$1");
  return [...new Set(words?.match(NAMES))];
}

function readersOf(page: string): readonly string[] {
  return readersIn(readFileSync(join(root, page), "utf8"));
}

/** Pages of docs/ that the index names in the rows of each reader. */
function indexed(): ReadonlyMap<string, readonly string[]> {
  const pagesOf = new Map<string, string[]>();
  let reader = "";
  for (const [, you, read] of readFileSync(join(root, "docs/README.md"), "utf8").matchAll(
    /^\| ([a-z ]*)\| [^|]+ \| ([^|]+) \|$/gm,
  )) {
    reader = you?.trim() === "" ? reader : (you as string).trim();
    const links = [...(read as string).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => `docs/${name}`);
    pagesOf.set(reader, [...(pagesOf.get(reader) ?? []), ...links]);
  }
  return pagesOf;
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
  for (const page of pages.filter((one) => !SHARED.has(one)))
    it(`${page}: its first lines name its one reader`, () => {
      const [reader = "nobody", ...others] = readersOf(page);
      assert.deepEqual(others, [], "split the page, or move what another reader needs to where that reader looks");
      assert.ok(READERS.includes(reader), `it is for ${reader}: say For askers, or another of ${READERS.join(", ")}`);
    });

  it("would find a page for two readers, and one for nobody", () => {
    assert.deepEqual(readersIn("# A\n\nFor askers, and for operators who wait."), ["asker", "operator"]);
    assert.deepEqual(readersIn("# A\n\nFor auditors. See [what operators do](x.md)."), ["auditor"]);
    assert.deepEqual(readersIn("# A\n\nAbout askers."), []);
  });

  it("docs/README.md: the index names each page in the rows of its reader", () => {
    const pagesOf = indexed();
    const isOwn = (page: string): boolean => /^docs\/[^/]+$/.test(page) && !SHARED.has(page);
    for (const reader of READERS)
      assert.deepEqual(
        pagesOf.get(reader)?.filter(isOwn).toSorted(),
        pages.filter((page) => isOwn(page) && readersOf(page)[0] === reader).toSorted(),
        reader,
      );
    const named = [...pagesOf.values()].flat();
    assert.deepEqual(
      [...SHARED.keys()].filter((page) => /^docs\/(?!README)/.test(page) && !named.includes(page)),
      [],
    );
  });

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
        const isOurs =
          folders.has(path.split("/")[0] as string) && !/\b[A-Z]+\b|node_modules/.test(path) && !MADE.test(path);
        assert.ok(!isOurs || existsSync(join(root, path)), `there is no ${path}`);
      }
      const text = readFileSync(join(root, page), "utf8");
      for (const [, script] of text.matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g))
        assert.ok(script !== undefined && script in scripts, `package.json has no script ${script}`);
    });
  }

  it("code names only pages that are there, and headings of theirs", () => {
    const files = globSync(
      "{agents,contracts,subgraph,scripts,devnet,sim,lab,deploy,test}/**/*.{ts,sol,graphql,mjs,yml}",
      {
        cwd: root,
        exclude: (path) => /(?:^|\/)(?:node_modules|build|generated)$/.test(path),
      },
    );
    const named = files.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([link]) => ({
        file,
        link,
      })),
    );
    assert.ok(named.length >= 50, `only ${named.length} pages are named`);
    assert.deepEqual(
      named.filter(({ link }) => {
        const [path = "", anchor] = link.split("#");
        return !existsSync(join(root, path)) || (anchor !== undefined && !anchorsIn(join(root, path)).has(anchor));
      }),
      [],
    );
  });

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

  it("docs/asking.md and docs/spec/answers.md: each has a row for each kind of answer", () => {
    for (const [code, kind] of ANSWER_KINDS.entries()) {
      assert.match(proseOf("docs/asking.md"), new RegExp(`^\\| ${kind} \\| ${code} \\|`, "m"));
      assert.match(proseOf("docs/spec/answers.md"), new RegExp(`^\\| ${kind} \\|`, "m"));
    }
  });

  it("docs/spec/gas.md: its tables of decisions and calls hold what test/contracts/gas.json holds", () => {
    const { gas } = JSON.parse(readFileSync(join(root, "test/contracts/gas.json"), "utf8")) as {
      readonly gas: Readonly<Record<string, number>>;
    };
    const page = readFileSync(join(root, "docs/spec/gas.md"), "utf8");
    // lab/test/gas-docs.test.ts judges the table of what an asker pays.
    const [beginning, appeals, pays] = [
      "## A decision, all in",
      "### With an appeal allowed",
      "### What an asker pays",
    ];
    const decisions = page.slice(page.indexOf(beginning), page.indexOf(appeals));
    const appealed = page.slice(page.indexOf(appeals), page.indexOf(pays));
    const calls = page.slice(page.indexOf("## Requests and the calls"), page.indexOf("* **A request reads"));
    const cells = [
      ...[...decisions.matchAll(/^\| \d+ \| (.+) \| [^|]+ \|$/gm)].map(([, figures]) => figures as string),
      ...[...appealed.matchAll(/^\| \d+ \| (.+) \|$/gm)].map(([, figures]) => figures as string),
      ...[...calls.matchAll(/^\| [a-z][^|]+ \| (.+) \|$/gm)].map(([, figures]) => figures as string),
    ];
    const figures = cells
      .flatMap((cell) => cell.match(/\d[\d,]+/g) ?? [])
      .map((text) => Number(text.replaceAll(",", "")));
    assert.ok(figures.length >= 85, `only ${figures.length} figures`);
    const measured = new Set(Object.values(gas));
    assert.deepEqual(
      figures.filter((figure) => !measured.has(figure)),
      [],
    );
  });

  it("the README fits on 150 lines", () => {
    assert.ok(readFileSync(join(root, "README.md"), "utf8").split("\n").length <= 150);
  });
});
