import { existsSync } from "node:fs";
import { link, rename } from "node:fs/promises";
import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { provePossession } from "../../adapters/chain/possession.ts";
import { openKeystore } from "../../adapters/keystore/keystore.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { AgentRecord, Receipt } from "../../ports/chain.ts";
import type { CliHost, CommandSpec } from "../shared/command.ts";
import {
  agentPassword,
  keystoreAddress,
  newKeystore,
  operatorFlags,
  readConfigOf,
  type OperatorFlags,
} from "../shared/keys.ts";
import { lookUpAgent, openOperator } from "../shared/operator.ts";
import { rows, transactionRow } from "../shared/output.ts";

/** What a rotation did. A rotation that was cut off after its transaction has no receipt of its own. */
interface Rotation {
  readonly record: AgentRecord;
  readonly signer: Address;
  readonly receipt: Receipt | null;
}

export const agentRotate: CommandSpec<OperatorFlags> = {
  example: "conclave agent rotate --dir ./my-agent --operator-keystore ./operator.json",
  options: operatorFlags,
  run: async ({ options, host }) => {
    const { keystore } = await readConfigOf(options, host);
    const before = await keystoreAddress(keystore);
    const next = `${keystore}.next`;
    const { record, signer, receipt } = (await cutOff(next, options, host)) ?? (await rotate(next, options, host));
    const kept = `${keystore}.${before}`;
    // The old key keeps a name at every moment. The link exists already if a rotation was cut off here.
    if (!existsSync(kept)) await link(keystore, kept);
    await rename(next, keystore);
    return {
      json: {
        agentId: record.agentId,
        before,
        signer,
        keystore,
        kept,
        transactionHash: receipt?.transactionHash ?? null,
        gasUsed: receipt?.gasUsed ?? null,
      },
      text: rows([
        ["agent", String(record.agentId)],
        ["signer", `${signer}, before ${before}`],
        ["keystore", keystore],
        ["old key", kept],
        receipt === null ? ["transaction", "sent by an earlier call, which was cut off"] : transactionRow(receipt),
        [
          "next",
          `send ${signer} coins for gas, and start the agent again: at once if the old key leaked, else when the committees that it sits in have decided`,
        ],
      ]),
    };
  },
};

/** Returns the rotation that an earlier call has sent without putting the new key in its place; null without such a call. */
async function cutOff(next: string, options: OperatorFlags, host: CliHost): Promise<Rotation | null> {
  if (!existsSync(next)) return null;
  const signer = await keystoreAddress(next);
  const { chain } = await lookUpAgent(options, host);
  const record = await chain.agentBySigner(signer, host.signal);
  return record === null ? null : { record, signer, receipt: null };
}

/** Makes a new key under the password of the old one, and registers it. */
async function rotate(next: string, options: OperatorFlags, host: CliHost): Promise<Rotation> {
  const { config, source, keys: operator, record } = await openOperator(options, host);
  requireOwnKey(record);
  const password = await agentPassword(options.passwordFile, host);
  // A mistyped password would lock the new key for good.
  await openKeystore(config.keystore, password);
  const keys = existsSync(next) ? await openKeystore(next, password) : await newKeystore(next, password, host);
  const actions = await createOperatorActions({ ...source, account: operator.viemAccount() }, host.signal);
  const possession = provePossession(keys, { ...source, operator: operator.address });
  const receipt = await actions.rotateSigner(record.agentId, keys.publicKey, possession);
  return { record, signer: keys.address, receipt };
}

/** A new signer protects nothing while the old key owns the stake. */
function requireOwnKey({ agentId, operator, signer }: AgentRecord): void {
  if (operator !== signer) return;
  throw new ConclaveError(
    "USAGE",
    `Rotate the key of agent ${agentId}: ${signer} is its operator, too, so the old key would still own the stake; hand the agent over first, with "conclave agent hand-over"`,
    { agentId, operator },
  );
}
