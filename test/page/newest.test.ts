// How the history takes in what its first page has become.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withNewest } from "../../dashboard/src/history/newest.ts";
import type { HistoryPage } from "../../sdk/src/index.ts";

/** A page with requests of these numbers, asked in their order. */
function pageOf(ids: readonly number[], next: string | null, source: HistoryPage["source"] = "chain"): HistoryPage {
  const requests = ids.map((id) => ({ requestId: BigInt(id), time: id }) as unknown as HistoryPage["requests"][number]);
  return { requests, next, source, toBlock: 9, subgraphError: null };
}

function idsOf(told: ReturnType<typeof withNewest>): readonly (readonly number[])[] | null {
  return told?.pages.map(({ requests }) => requests.map(({ requestId }) => Number(requestId))) ?? null;
}

describe("page: what is new in the history", () => {
  const shown = { pages: [pageOf([9, 8, 7], "a"), pageOf([6, 5], null)], pageParams: [null, "a"] };

  it("comes first, before what is shown already and the pages after it", () => {
    const told = withNewest(shown, pageOf([11, 10, 9], "b"));
    assert.deepEqual(idsOf(told), [
      [11, 10, 9, 8, 7],
      [6, 5],
    ]);
    assert.equal(told?.pages[0]?.next, "a");
  });

  it("takes away what a filter does not let through any more", () => {
    assert.deepEqual(idsOf(withNewest(shown, pageOf([9, 7, 6], "b"))), [[9, 7, 6], [5]]);
    assert.deepEqual(idsOf(withNewest(shown, pageOf([9, 5], null))), [[9, 5]]);
  });

  it("fits no more where others came between, or from another source", () => {
    assert.equal(withNewest(shown, pageOf([15, 14, 13], "b")), null);
    assert.equal(withNewest(shown, pageOf([9, 8, 7], "b", "subgraph")), null);
  });
});
