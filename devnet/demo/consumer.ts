// The demo's asker: the example contract PolicyDesk, driven by its owner.
import { parseEventLogs, type Abi, type LocalAccount } from "viem";
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";
import type { Address, Hex, RequestId } from "../../agents/core/types.ts";
import { areFresh, loadArtifacts } from "../../agents/adapters/artifacts/artifacts.ts";
import { clientsOf } from "../world/clients.ts";
import { questionText } from "./documents.ts";
import type { DemoQuestion } from "./questions.ts";
import { KIND_RULES } from "../../agents/core/request/kinds.ts";

export interface Asked {
  readonly requestId: RequestId;
  readonly requestGas: bigint;
}

export interface Desk {
  ask(question: DemoQuestion): Promise<Asked>;
  /** Status code, outcome and confidence that the callback stored; status 0 before the callback. */
  outcomeOf(requestId: RequestId): Promise<{ readonly status: number; readonly value: Hex }>;
}

const DESK = "contracts/consumers/examples/PolicyDesk.sol:PolicyDesk";

/** True if the contracts are compiled. One build compiles all of them. */
export const areContractsCompiled = (): Promise<boolean> => areFresh([DESK], "default");

export async function openDesk(rpcUrl: string, chainId: number, address: Address, owner: LocalAccount): Promise<Desk> {
  const [artifact] = await loadArtifacts([DESK], "default");
  if (artifact === undefined) throw new Error("Load PolicyDesk: no artifact");
  const abi: Abi = artifact.abi;
  const { reader, wallet } = clientsOf(rpcUrl, chainId, owner);
  return {
    async ask(question) {
      const call = { address, abi, ...callFor(question) };
      // The cost of a request may change between estimate and block, for example when a new epoch begins.
      const gas = ((await reader.estimateContractGas({ ...call, account: owner })) * 5n) / 4n;
      const hash = await wallet.writeContract({ ...call, gas });
      const receipt = await receiptOf(reader, hash);
      if (receipt.status !== "success") throw new Error(`Ask "${question.question}": the transaction ${hash} reverted`);
      const [asked] = parseEventLogs({ abi, eventName: "Asked", logs: receipt.logs }) as unknown as readonly {
        readonly args: { readonly requestId: bigint };
      }[];
      if (asked === undefined) throw new Error("Ask: the desk emitted no Asked event");
      return { requestId: asked.args.requestId as RequestId, requestGas: receipt.gasUsed };
    },
    async outcomeOf(requestId) {
      const [status, , value] = (await reader.readContract({
        address,
        abi,
        functionName: "outcomes",
        args: [requestId],
      })) as readonly [number, number, Hex];
      return { status, value };
    },
  };
}

function callFor(asked: DemoQuestion): { readonly functionName: string; readonly args: readonly unknown[] } {
  const { kind, options, decimals = 0, tolerance = 0 } = asked;
  const functionName = `ask${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  const details = { options, decimals, tolerance };
  return { functionName, args: [questionText(asked), ...KIND_RULES[kind].uses.map((term) => details[term])] };
}
