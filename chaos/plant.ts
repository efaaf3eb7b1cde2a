// Changes one file of the product as this process loads it: `node --import .../plant.ts?control=NAME`.
import { registerHooks } from "node:module";
import { CONTROLS, type Control, type Planted } from "./controls.ts";

const name = new URL(import.meta.url).searchParams.get("control") ?? "";
if (!Object.hasOwn(CONTROLS, name)) throw new Error(`Plant a control: ${JSON.stringify(name)} is unknown`);
const { file, edits }: Planted = CONTROLS[name as Control];
const target = new URL(`../${file}`, import.meta.url).href;

function replaceOnce(source: string, [find, replace]: Planted["edits"][number]): string {
  const parts = source.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(`Plant ${name}: its text occurs ${parts.length - 1} times in ${file}, not once; adapt it: ${find}`);
}

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== target) return loaded;
    const source =
      typeof loaded.source === "string" ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString("utf8");
    return { ...loaded, source: edits.reduce(replaceOnce, source) };
  },
});
