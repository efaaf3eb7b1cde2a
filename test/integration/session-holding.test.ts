import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { walkDag } from "../../agents/adapters/ipfs/walk.ts";
import { createMemoryContentStore } from "../support/memory/content-store.ts";
import { PRECOMMIT, PROPOSE, decodeVote } from "../../agents/core/seat/certify/messages.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Digest, Message } from "../../agents/core/types.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import { attemptOf } from "../support/core/committee.ts";
import { openSeatOf, seatTiming, type Seat } from "./seat.ts";
import { decide } from "./session-deciding.ts";

const attempt = attemptOf(4);
const clock = createSystemClock();

/** Roots that a seat precommitted, in the order of the rounds; null where it signed for none. */
function precommits({ sent }: Seat, seat: number): readonly (Digest | null)[] {
  const own = new Map<number, Message>();
  for (const message of sent)
    if (message.header.phase === PRECOMMIT && message.header.seat === seat) own.set(message.header.round, message);
  return [...own].toSorted(([a], [b]) => a - b).map(([, message]) => signedRoot(message));
}

function signedRoot({ payload }: Message): Digest | null {
  const vote = decodeVote(PRECOMMIT, payload) ?? assert.fail("no vote");
  assert.equal(vote.root === null, vote.signature === null);
  return vote.root;
}

/** Opens seat 0 with this store, and others whose stores work. */
async function openSeats(
  store: ContentStore,
  others: readonly number[],
  errors: object[] = [],
): Promise<readonly [Seat, ...Seat[]]> {
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (data: object, message: string) => errors.push({ ...data, message }),
  };
  const first = await openSeatOf(attempt, 0, { ports: { store, log } });
  return [first, ...(await Promise.all(others.map((seat) => openSeatOf(attempt, seat))))];
}

interface Failure {
  readonly what: string;
  readonly message: RegExp;
  readonly bend: (store: ContentStore) => ContentStore;
}

function failing(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(`${code}: write failed`), { code }));
}

const failures: readonly Failure[] = [
  { what: "the disk is full", message: /ENOSPC/, bend: (store) => ({ ...store, put: failing("ENOSPC") }) },
  { what: "the pin cannot be written", message: /EIO/, bend: (store) => ({ ...store, pin: failing("EIO") }) },
  {
    what: "what was written reads otherwise",
    message: /another hash/,
    bend: (store) => ({
      ...store,
      pin: async (root) => {
        throw new ConclaveError("BLOCK_INVALID", `Restore block ${root}: its bytes have another hash`, {});
      },
    }),
  },
  {
    what: "the store does not answer",
    message: /not done within 500 ms/,
    bend: (store) => ({ ...store, pin: () => new Promise(() => {}) }),
  },
];

