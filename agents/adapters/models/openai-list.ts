import { z } from "zod";

import type { Server } from "./openai-body.ts";
import { fetchList } from "./openai-http.ts";
import { parametersIn } from "./thinking-budget.ts";

const name = z.string().nullish().catch(null);
const listedSchema = z.object({
  id: z.string(),
  /** What vLLM serves under a name of the operator's choice. */
  root: name,
  /** OpenRouter's. */
  hugging_face_id: name,
  /** llama.cpp's. */
  meta: z.object({ n_params: z.number().positive() }).nullish().catch(null),
});
const listSchema = z.object({ data: z.array(listedSchema) });
type Listed = z.infer<typeof listedSchema>;

/** Time for a list that only tells a size. */
const LIST_MS = 5000;

/** Returns the models that a server says it has; null if it has no list. Throws as `fetchList` does. */
export async function listOf(server: Server, signal: AbortSignal): Promise<readonly Listed[] | null> {
  const { data } = listSchema.safeParse(await fetchList(server, signal));
  return data?.data ?? null;
}

/** Returns the parameters of a server's model: by its name, else by what the server's list says; null if neither tells. */
export async function parametersOf(server: Server, signal: AbortSignal): Promise<number | null> {
  const named = parametersIn(server.model);
  if (named !== null) return named;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
  const list = await listOf(server, patience).catch(() => null);
  const listed = list?.find(({ id }) => id === server.model) ?? (list?.length === 1 ? list[0] : undefined);
  if (listed === undefined) return null;
  const { root, hugging_face_id: card, meta } = listed;
  return meta?.n_params ?? parametersIn(`${root ?? ""} ${card ?? ""}`);
}
