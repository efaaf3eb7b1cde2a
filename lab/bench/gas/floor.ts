// Where the gas of a whole decision goes, item by item, and which part of it the chain charges whatever the code does.
import type { ContractTransactionReceipt } from "ethers";

import { markdownTable } from "../../shared/markdown.ts";
import type { World } from "../../../test/support/contracts/world.ts";
import { askerOf, commitAll, decideAll, setAllInPrices } from "./all-in.ts";
import { bookGas, sumOf, type Call, type Item, type Step } from "./booking.ts";

/** An item of one of the two transactions. */
export interface FloorItem extends Item {
  readonly transaction: "request" | "commit";
  /** Number of decisions that share the transaction. */
  readonly decisions: number;
  /** Gas of one of them. */
  readonly perDecision: number;
  readonly perSeat: number;
}

export interface Floor {
  readonly n: number;
  /** Number of decisions of the transaction that commits. */
  readonly batch: number;
  /** Agents in the registry. */
  readonly agents: number;
  /** Different agents that sit in the committees. */
  readonly seated: number;
  /** By the receipts. */
  readonly gasUsed: { readonly request: number; readonly commit: number };
  /** Gas for one decision, all in: what the chain charges for words, signatures, events and bytes, and the rest. */
  readonly perDecision: { readonly all: number; readonly floor: number; readonly rest: number };
  readonly items: readonly FloorItem[];
}

/** Traces the request of one question, and a transaction that commits several with one shared header, and books their gas. */
export async function measureFloor(world: World, n: number, batch: number): Promise<Floor> {
  await setAllInPrices(world);
  const askOne = await askerOf(world, n);
  // The first decision of a consumer writes slots that later ones change.
  await decideAll(world, askOne, 1, 1);
  const { asked, drawn, receipt } = await commitAll(world, askOne, batch, 1);
  const contracts = namesOf(world, asked[0]!.request.consumer);
  const request = await itemsOf(world, asked[0]!.receipt, () => [], contracts);
  const commit = await itemsOf(world, receipt, (data) => namedBytesOf(world, data), contracts);
  const items = [
    ...request.map((item): FloorItem => shared(item, "request", 1, n)),
    ...commit.map((item): FloorItem => shared(item, "commit", batch, n)),
  ];
  const sum = (part: readonly FloorItem[]): number => Math.round(part.reduce((gas, one) => gas + one.perDecision, 0));
  return {
    n,
    batch,
    agents: Number(await world.registry.agentCount()),
    seated: new Set(drawn.flatMap(({ committee }) => committee)).size,
    gasUsed: { request: sumOf(request), commit: sumOf(commit) },
    perDecision: {
      all: sum(items),
      floor: sum(items.filter(({ isFloor }) => isFloor)),
      rest: sum(items.filter(({ isFloor }) => !isFloor)),
    },
    items: items.toSorted(
      (one, other) => Number(other.isFloor) - Number(one.isFloor) || other.perDecision - one.perDecision,
    ),
  };
}

const shared = (item: Item, transaction: FloorItem["transaction"], decisions: number, n: number): FloorItem => {
  const perDecision = item.gas / decisions;
  return { ...item, transaction, decisions, perDecision, perSeat: perDecision / n };
};

function namesOf({ oracle, registry }: World, consumer: string): ReadonlyMap<string, string> {
  return new Map([
    [oracle.target.toLowerCase(), "oracle"],
    [registry.target.toLowerCase(), "registry"],
    [consumer.toLowerCase(), "consumer"],
  ]);
}

interface NamedBytes {
  readonly name: string;
  readonly data: string;
}

/** The signatures and headers of a batch of commits. */
function namedBytesOf({ oracle }: World, data: string): readonly NamedBytes[] {
  const [calls] = oracle.interface.decodeFunctionData("tryMulticall", data) as unknown as [readonly string[]];
  return calls.flatMap((call) => {
    const args = oracle.interface.decodeFunctionData("commit", call);
    const { header } = args["seed"] as { readonly header: string };
    return [
      { name: "signatures", data: args["certificate"] as string },
      { name: "header", data: header },
    ];
  });
}

/** Without stacks, memory and storage, which are a gigabyte for a batch of large committees. */
const LEAN = { disableStack: true, disableMemory: true, disableStorage: true } as const;

async function itemsOf(
  world: World,
  receipt: ContractTransactionReceipt,
  namedIn: (data: string) => readonly NamedBytes[],
  contracts: ReadonlyMap<string, string>,
): Promise<readonly Item[]> {
  const trace = async (options: object): Promise<unknown> =>
    world.ethers.provider.send("debug_traceTransaction", [receipt.hash, options]);
  const { structLogs: steps } = (await trace(LEAN)) as { readonly structLogs: readonly Step[] };
  const call = (await trace({ tracer: "callTracer" })) as Call;
  const eventBytes = receipt.logs.map(({ data }) => (data.length - 2) / 2);
  const { data } = (await world.ethers.provider.getTransaction(receipt.hash))!;
  return bookGas({ steps, call, data, named: namedIn(data), eventBytes, gasUsed: Number(receipt.gasUsed), contracts });
}

/** Tables in Markdown: what the chain charges, and the rest. `goal`: the gas that a decision may take. */
export function floorText(floor: Floor, goal: number): string {
  const { n, batch, agents, seated, gasUsed, perDecision, items } = floor;
  const whole = (gas: number): string => Math.round(gas).toLocaleString("en");
  const row = ({ transaction, contract, what, times, perDecision: gas, perSeat, decisions }: FloorItem): string[] => [
    transaction,
    contract ?? "",
    what,
    (times / decisions).toLocaleString("en", { maximumFractionDigits: 1 }),
    whole(gas),
    whole(perSeat),
  ];
  const table = (isFloor: boolean, title: string, gas: number): string =>
    markdownTable(
      ["transaction", "contract", title, "times", "gas", "of a seat"],
      [
        ...items.filter((item) => item.isFloor === isFloor).map(row),
        ["", "", "**sum**", "", whole(gas), whole(gas / n)],
      ],
    );
  const over = perDecision.all - goal;
  return [
    `${batch} decisions of ${n} seats in one transaction with one header, among ${whole(agents)} agents: ${seated} of them sit in the ${n * batch} seats. The commit uses ${whole(gasUsed.commit)} gas, and each request ${whole(gasUsed.request)}. One decision takes ${whole(perDecision.all)}: ${whole(perDecision.floor)} that the chain charges whatever the code does, and ${whole(perDecision.rest)} for the rest.`,
    over > 0
      ? `The goal is ${whole(goal)}. To meet it, ${whole(over)} of the rest would have to go, or ${whole(over / n)} a seat.`
      : `The goal is ${whole(goal)}, which is met.`,
    "By decision:",
    table(true, "what the chain charges whatever the code does", perDecision.floor),
    table(false, "the rest", perDecision.rest),
  ].join("\n\n");
}
