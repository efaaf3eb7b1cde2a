import type { ContentStore } from "../../../agents/ports/content-store.ts";

/** How long a page may stand still: three of its frames. */
const MOST_MS = 50;

type Store = Pick<ContentStore, "get">;

/** Lets the page draw and hear its user between two blocks, whenever it has stood still for `MOST_MS`. */
export function breathing(store: Store): Store {
  let last = performance.now();
  return {
    async get(digest, signal) {
      if (performance.now() - last > MOST_MS) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        last = performance.now();
      }
      return store.get(digest, signal);
    },
  };
}
