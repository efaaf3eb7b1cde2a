// Where the gas of one transaction went: the transaction, and each step of its trace, is booked under what the chain charges for.

/** One step as `debug_traceTransaction` tells it. The `gasCost` of a call includes the gas that it hands on. */
export interface Step {
  readonly op: string;
  /** Gas that was left before the step. */
  readonly gas: number;
  readonly gasCost: number;
  /** 1 for the transaction's own call. */
  readonly depth: number;
  /** Gas that is to be refunded, before the step. */
  readonly refund: number;
}

/** A call and those that it made, in order, as the tracer `callTracer` tells them. */
export interface Call {
  readonly type: string;
  readonly to: string;
  /** In hex. */
  readonly gasUsed: string;
  readonly calls?: readonly Call[];
}

export interface Traced {
  readonly steps: readonly Step[];
  readonly call: Call;
  /** Calldata in hex. */
  readonly data: string;
  /** Parts of the calldata in hex that are booked by name; the rest is `arguments`. */
  readonly named: readonly { readonly name: string; readonly data: string }[];
  /** Numbers of data bytes of the events, in order. */
  readonly eventBytes: readonly number[];
  readonly gasUsed: number;
  /** Names by lower-case address. */
  readonly contracts: ReadonlyMap<string, string>;
}

export interface Item {
  readonly what: string;
  /** The contract in whose name the code ran; null for the transaction itself. */
  readonly contract: string | null;
  /** True for what the chain charges for words, signatures, events and bytes, however the code that needs them is written. */
  readonly isFloor: boolean;
  /** How many steps, bytes or words. */
  readonly times: number;
  readonly gas: number;
}

const TRANSACTION = 21_000;
/** EIP-2028, and the floor of EIP-7623. */
const BYTE = { zero: 4, nonzero: 16 } as const;
const FLOOR_BYTE = { zero: 10, nonzero: 40 } as const;
/** EIP-2929 and EIP-3529. */
const COLD_WORD = 2_100;
const COLD_ACCOUNT = 2_600;
const WARM = 100;
const NEW_WORD = 20_000;
const CHANGED_WORD = 2_900;
const MOST_REFUNDED = 5;
const EVENT = 375;
const EVENT_BYTE = 8;
const SIGNATURE = 3_000;

const isCall = (op: string): boolean => op === "CALL" || op === "STATICCALL" || op === "DELEGATECALL";
const RECOVER = "0x0000000000000000000000000000000000000001";

interface Frame {
  readonly contract: string;
  readonly calls: readonly Call[];
  /** How many of the calls are booked. */
  booked: number;
  /** The step that runs. */
  step: Step;
  /** Gas of all steps that have run, with what their calls used. */
  spent: number;
  /** What the steps of the running step's call used; null if it runs no code. */
  called: number | null;
}

type Add = (contract: string | null, what: string, gas: number, isFloor: boolean, times?: number) => void;

/**
 * Books every unit of gas. Throws if the items do not sum to the gas that the receipt tells, if a step costs what no rule
 * explains, or if a call failed: what is undone would be booked as if it had stayed.
 */
export function bookGas(traced: Traced): readonly Item[] {
  const items = new Map<string, Item>();
  const add: Add = (contract, what, gas, isFloor, times = 1) => {
    if (gas === 0) return;
    const key = `${contract} ${what}`;
    const before = items.get(key);
    const sum = { gas: (before?.gas ?? 0) + gas, times: (before?.times ?? 0) + times };
    items.set(key, { what, contract, isFloor, ...sum });
  };
  bookCalldata(traced, add);
  bookSteps(traced, add);
  const spent = sumOf([...items.values()]);
  const refund = Math.min(traced.steps.at(-1)?.refund ?? 0, Math.floor(spent / MOST_REFUNDED));
  add(null, "refund", -refund, true);
  const floor = TRANSACTION + costOf(traced.data, FLOOR_BYTE);
  add(null, "calldata: rest of the floor (EIP-7623)", Math.max(0, floor - (spent - refund)), true);
  return checked([...items.values()], traced.gasUsed);
}

