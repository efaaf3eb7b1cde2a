// Texts that anybody may write: an agent's model and endpoint, a question, an answer. None may stop the index, whatever
// its bytes are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keccak256 } from "ethers";
import { ask, commit, decisionFor, draw, termsFor } from "../support/contracts/course.ts";
import { deployedIn } from "../../lab/subgraph/economy-chain.ts";
import { readEntities, type Entity } from "../../devnet/subgraph/entities.ts";
import { packTerms, testKey } from "../support/contracts/typed-data.ts";
import { deployWorld, maxStake, registerAgents, registration, subscription } from "../support/contracts/world.ts";
import { headOf, startChain, startNode } from "./follow.ts";

/** Bytes that are not UTF-8, zeros within and at the end, half of a surrogate pair, a character that is cut off. */
const HOSTILE = "ff00fe41eda080f09f9800";
/** The text as stored: PostgreSQL allows no zeros in texts. */
const READ = new TextDecoder().decode(Buffer.from(HOSTILE, "hex")).replaceAll("\0", "");

test("texts that are not UTF-8, or contain zeros, do not stop the index", async (context) => {
  const chain = await startChain(context);
  const world = await deployWorld(chain.ethers);
  await registerAgents(world, 6);
  const [model, endpoint] = ["M", "E"].map((letter) => letter.repeat(HOSTILE.length / 2));
  const call = { ...registration(world, world.deployer.address, testKey("hostile"), maxStake), model, endpoint };
  const data = world.registry.interface
    .encodeFunctionData("register", [call])
    .replaceAll(Buffer.from(model ?? "").toString("hex"), HOSTILE)
    .replaceAll(Buffer.from(endpoint ?? "").toString("hex"), HOSTILE);
  await (await world.deployer.sendTransaction({ to: world.registry.target, data, gasLimit: 3_000_000n })).wait();

  const bytes = `0x${HOSTILE}`;
  const terms = { kind: 3 };
  const asked = await ask(world, terms, "", () =>
    world.oracle.request(subscription, packTerms(termsFor(terms)), bytes),
  );
  const drawn = await draw(world, { ...asked, request: { ...asked.request, questionHash: keccak256(bytes) } });
  await commit(world, drawn, decisionFor(drawn, { answer: bytes, outcome: keccak256(bytes) }));

  const node = await startNode(context, chain, deployedIn(world));
  const last = await headOf(chain);
  await node.synced(last, { signal: context.signal });
  const entities = await readEntities(node.queryUrl, last);
  const only = (type: string): Entity => [...(entities[type]?.values() ?? [])].at(-1) ?? assert.fail(type);
  const agent = entities["Agent"]?.get("7");
  assert.deepEqual([agent?.["model"], agent?.["endpoint"]], [READ, READ]);
  assert.deepEqual([only("Request")["question"], only("Decision")["answer"]], [READ, READ]);
  assert.equal(only("Request")["settled"], true);
});
