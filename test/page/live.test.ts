// A committee that is watched while it argues, from a live stream that the test fills.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createChainWriter } from "../../agents/adapters/chain/writer.ts";
import { liveConfigSchema } from "../../agents/adapters/live/config.ts";
import { startLiveStreams, type LiveStreams } from "../../agents/adapters/live/live-server.ts";
import { toldOfCertificate, toldOfMessage } from "../../agents/core/encoding/live-events.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Page } from "playwright-core";
import { createTestClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Message, Ppm, SeatIndex } from "../../agents/core/types.ts";
import type { Decided } from "../../devnet/decided-chain.ts";
import type { Conclave } from "../../sdk/src/index.ts";
import { sees, visit } from "./visit.ts";
import { conclaveOf, startDashboardWorld, type DashboardWorld } from "./world.ts";

const SHOTS = join(import.meta.dirname, "../../.cache/page");
const [COMMIT, REVEAL] = [1, 2];
const DAY = 86_400;

let world: DashboardWorld;
let conclave: Conclave;

before(async () => {
  world = await startDashboardWorld(1);
  conclave = conclaveOf(world);
  await mkdir(SHOTS, { recursive: true });
});
after(() => world.close());

async function startStream(port = 0): Promise<LiveStreams> {
  return startLiveStreams(liveConfigSchema.parse({ port, origins: ["*"] }));
}

/** The messages of a deliberation, in the order in which seats may send them. */
function messagesOf({ blocks }: Decided): readonly Message[] {
  return blocks.slice(1).flatMap((bytes) => decodeMessage(bytes) ?? []);
}

function mind(answer: string) {
  return {
    answer,
    approves: (one: string) => one === "no",
    proof: `It is ${answer} by the rule.`,
    confidence: 900_000 as Ppm,
  };
}

/** Calls another committee for a request whose committee did not decide. */
async function replace(requestId: bigint): Promise<void> {
  const { chainId, oracle, registry } = world.chain.deployment;
  const account = privateKeyToAccount(world.chain.chain.accounts[0]?.privateKey ?? "0x");
  const place = { rpcUrl: world.rpcUrl, chainId, oracle, registry };
  const writer = await createChainWriter({ ...place, account, receiptPollMs: 20 });
  const { stage, ...running } = await conclave.read(requestId);
  assert.ok(stage.kind === "requested" || stage.kind === "drawn");
  await writer.replace(running.request, { ...running, seedBlock: stage.seedBlock });
}