/** Returns the items; throws if they do not sum to the gas used. */
export function checked(items: readonly Item[], gasUsed: number): readonly Item[] {
  const sum = sumOf(items);
  if (sum !== gasUsed) throw new Error(`The items sum to ${sum} gas, where the receipt tells ${gasUsed}`);
  return items;
}

export const sumOf = (items: readonly Pick<Item, "gas">[]): number => items.reduce((sum, { gas }) => sum + gas, 0);

function bookCalldata({ data, named }: Traced, add: Add): void {
  add(null, "transaction", TRANSACTION, true);
  const rest = countBytes(data);
  for (const part of named) {
    const { zero, nonzero } = countBytes(part.data);
    rest.zero -= zero;
    rest.nonzero -= nonzero;
    bookBytes(part.name, { zero, nonzero }, add);
  }
  bookBytes("arguments", rest, add);
}

function bookBytes(name: string, { zero, nonzero }: ByteCounts, add: Add): void {
  add(null, `calldata: ${name}, zero bytes`, zero * BYTE.zero, true, zero);
  add(null, `calldata: ${name}, nonzero bytes`, nonzero * BYTE.nonzero, true, nonzero);
}

interface ByteCounts {
  zero: number;
  nonzero: number;
}

function countBytes(data: string): ByteCounts {
  const bytes = Buffer.from(data.slice(2), "hex");
  const zero = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
  return { zero, nonzero: bytes.length - zero };
}

function costOf(data: string, price: Readonly<ByteCounts>): number {
  const { zero, nonzero } = countBytes(data);
  return zero * price.zero + nonzero * price.nonzero;
}

function bookSteps({ steps, call, contracts, eventBytes }: Traced, add: Add): void {
  const frames: Frame[] = [];
  const events = [...eventBytes];
  for (const step of steps) {
    while (frames.length > step.depth) leave(frames, events, add);
    const frame = frames.at(-1);
    if (frame !== undefined && frame.step.depth === step.depth) {
      close(frame, step.gas, events, add);
      frame.step = step;
    } else {
      frames.push({ ...entered(frame, call, contracts), step, booked: 0, spent: 0, called: null });
    }
  }
  while (frames.length > 0) leave(frames, events, add);
  if (events.length > 0) throw new Error(`${events.length} events of the receipt are not in the trace`);
}

/** The call that a frame's running step makes; the transaction's own if there is no frame. */
function entered(
  frame: Frame | undefined,
  own: Call,
  contracts: Traced["contracts"],
): Pick<Frame, "contract" | "calls"> {
  const call = frame === undefined ? own : callOf(frame);
  const calls = call.calls ?? [];
  // A delegated call runs in the name of its caller.
  if (frame !== undefined && call.type === "DELEGATECALL") return { contract: frame.contract, calls };
  const contract = contracts.get(call.to.toLowerCase());
  if (contract === undefined) throw new Error(`The contract at ${call.to} has no name`);
  return { contract, calls };
}

function callOf({ contract, calls, booked, step }: Frame): Call {
  const call = calls[booked];
  if (call === undefined) throw new Error(`No call is known for a ${step.op} of ${contract}`);
  return call;
}

/** Ends the innermost call. */
function leave(frames: Frame[], events: number[], add: Add): void {
  const { step, spent, contract } = frames.pop()!;
  if (step.op !== "STOP" && step.op !== "RETURN") throw new Error(`A call of ${contract} ends with ${step.op}`);
  bookStep(contract, step, events, add);
  const caller = frames.at(-1);
  if (caller !== undefined) caller.called = spent + step.gasCost;
}

