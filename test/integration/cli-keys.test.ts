// Keys and operators of agents on the command line: what the registry and the agent's folder hold afterwards.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { link, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { provePossession } from "../../agents/adapters/chain/possession.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import type { Address, AgentId, Ppm } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import type { Check } from "../../agents/cli/doctor/checks.ts";
import { ONE } from "../adapters/chain-node.ts";
import { NO_MODEL, startCliNode, type CliNode } from "./cli-node.ts";
import { assertNoSecrets, OPERATOR_PASSWORD, PASSWORD } from "./cli-world.ts";

const asOperator = ["--operator-keystore", "operator/keystore.json", "--operator-password-file", "password"];

let harness: CliNode["harness"];
let reader: ChainReader;
let bank: CliNode["bank"];
let cli: CliNode["cli"];
let stop: CliNode["stop"];
before(async () => {
  const node = await startCliNode();
  ({ harness, bank, cli, stop } = node);
  reader = await harness.reader();
  await writeFile(join(cli.folder, "password"), PASSWORD);
  await writeFile(join(cli.folder, "wrong"), "another password");
  for (const name of ["agent", "lone", "operator", "buyer"]) await node.accountOf(name, 10n * ONE);
});
after(() => stop());

const fileOf = (name: string, suffix = ""): string => join(cli.folder, name, `keystore.json${suffix}`);
const keysOf = (name: string, suffix = "") => openKeystore(fileOf(name, suffix), PASSWORD);

/** Registers the key of one folder for the account of another one. */
async function register(name: string, operatorName: string): Promise<AgentId> {
  const [signer, operator] = [await keysOf(name), await keysOf(operatorName)];
  const actions = await createOperatorActions({ ...harness.options, account: operator.viemAccount() });
  const { publicKey } = signer;
  const possession = provePossession(signer, { ...harness.options, operator: operator.address });
  const commission = 0 as Ppm;
  const { agentId } = await actions.register({
    publicKey,
    possession,
    model: "test",
    endpoint: [],
    stake: ONE,
    commission,
  });
  return agentId;
}

const idOf = async (signer: Address): Promise<AgentId | null> => (await reader.agentBySigner(signer))?.agentId ?? null;

