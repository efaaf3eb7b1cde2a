// A plugin of the linter: which folder may use files of which. It resolves every path that a file names, so a detour hides nothing.
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** What the rule reads of a syntax tree (ESTree). */
interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly name?: string;
  readonly callee?: Node;
  readonly source?: Node;
  readonly arguments?: readonly Node[];
  readonly quasis?: readonly { readonly value: { readonly cooked: string | null } }[];
  readonly expressions?: readonly Node[];
  readonly elements?: readonly (Node | null)[];
  readonly object?: Node;
  readonly property?: Node;
  readonly parent?: Node;
}

interface Context {
  readonly cwd: string;
  readonly filename: string;
  report(finding: { readonly node: Node; readonly message: string }): void;
}

type Visitor = Readonly<Record<string, (node: Node) => void>>;

/** A folder, the other folders whose files its files may use, and why no others. */
type Layer = readonly [folder: string, uses: readonly string[], because: string];

const PRODUCT = [
  "agents/core",
  "agents/ports",
  "agents/adapters",
  "agents/node",
  "agents/cli",
  "sdk",
  "dashboard",
  "subgraph",
];
/** What the chain runs, and how it gets there. */
const CHAIN = ["contracts", "ignition"];
const NO_TOOLS = "The product uses nothing of tools, simulator, devnet, lab or tests.";

/** A file belongs to the layer whose folder holds it. Entry points (scripts/*.ts) and test suites may use everything. */
const LAYERS: readonly Layer[] = [
  ["agents/core", [], "The core depends on nothing outside itself."],
  ["agents/ports", ["agents/core"], "A port is an interface over the core's types, and names no technology."],
  ["agents/adapters", ["agents/core", "agents/ports"], "An adapter knows the core and the ports only."],
  ["agents/node", ["agents/core", "agents/ports"], "The runtime knows ports; only the CLI joins it to adapters."],
  ["agents/cli", PRODUCT, NO_TOOLS],
  [
    "sdk",
    ["agents/core", "agents/ports", "agents/adapters", "agents/node"],
    "The SDK bundles the agents' code, and nothing of tools or tests.",
  ],
  ["dashboard", ["sdk"], "The dashboard knows the SDK, as any web page may."],
  ["subgraph", [], NO_TOOLS],
  ["models", PRODUCT, NO_TOOLS],
  ["contracts", [], "The package of contracts stands by itself."],
  ["ignition", ["agents/core", "agents/ports"], "A deployment knows contracts and what they mean, and no tools."],
  [
    "sim",
    ["agents/core", "agents/ports", "agents/node", "agents/adapters/memory", "scripts"],
    "The simulator uses the in-memory adapters, so that a seed decides everything.",
  ],
  [
    "scripts",
    [...PRODUCT, "ignition", "hardhat.config.ts"],
    "Repository tools know the product only; the entry points beside them may know more.",
  ],
  ["devnet", [...PRODUCT, "ignition", "scripts", "sim"], "A local world is built from product, simulator and tools."],
  ["chaos", [...PRODUCT, "scripts", "sim", "devnet"], "The harness breaks a local world from outside."],
  [
    "lab",
    [...PRODUCT, "ignition", "scripts", "sim", "devnet", "test/support"],
    "Studies use test support, not test suites.",
  ],
  [
    "test/support",
    [...PRODUCT, "ignition", "scripts", "sim", "devnet"],
    "Test support serves the product's tests, not the lab's.",
  ],
];
/** The layers whose files may name no data of other folders either, and load only what a string names. */
const STRICT = new Set([...PRODUCT, ...CHAIN, "models"]);
const IS_CODE = /\.[cm]?[jt]sx?$/;
/** Any other path leads to data. The settings of Hardhat load tools. */
const CODE = [
  "hardhat.config.ts",
  "agents",
  "sdk",
  "dashboard",
  "subgraph",
  "ignition",
  "scripts",
  "sim",
  "devnet",
  "chaos",
  "lab",
  "test",
  "vendor",
];
const UP = /^(?:\.{0,2}\/)+/;

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function layerOf(file: string): Layer | undefined {
  const folder = dirname(file);
  return folder === "scripts" ? undefined : LAYERS.find(([own]) => isIn(folder, own));
}