/** Books the step that ran until `left` gas was left. */
function close(frame: Frame, left: number, events: number[], add: Add): void {
  const { step, contract } = frame;
  const took = step.gas - left;
  frame.spent += took;
  if (isCall(step.op)) {
    const call = callOf(frame);
    const used = Number(call.gasUsed);
    if (frame.called === null) bookPrecompile(contract, call, used, add);
    else if (frame.called !== used)
      throw new Error(`A call of ${contract} used ${used} gas, its steps ${frame.called}`);
    bookAccount(contract, step.op, took - used, add);
    frame.booked++;
    frame.called = null;
  } else {
    if (took !== step.gasCost)
      throw new Error(`A ${step.op} of ${contract} costs ${step.gasCost} gas, and took ${took}`);
    bookStep(contract, step, events, add);
  }
}

function bookPrecompile(contract: string, { to }: Call, used: number, add: Add): void {
  if (to.toLowerCase() === RECOVER && used === SIGNATURE) add(contract, "signatures recovered", used, true);
  else if (used > 0) throw new Error(`A call of ${contract} to ${to} used ${used} gas without a step`);
}

/** Books what a step that reads another account takes by itself: the account, and memory. */
function bookAccount(contract: string, op: string, gas: number, add: Add): void {
  const isCold = gas >= COLD_ACCOUNT;
  const price = isCold ? COLD_ACCOUNT : WARM;
  const memory = gas - price;
  if (memory < 0 || memory >= COLD_ACCOUNT - WARM) throw unexplained(contract, op, gas);
  add(contract, isCold ? "accounts read first" : "calls", price, isCold);
  add(contract, "computation", memory, false, 0);
}

function bookStep(contract: string, { op, gasCost }: Step, events: number[], add: Add): void {
  switch (op) {
    case "SLOAD":
      return bookRead(contract, gasCost, add);
    case "SSTORE":
      return bookWrite(contract, gasCost, add);
    case "TLOAD":
    case "TSTORE":
      return add(contract, "transient words", gasCost, false);
    case "BALANCE":
    case "EXTCODESIZE":
    case "EXTCODEHASH":
      return bookAccount(contract, op, gasCost, add);
    case "KECCAK256":
      return add(contract, "hashes", gasCost, false);
    case "LOG0":
    case "LOG1":
    case "LOG2":
    case "LOG3":
    case "LOG4":
      return bookEvent(contract, op, gasCost, events, add);
    case "CREATE":
    case "CREATE2":
    case "CALLCODE":
    case "EXTCODECOPY":
    case "SELFDESTRUCT":
      throw unexplained(contract, op, gasCost);
    default:
      return add(contract, "computation", gasCost, false);
  }
}

function bookRead(contract: string, gas: number, add: Add): void {
  if (gas === COLD_WORD) add(contract, "words read first", gas, true);
  else if (gas === WARM) add(contract, "words read again", gas, false);
  else throw unexplained(contract, "SLOAD", gas);
}

function bookWrite(contract: string, gas: number, add: Add): void {
  const written = gas >= COLD_WORD + WARM && gas !== NEW_WORD && gas !== CHANGED_WORD ? gas - COLD_WORD : gas;
  if (written !== gas) add(contract, "words read first", COLD_WORD, true);
  if (written === NEW_WORD) add(contract, "words that were zero, written", written, true);
  else if (written === CHANGED_WORD) add(contract, "words changed", written, true);
  else if (written === WARM) add(contract, "words written again", written, false);
  else throw unexplained(contract, "SSTORE", gas);
}

function bookEvent(contract: string, op: string, gas: number, events: number[], add: Add): void {
  const bytes = events.shift();
  if (bytes === undefined) throw new Error(`The receipt has no event for a ${op} of ${contract}`);
  const topics = EVENT * (1 + Number(op.slice("LOG".length)));
  const data = EVENT_BYTE * bytes;
  const memory = gas - topics - data;
  if (memory < 0) throw unexplained(contract, op, gas);
  add(contract, "events: topics", topics, true);
  add(contract, "events: bytes", data, true, bytes);
  add(contract, "computation", memory, false, 0);
}

const unexplained = (contract: string, op: string, gas: number): Error =>
  new Error(`No rule explains why a ${op} of ${contract} costs ${gas} gas`);
