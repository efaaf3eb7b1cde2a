import { ConclaveError } from "../../core/errors.ts";
import { parseJson } from "../json.ts";
import { checkUrl, pullFailed, readPage, shownUrl } from "./server-file.ts";

/** A GGUF file on a server. */
export interface ModelPlace {
  readonly url: string;
  /** Its name in the folder of models, e.g. "Qwen3-0.6B-Q8_0.gguf". */
  readonly file: string;
  /** Header that shows a key to the server of the URL; no other server gets it. */
  readonly authorization: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const HUGGING_FACE = "https://huggingface.co";
/** `hf:OWNER/MODEL/FILE#BRANCH`, or `hf:OWNER/MODEL:QUANTIZATION`. */
const REFERENCE = /^hf:(\w[\w.-]*)\/(\w[\w.-]*)(?::([\w.-]+)|\/([^#]+?)(?:#(.+))?)?$/u;
/** What a file may be called; no part of it leads to another folder. */
const FILE_NAME = /^[A-Za-z0-9][\w.+-]{0,199}\.gguf$/iu;
const PART = /-\d{5}-of-\d{5}\.gguf$/iu;
const FORMS =
  "give hf:OWNER/MODEL:QUANTIZATION, hf:OWNER/MODEL/FILE.gguf, or the https URL of a GGUF file without a user or password";

/**
 * Returns the file that a reference names. A quantization is looked up at Hugging Face (HF_ENDPOINT names a mirror,
 * HF_TOKEN a key for models that want one). Throws USAGE, or MODEL_PULL_FAILED if the look-up fails.
 */
export async function placeOf(text: string, environment: Environment, signal: AbortSignal): Promise<ModelPlace> {
  if (!text.startsWith("hf:")) return { url: checked(text), file: fileNameOf(text), authorization: undefined };
  const [, owner = "", model = "", quantization, path, branch = "main"] = REFERENCE.exec(text) ?? [];
  if (owner === "") throw invalid(text, FORMS);
  const endpoint = (environment["HF_ENDPOINT"] ?? HUGGING_FACE).replace(/\/+$/u, "");
  const token = environment["HF_TOKEN"];
  const authorization = token === undefined ? undefined : `Bearer ${token}`;
  const name =
    path ??
    (await fileOfTag(`${endpoint}/v2/${owner}/${model}/manifests/${quantization ?? "latest"}`, authorization, signal));
  const file = name.split("/").map(encodeURIComponent).join("/");
  const url = checked(`${endpoint}/${owner}/${model}/resolve/${encodeURIComponent(branch)}/${file}`);
  return { url, file: fileNameOf(url), authorization };
}

/** Asks which file has that quantization, as llama.cpp does. */
async function fileOfTag(url: string, authorization: string | undefined, signal: AbortSignal): Promise<string> {
  const way = "look at the model's page for its files, then name one: hf:OWNER/MODEL/FILE.gguf";
  // Only this user agent is told the file.
  const page = await readPage(checked(url), authorization, { "user-agent": "llama-cpp" }, way, signal);
  const found = parseJson(page) as { readonly ggufFile?: { readonly rfilename?: unknown } } | null | undefined;
  const name = found?.ggufFile?.rfilename;
  if (typeof name === "string") return name;
  throw pullFailed(url, "the server names no GGUF file", way);
}

/** Returns the last part of the path. Throws USAGE if it is no name of a whole GGUF file. */
function fileNameOf(url: string): string {
  let name: string;
  try {
    name = decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
  } catch {
    throw invalid(shownUrl(url), FORMS);
  }
  if (!FILE_NAME.test(name))
    throw invalid(
      name,
      "the last part of the path must be the name of a .gguf file: letters, digits, . _ + - and nothing else",
    );
  if (PART.test(name))
    throw invalid(
      name,
      "it is one part of several, and a digest names one file; choose a model that is one file, or join the parts with llama-gguf-split",
    );
  return name;
}

function checked(url: string): string {
  const wrong = checkUrl(url);
  if (wrong !== null) throw invalid(shownUrl(url), `${wrong}; ${FORMS}`);
  return url;
}

function invalid(value: string, way: string): ConclaveError {
  const shown = value.length > 120 ? `${value.slice(0, 120)}...` : value;
  return new ConclaveError("USAGE", `Read <reference>: ${JSON.stringify(shown)} is invalid; ${way}`, {
    option: "<reference>",
    value: shown,
  });
}