describe("AV6: a seat holds the transcript before it signs", () => {
  it("signs only once every block has been written and the root is pinned, and writes while it deliberates", async () => {
    const inner = createMemoryContentStore({ clock });
    const written = new Set<Digest>();
    const early = new Set<Digest>();
    let certifying = false;
    let pinned: Digest | null = null;
    const store: ContentStore = {
      ...inner,
      async put(bytes) {
        if (!certifying) early.add(sha256(bytes));
        await sleep(100);
        written.add(await inner.put(bytes));
        return sha256(bytes);
      },
      async pin(root, signal) {
        await sleep(100);
        await inner.pin(root, signal);
        pinned = root;
      },
    };
    // Three of four: no decision without seat 0.
    const seats = await openSeats(store, [1, 2]);
    const sent = seats[0].sent as Message[];
    const push = sent.push.bind(sent);
    const whenSigned: Digest[] = [];
    Object.assign(sent, {
      push(message: Message) {
        const { phase, seat } = message.header;
        if (phase === PROPOSE) certifying = true;
        const root = phase === PRECOMMIT && seat === 0 ? signedRoot(message) : null;
        if (root !== null && whenSigned.length === 0) {
          whenSigned.push(...written);
          assert.equal(pinned, root);
        }
        return push(message);
      },
    });
    await decide(seats);
    const root = precommits(seats[0], 0).find((one) => one !== null) ?? assert.fail("never signed");
    const blocks: Digest[] = [];
    for await (const { block } of walkDag(root, (digest) => inner.get(digest))) blocks.push(sha256(block.bytes));
    assert.deepEqual(
      blocks.filter((digest) => !whenSigned.includes(digest)),
      [],
    );
    assert.ok(early.size >= blocks.length / 2, `${early.size} of ${blocks.length} were on their way before certifying`);
  });

  for (const { what, message, bend } of failures)
    it(`does not sign when ${what}, says so, and the round goes on without it`, async () => {
      const errors: { readonly message?: string; readonly error?: string; readonly seat?: number }[] = [];
      const seats = await openSeats(bend(createMemoryContentStore({ clock })), [1, 2, 3], errors);
      await decide(seats, () => seats[0].session.withheld() !== null);
      assert.deepEqual([...new Set(precommits(seats[0], 0))], [null]);
      for (const [index, seat] of seats.slice(1).entries())
        assert.ok(
          precommits(seat, index + 1).some((root) => root !== null),
          `seat ${index + 1}`,
        );
      const { times, error } = seats[0].session.withheld() ?? assert.fail("nothing withheld");
      assert.ok(times >= 1 && message.test(error), error);
      const [line] = errors;
      assert.equal(line?.message, "did not sign the decision: the store does not hold its transcript");
      assert.deepEqual([line?.seat, line?.error], [0, error]);
      assert.equal(seats[0].session.silent(), null);
    });

  it("signs in a later round a transcript whose storage took longer than a certify time-out, if its signature is needed", async () => {
    const inner = createMemoryContentStore({ clock });
    const slow = 2.5 * seatTiming.certifyMs;
    const store: ContentStore = { ...inner, pin: (root, signal) => sleep(slow).then(() => inner.pin(root, signal)) };
    // Three of four: no decision without seat 0.
    const seats = await openSeats(store, [1, 2]);
    await decide(seats);
    const [first, ...later] = precommits(seats[0], 0);
    assert.equal(first, null);
    const root = later.find((one) => one !== null) ?? assert.fail("never signed");
    assert.equal(await inner.isPinned(root), true);
  });

  it("writes blocks again that a store lost or spoilt before the signature", async () => {
    const blocks = new Map<Digest, Uint8Array>();
    const inner = createMemoryContentStore({ clock, blocks });
    let pins = 0;
    const store: ContentStore = {
      ...inner,
      pin(root, signal) {
        const [victim, other] = [...blocks.keys()].filter((digest) => digest !== root);
        if (pins++ === 0) {
          blocks.delete(victim ?? assert.fail());
          blocks.set(other ?? assert.fail(), Uint8Array.of(1));
        }
        return inner.pin(root, AbortSignal.any([AbortSignal.timeout(50), ...(signal === undefined ? [] : [signal])]));
      },
    };
    const seats = await openSeats(store, [1, 2]);
    await decide(seats);
    const root = precommits(seats[0], 0).find((one) => one !== null) ?? assert.fail("never signed");
    for await (const _ of walkDag(root, (digest) => inner.get(digest, AbortSignal.timeout(100)))) continue;
  });

  it("leaves the whole transcript on its disk if its process is killed as it sends its signature", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-holding-"));
    try {
      const child = spawnSync(process.execPath, [join(import.meta.dirname, "fixtures", "seat-killed.ts"), folder], {
        timeout: 240_000,
        encoding: "utf8",
      });
      assert.deepEqual([child.signal, child.stderr], ["SIGKILL", ""]);
      const root = child.stdout as Digest;
      const store = await createFolderContentStore(folder);
      assert.equal(await store.isPinned(root), true);
      let count = 0;
      for await (const _ of walkDag(root, (digest) => store.get(digest))) count += 1;
      assert.ok(count > 8, `${count} blocks`);
      await store.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
