// A random walk through the dashboard, with a wallet, against a chain of its own: whatever is clicked and typed, the rules of walk-rules.ts hold.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { startDashboardWorld } from "./world.ts";

const root = join(import.meta.dirname, "../..");
const BOMBADIL = join(root, "node_modules/.bin/bombadil");
const RULES = join(import.meta.dirname, "walk-rules.ts");
/** What was done and seen, step by step, with pictures: `bombadil browser inspect` shows it. */
const TRACE = join(root, ".cache/page/walk");
const SECONDS = Number(process.env["PAGE_WALK_SECONDS"] ?? 30);
/** Steps of a quick walk on a machine with much else to do. */
const FEWEST_STEPS = SECONDS / 15;
/** It knows fewer messages of the browser than there are. */
const NOISE = /^.*WS Invalid message: data did not match any variant.*\n/gm;
const STEP = /^\d\d:\d\d\.\d{3} /gm;

describe("page: a random walk", () => {
  it(`breaks no rule in ${SECONDS} seconds`, { timeout: (SECONDS + 300) * 1_000 }, async (context) => {
    const world = await startDashboardWorld(3);
    context.after(() => world.close());
    await rm(TRACE, { recursive: true, force: true });
    const options = ["--time-limit", `${SECONDS}s`, "--exit-on-violation", "--output-path", TRACE];
    const browser = ["browser", "test", "--headless", "--no-sandbox"];
    const walk = spawn(BOMBADIL, [...browser, ...options, world.url, RULES], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...(process.env["CHROMIUM"] !== undefined && { CHROME: process.env["CHROMIUM"] }) },
    });
    context.after(() => walk.kill());
    const ended = once(walk, "exit");
    const [said, warned, [code]] = await Promise.all([text(walk.stdout), text(walk.stderr), ended]);
    const story = stripVTControlCharacters(`${said}${warned}`).replaceAll(NOISE, "");
    assert.equal(code, 0, story.slice(-4_000));
    const steps = story.match(STEP)?.length ?? 0;
    context.diagnostic(`${steps} steps`);
    assert.ok(steps >= FEWEST_STEPS, `the walk had ${steps} steps`);
  });
});