/** The text of a string or of a template without holes; null for what only a run can tell. */
function textOf(node: Node | undefined): string | null {
  if (node?.type === "Literal") return typeof node.value === "string" ? node.value : null;
  return node?.type === "TemplateLiteral" && node.expressions?.length === 0 ? headOf(node) : null;
}

/** The text of a template up to its first hole. */
function headOf({ quasis }: Node): string {
  return quasis?.[0]?.value.cooked ?? "";
}

function isNamed(node: Node | undefined, name: string): boolean {
  return node?.type === "Identifier" && node.name === name;
}

/** True of `join(...)`, `path.resolve(...)`, `[...].join("/")`. */
function isPathCall(callee: Node | undefined): boolean {
  const name = callee?.property ?? callee;
  return isNamed(name, "join") || isNamed(name, "resolve");
}

function layers(context: Context): Visitor {
  const file = posix(relative(context.cwd, context.filename));
  const layer = layerOf(file);
  if (layer === undefined) return {};
  const [own, uses, because] = layer;
  const isStrict = STRICT.has(own);

  const checkText = (node: Node, text: string, isEnd: boolean): void => {
    const isImport = /^(?:Import|Export)/.test(node.parent?.type ?? "");
    const target = targetsOf(text, isEnd, isImport).find(isForbidden);
    if (target !== undefined) context.report({ node, message: `${because} This leads to ${target}.` });
  };

  /** A path by its last parts: `join(root, "sim", "x.ts")` leads to sim/x.ts. */
  const checkParts = (node: Node, parts: readonly (Node | null)[]): void => {
    const texts = parts.map((part) => textOf(part ?? undefined));
    const named = texts.slice(texts.lastIndexOf(null) + 1).join("/");
    const target = named.replace(UP, "");
    if (isForbidden(target)) context.report({ node, message: `${because} This leads to ${target}.` });
  };

  function isForbidden(target: string): boolean {
    if ([own, ...uses].some((place) => isIn(target, place))) return false;
    return CODE.some((place) => isIn(target, place));
  }

  /** The paths from the repository's root that a text may name. The text may be the end of a longer path. */
  function targetsOf(text: string, isEnd: boolean, isImport: boolean): readonly string[] {
    if (!isStrict && !IS_CODE.test(text)) return [];
    if (text.startsWith("file:")) return [posix(relative(context.cwd, fileURLToPath(text)))];
    const isPath = text.startsWith(".") || isAbsolute(text);
    const target = isPath ? [posix(relative(context.cwd, resolve(dirname(context.filename), text)))] : [];
    // Alone it begins at the root of the disk, or of a web site; an import begins at its file.
    if ((text.startsWith("/") && !isEnd) || isImport) return target;
    return isStrict && text.includes("/") && /^[\w/.-]+$/.test(text) ? [...target, text.replace(UP, "")] : target;
  }

  const checkLoad = (node: Node, named: Node | undefined): void => {
    if (textOf(named) !== null) return;
    context.report({ node, message: "Name the file to load in a string, so that the linter sees its layer." });
  };

  const texts: Visitor = {
    Literal: (node) => checkText(node, textOf(node) ?? "", node.parent?.type === "BinaryExpression"),
    TemplateLiteral: (node) => {
      for (const [index, { value }] of (node.quasis ?? []).entries()) checkText(node, value.cooked ?? "", index > 0);
    },
  };
  const loads: Visitor = {
    ImportExpression: (node) => checkLoad(node, node.source),
    CallExpression: (node) => {
      if (isPathCall(node.callee)) checkParts(node, node.callee?.object?.elements ?? node.arguments ?? []);
      if (isNamed(node.callee, "require")) checkLoad(node, node.arguments?.[0]);
      if (!isNamed(node.callee, "createRequire")) return;
      const { parent } = node;
      // Called at once with a string: what it loads is then checked as any text.
      const named = parent?.type === "CallExpression" && parent.callee === node ? parent.arguments?.[0] : undefined;
      checkLoad(node, named);
    },
    NewExpression: (node) => {
      const [named, base] = node.arguments ?? [];
      if (isNamed(node.callee, "URL") && isNamed(base?.property, "url")) checkLoad(node, named);
    },
  };
  return isStrict ? { ...texts, ...loads } : texts;
}

function posix(path: string): string {
  return path.replaceAll("\\", "/");
}

// oxlint-disable-next-line import/no-default-export -- The linter takes a plugin as the default export.
export default { meta: { name: "conclave" }, rules: { layers: { create: layers } } };
