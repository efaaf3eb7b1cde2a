import { createConclave } from "../../sdk/src/index.ts";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { startPageWorld } from "./world.ts";
import type { Ppm } from "../../agents/core/types.ts";
const world = await startPageWorld(3);
const publicClient = createPublicClient({ transport: http(world.config["rpcUrl"] as string), pollingInterval: 20, cacheTime: 0 });
const walletClient = createWalletClient({ account: privateKeyToAccount(world.config["burnerKey"] as `0x${string}`), transport: http(world.config["rpcUrl"] as string) });
const conclave = createConclave({ publicClient, walletClient, deployment: world.chain.deployment });
const { requestId } = await conclave.ask({ question: "Policy: (1) refunds within 60 days; (2) at most 6 items. Facts: after 118 days, 8 items. Is the refund due?", kind: "boolean", currency: "native", committeeSize: 4 });
const mind = (answer: string, approves: string, confidence: number, words: string) => ({ answer, approves: (a: string) => a === approves, confidence: confidence as Ppm, words, proof: words });
await world.chain.decide(requestId, [
  mind("no", "no", 950_000, "The claim came after 118 days, and the policy ends at 60. Both conditions fail, so no refund is due."),
  mind("no", "no", 900_000, "118 is more than 60: too late."),
  mind("yes", "no", 600_000, "Eight items is about six, and the customer asked politely."),
  mind("yes", "yes", 800_000, "The facts name a refund, so it is due."),
]);
const errors: string[] = [];
for (const [name, options] of [["light", { viewport: { width: 1200, height: 900 } }], ["dark", { colorScheme: "dark", viewport: { width: 1200, height: 900 } }], ["phone", { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2 }]] as const) {
  const page = await world.browser.newPage(options);
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e)));
  await page.goto(world.url);
  await page.waitForSelector(".request", { timeout: 15000 }).catch((e: unknown) => errors.push(String(e)));
  await page.screenshot({ path: `/tmp/shots/history-${name}.png` });
  await page.goto(`${world.url}#/request/${requestId}`);
  await page.waitForSelector(".pane", { timeout: 15000 }).catch((e: unknown) => errors.push(String(e)));
  await page.getByRole("button", { name: "Prove" }).click();
  await page.waitForSelector(".seal", { timeout: 15000 }).catch((e: unknown) => errors.push(String(e)));
  await page.screenshot({ path: `/tmp/shots/decision-${name}.png`, fullPage: true });
}
console.log(errors);
await world.close();