describe("page: watching live", () => {
  it("fills the panes seat by seat before the decision is on the chain, and comes back when the stream breaks", async (context) => {
    let stream = await startStream();
    context.after(() => stream.close());
    const { requestId } = await conclave.ask({ question: "Is the refund due?", kind: "boolean", currency: "native" });
    // The agents of a large committee, of whom one streams.
    const away = Array.from({ length: 12 }, (_, index) => `http://127.0.0.1:9/${index}`);
    const config = { ...world.config, live: [...away, stream.url] };
    const { page } = await visit(context, world, {
      route: `/request/${requestId}`,
      config,
      expects: /ERR_CONNECTION_REFUSED|ERR_UNSAFE_PORT|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/,
    });
    await sees(page, "The committee is being drawn");
    const panes = page.locator(".pane");
    const minds = [mind("no"), mind("no"), mind("yes"), mind("no")];
    await world.chain.decide(requestId, minds, async (decided) => {
      const { attempt } = decided;
      const said = messagesOf(decided);
      const tell = (messages: readonly Message[]): void => {
        for (const message of messages) stream.feed.tell(attempt, toldOfMessage(message)!);
      };
      const inPhase = (phase: number): readonly Message[] => said.filter(({ header }) => header.phase === phase);
      await sees(page, "Looking for an agent of this committee that lets others watch, among 13 live streams…");
      stream.feed.opened(attempt);
      tell(inPhase(COMMIT));
      await page.getByText("has bound itself to an answer").nth(3).waitFor();
      await sees(page, /^They have until .* Live, as 127\.0\.0\.1:\d+ tells it/);
      assert.equal(await page.locator(".said-answer").count(), 0);

      const [first, second] = inPhase(REVEAL) as [Message, Message];
      const forged = { ...second, signature: first.signature };
      tell([forged, first]);
      await panes.nth(first.header.seat).locator(".said-answer").waitFor();
      assert.equal(await page.locator(".said-answer").count(), 1);
      await page.screenshot({ path: join(SHOTS, "live.png"), fullPage: true });

      const { port } = new URL(stream.url);
      await stream.close();
      await sees(page, "The live stream has ended");
      assert.equal(await page.locator(".said-answer").count(), 1);
      stream = await startStream(Number(port));
      stream.feed.opened(attempt);
      tell(said);
      await page.locator(".said-answer").nth(3).waitFor();
      assert.match(await panes.nth(2).innerText(), /yes[^]*It is yes by the rule/);
      await page.getByRole("img", { name: /3 of 4 seats gave the answer/ }).waitFor();

      const root = decided.certificate.decision.transcript;
      for (const seat of [0, 1, 3] as SeatIndex[])
        stream.feed.tell(attempt, { kind: "ballot", seat, ballot: 0, step: "prevote", root });
      await sees(page, /^127\.0\.0\.1:\d+ says that they vote on a transcript: 3 seats of 4 for it, 0 signed\.$/);
      stream.feed.tell(attempt, { kind: "ballot", seat: 0 as SeatIndex, ballot: 1, step: "prevote", root });
      await sees(page, /says that they vote on a transcript, ballot 1: 1 seat of 4 for it, 0 signed\.$/);
      stream.feed.tell(attempt, toldOfCertificate(decided.certificate));
      await sees(
        page,
        /^127\.0\.0\.1:\d+ says that the seats have signed no, \d+ % sure\. Nobody can check that before the chain has it\.$/,
      );
      assert.equal(await page.locator(".decided-answer").count(), 0);
      await stream.close();
      await sees(page, /127\.0\.0\.1:\d+ has told all that it had to tell\.$/);
      stream = await startStream(Number(port));
    });
    await page.locator(".decided-answer").waitFor();
    await page.locator(".pane.is-agrees").nth(2).waitFor();
    assert.equal(await page.getByText("They have until").count(), 0);
  });

  it("SE8: says that the seed expires before the deadline, or after it, at the pace of the blocks", async (context) => {
    const chain = createTestClient({ mode: "anvil", transport: http(world.rpcUrl) });
    const asked = { question: "Is it early?", kind: "boolean", currency: "native", duration: 7 * DAY } as const;
    const { requestId } = await conclave.ask(asked);
    await chain.mine({ blocks: 20, interval: 12 });
    const { stage } = await conclave.read(requestId);
    assert.ok(stage.kind === "requested");
    // The registry shows two epochs of 160 blocks.
    const last = (stage.seedBlock / 160n + 2n) * 160n - 1n;
    const { page } = await visit(context, world, { route: `/request/${requestId}` });
    await sees(page, new RegExp(`^They have until the end of block ${last}, about .*: then their seed expires\\. `));
    await chain.increaseTime({ seconds: 3 * DAY });
    await chain.mine({ blocks: 1 });
    await page.reload();
    await sees(page, /^They have until [A-Z][a-z]+ \d+, \d+, [\d:]+\s[AP]M\. /);
  });

  it("says that the time of a committee is over, what comes next, and that it decided nothing", async (context) => {
    const chain = createTestClient({ mode: "anvil", transport: http(world.rpcUrl) });
    const asked = { question: "Is it over?", kind: "boolean", currency: "native", retries: 1 } as const;
    const { requestId } = await conclave.ask({ ...asked, duration: 7 * DAY });
    await chain.mine({ blocks: 20 });
    const { page } = await visit(context, world, { route: `/request/${requestId}` });
    await sees(page, /^They have until /);
    await chain.mine({ blocks: 320 });
    await sees(page, "Their time is over. Another committee comes next, once anybody calls it: one retry is left.");
    await page.getByRole("heading", { name: "4 seats have decided nothing in time" }).waitFor();
    await replace(requestId);
    await chain.mine({ blocks: 20 });
    await page.getByRole("heading", { name: "4 seats deliberate" }).waitFor();
    await sees(page, /^Attempt 0: no decision came in time\./);
    await chain.mine({ blocks: 320 });
    await sees(page, "Their time is over, and no retry is left. The fee goes back, once anybody calls for that.");
    await page.reload();
    await page.getByRole("heading", { name: "The committee cannot be read any more" }).waitFor();
  });

  it("finds a request whose cursor is of a chain before: a fresh local world counts from 1 again", async (context) => {
    const { id, question } = world.chain.decisions[0]?.attempt.request ?? assert.fail("nothing is decided");
    const kept = JSON.stringify({ [`${world.chain.deployment.oracle}/${id}`]: "f-99999-99999-deadbeef-0" });
    const routes = (page: Page) => page.addInitScript((text) => localStorage.setItem("conclave.asked", text), kept);
    const { page } = await visit(context, world, { route: `/request/${id}`, routes });
    await page.getByRole("heading", { level: 1, name: question }).waitFor();
  });

  it("shows who sits, and the decision when it comes, where no agent lets others watch", async (context) => {
    const { requestId } = await conclave.ask({ question: "Is it late?", kind: "boolean", currency: "native" });
    const { page } = await visit(context, world, { route: `/request/${requestId}` });
    await sees(page, "The committee is being drawn");
    await world.chain.decide(requestId, undefined, async () => {
      await sees(page, "What they say can be read once their decision is on the chain.");
      assert.equal(await page.locator(".pane.waiting").count(), 4);
    });
    await page.locator(".decided-answer").waitFor();
  });
});