describe("command line: keys and operators", () => {
  it("agent rotate replaces the signer by a new key, under the same password, and keeps the old one", async () => {
    const agentId = await register("agent", "operator");
    const earlier = (await keysOf("agent")).address;
    const rotate = ["agent", "rotate", "--dir", "agent", ...asOperator];
    const mistyped = await cli.failure(...rotate, "--password-file", "wrong");
    assert.equal(mistyped.code, "KEYSTORE_PASSWORD_WRONG");
    assert.deepEqual([existsSync(fileOf("agent", ".next")), await idOf(earlier)], [false, agentId]);

    const { code, value } = await cli.json(...rotate);
    assert.equal(code, 0, JSON.stringify(value));
    const signer = (await keysOf("agent")).address;
    assert.notEqual(signer, earlier);
    assert.deepEqual([value["agentId"], value["before"], value["signer"]], [agentId, earlier, signer]);
    assert.deepEqual([await idOf(signer), await idOf(earlier)], [agentId, null]);
    assert.equal((await keysOf("agent", `.${earlier}`)).address, earlier);

    // The process ended between the transaction and the new name of the key.
    await rename(fileOf("agent"), fileOf("agent", ".next"));
    await link(fileOf("agent", `.${earlier}`), fileOf("agent"));
    const again = await cli.json(...rotate);
    assert.deepEqual([again.code, again.value["transactionHash"], again.value["signer"]], [0, null, signer]);
    assert.equal((await keysOf("agent")).address, signer);
    await unlink(fileOf("agent", `.${earlier}`));
  });

  it("agent init makes one key that signs and another one that owns the stake, unless it is given", async () => {
    const init = ["agent", "init", "--deployment", "deployment.json", ...NO_MODEL, "--dir"];
    const told = await cli.run([...init, "told"]);
    assert.match(
      told.stdout,
      /^next +conclave account fund 0x\w{40} --dir told, and conclave account fund 0x\w{40} --dir told, then: conclave agent register /m,
    );
    const { value } = await cli.json(...init, "two-keys");
    const folder = join(cli.folder, "two-keys");
    const [signer, operator] = [
      await openKeystore(join(folder, "keystore.json"), PASSWORD),
      await openKeystore(join(folder, "operator.json"), OPERATOR_PASSWORD),
    ];
    assert.deepEqual([value["signer"], value["operator"]], [signer.address, operator.address]);
    assert.notEqual(signer.address, operator.address);
    const config = JSON.parse(await readFile(join(folder, "conclave.json"), "utf8")) as Readonly<
      Record<string, unknown>
    >;
    assert.equal(config["operatorKeystore"], "operator.json");

    const owned = await cli.json(...init, "owned", "--operator-keystore", "two-keys/operator.json");
    assert.equal(owned.value["operator"], operator.address);
    assert.equal(existsSync(join(cli.folder, "owned", "operator.json")), false);

    const silent = await cli.run([...init, "silent"], { environment: { CONCLAVE_OPERATOR_PASSWORD: "" } });
    assert.match(
      silent.stderr,
      /^error KEYSTORE_PASSWORD_MISSING: Read the password of the operator's keystore: .*--operator-password-file FILE, in the variable CONCLAVE_OPERATOR_PASSWORD/,
    );
    const absent = await cli.failure(...init, "silent", "--operator-keystore", "absent.json");
    assert.equal(absent.code, "KEYSTORE_MISSING");
    assert.equal(existsSync(join(cli.folder, "silent")), false);
  });

  it("agent rotate works on a folder as agent init makes it", async () => {
    const made = await cli.json("agent", "init", "--dir", "made", "--deployment", "deployment.json", ...NO_MODEL);
    assert.equal(made.code, 0, JSON.stringify(made.value));
    await bank.fund(made.value["operator"] as Address, 10n * ONE);
    const registered = await cli.json("agent", "register", "--dir", "made", "--stake", "1");
    const { signer, operator, agentId } = registered.value;
    assert.deepEqual(
      [signer, operator],
      [made.value["signer"], made.value["operator"]],
      JSON.stringify(registered.value),
    );
    const { code, value } = await cli.json("agent", "rotate", "--dir", "made");
    assert.deepEqual([code, value["agentId"], value["before"]], [0, agentId, signer], JSON.stringify(value));
    assert.equal(await idOf(value["signer"] as Address), agentId);
  });

  it("agent model compares the configured model with the registered one without a password, and registers it", async () => {
    const compare = ["agent", "model", "--dir", "made"];
    const silent = { environment: { CONCLAVE_PASSWORD: "", CONCLAVE_OPERATOR_PASSWORD: "" } };
    assert.match((await cli.run(compare, silent)).stdout, /^registered +the same$/m);
    const path = join(cli.folder, "made", "conclave.json");
    const config = JSON.parse(await readFile(path, "utf8")) as { readonly model: object };
    await writeFile(path, JSON.stringify({ ...config, model: { ...config.model, model: "other" } }));
    const { stdout } = await cli.run(compare, silent);
    assert.match(
      stdout,
      /^configured +openai:other\nregistered +openai:\S+\nnext +conclave agent model --dir made --set$/m,
    );
    const { value } = await cli.json("doctor", "--dir", "made", "--profile", "default");
    const found = (value["checks"] as readonly Check[]).find(({ name }) => name === "registered model");
    assert.deepEqual(
      [found?.level, found?.way],
      ["warn", "run: conclave agent model --set --dir made"],
      found?.message,
    );
    assert.match((await cli.run([...compare, "--set"], silent)).stderr, /^error KEYSTORE_PASSWORD_MISSING: /);
    const status = ["agent", "status", "--dir", "made"];
    const warning =
      /^warning +the config names another model, openai:other: run conclave agent model --dir made --set$/m;
    assert.match((await cli.run(status)).stdout, warning);
    const set = await cli.run([...compare, "--set"]);
    assert.match(set.stdout, /^registered +was openai:none, now openai:other\ntransaction /m);
    assert.doesNotMatch((await cli.run(status)).stdout, /^warning /m);
    assert.match((await cli.run(compare, silent)).stdout, /^registered +the same$/m);
  });

  it("agent status and agent claim show the credit of the signer beside that of the operator", async () => {
    const { value } = await cli.json("agent", "status", "--dir", "made");
    await bank.fund(value["signer"] as Address, ONE);
    // A cancelled request's fee is credit, as is what a relay earns.
    const question = ["--question", "Is it so?", "--kind", "boolean", "--fee", "1"];
    const asked = await cli.json("request", "--dir", "made", ...question);
    assert.equal((await cli.json("cancel", String(asked.value["requestId"]), "--dir", "made")).code, 0);
    const owed = /^signer's credit +1 \w+ in the oracle: run conclave withdraw --dir made( \(0x|$)/m;
    const { stdout } = await cli.run(["agent", "status", "--dir", "made"]);
    assert.match(stdout, /^operator's credit +none in the oracle$/m);
    assert.match(stdout, owed);
    const claimed = (await cli.run(["agent", "claim", "--dir", "made"])).stdout;
    assert.match(claimed, new RegExp(`^operator +${String(value["operator"])}$`, "m"));
    assert.match(claimed, owed);
    assert.equal((await cli.json("withdraw", "--dir", "made")).code, 0);
    assert.doesNotMatch((await cli.run(["agent", "claim", "--dir", "made"])).stdout, /^signer's credit/m);
    const added = await cli.json("agent", "stake", "0.5", "--dir", "made");
    assert.equal(added.code, 0, JSON.stringify(added.value));
    assert.match(
      (await cli.run(["agent", "status", "--dir", "made"])).stdout,
      /^joining +0\.5 \w+, may earn from 20\S+Z on, once you run conclave delegations --earn --dir made --keystore \/\S+\/made\/operator\.json$/m,
    );
  });

  it("the variable CONCLAVE_DEPLOYMENT names a deployment file, which options and --dir override", async () => {
    const errorWith = async (file: string, ...flags: readonly string[]): Promise<string> => {
      const environment = { CONCLAVE_DEPLOYMENT: file };
      return (await cli.run(["decision", "99", ...flags], { environment })).stderr;
    };
    assert.match(await errorWith("deployment.json"), /^error REQUEST_UNKNOWN: /);
    assert.match(await errorWith("absent.json"), /^error CONFIG_MISSING: .*absent\.json/);
    assert.match(await errorWith("absent.json", "--deployment", "deployment.json"), /^error REQUEST_UNKNOWN: /);
    assert.match(await errorWith("absent.json", "--dir", "made"), /^error REQUEST_UNKNOWN: /);
  });

  it("agent rotate refuses where the key is the operator's, too: the old key would still own the stake", async () => {
    const agentId = await register("lone", "lone");
    const { address } = await keysOf("lone");
    const { code, message } = await cli.failure("agent", "rotate", "--dir", "lone");
    assert.equal(code, "USAGE");
    assert.match(message, new RegExp(`^Rotate the key of agent ${agentId}: ${address} is its operator, too`));
    assert.equal(await idOf(address), agentId);
  });

  it("RW7: agent hand-over and take-over change the operator in two steps, once it has its own stake", async () => {
    const signer = (await keysOf("agent")).address;
    const agentId = await idOf(signer);
    const buyer = (await keysOf("buyer")).address;
    const operatorOf = async () => (await reader.agentBySigner(signer))?.operator;
    const handOver = ["agent", "hand-over", "--dir", "agent", ...asOperator];
    const takeOver = ["agent", "take-over", String(agentId), "--dir", "buyer"];
    assert.equal((await cli.failure(...handOver)).code, "USAGE");

    const offered = await cli.json(...handOver, "--to", buyer);
    assert.deepEqual([offered.code, offered.value["offeredTo"]], [0, buyer]);
    const poor = await cli.failure(...takeOver);
    assert.equal(poor.code, "STAKE_MISSING");
    assert.match(poor.message, /has 0 \w+ bonded to it, and an operator needs 1 \w+ of its own; bond 1 \w+ more/);
    assert.equal((await cli.run(["delegate", String(agentId), "1", "--dir", "buyer"])).code, 0);

    assert.equal((await cli.json(...handOver, "--cancel")).code, 0);
    assert.equal((await cli.failure(...takeOver)).data["error"], "NotOffered");
    await cli.json(...handOver, "--to", buyer);
    const earlier = (await keysOf("operator")).address;
    assert.equal(await operatorOf(), earlier);
    const { code, value } = await cli.json(...takeOver);
    assert.deepEqual([code, value["operator"], value["before"]], [0, buyer, earlier], JSON.stringify(value));
    assert.equal(await operatorOf(), buyer);
    assert.equal((await cli.failure(...handOver, "--to", earlier)).code, "CONFIG_INVALID");
  });

  it("prints no key and no password", () => assertNoSecrets(cli));
});
