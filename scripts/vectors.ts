/**
 * Writes test/vectors/eip712.json with ethers, and test/vectors/skill.json in plain steps: implementations independent of both
 * the contracts and the core. `npm run generate` writes them; with `--check` this exits 1 if one differs.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import {
  AbiCoder,
  SigningKey,
  TypedDataEncoder,
  ZeroAddress,
  hexlify,
  id,
  keccak256,
  sha256,
  toUtf8Bytes,
} from "ethers";
import type { TypedDataDomain, TypedDataField } from "ethers";

import { LAYOUTS } from "../agents/core/encoding/layouts.ts";
import {
  Status,
  addressOf,
  bitmapOf,
  certify,
  decisionTypes,
  hashCommittee,
  hashRequest,
  linkAfter,
  messageTypes,
  packDecision,
  packRelay,
  packRequestId,
  packRound,
  packSeat,
  packTerms,
  possessionTypes,
  publicKeyOf,
  requestedCommitment,
  settledCommitment,
  testKey,
  word,
  zeroTerms,
} from "../test/support/contracts/typed-data.ts";
import type { Terms } from "../test/support/contracts/typed-data.ts";

const FOLDER = new URL("../test/vectors/", import.meta.url);

const domain: TypedDataDomain = {
  name: "Conclave",
  version: "1",
  chainId: 31337,
  verifyingContract: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
};
const registryDomain: TypedDataDomain = {
  name: "ConclaveRegistry",
  version: "1",
  chainId: 31337,
  verifyingContract: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
};

/** Key i of the vectors: keccak256("conclave vector key i"). Never use one outside tests. */
const vectorKey = (index: number): SigningKey => testKey(`conclave vector key ${index}`);

const makeRequest = (requestId: bigint, consumer: string, terms: Terms, question: string, seedBlock: bigint) => {
  const termsWord = packTerms(terms);
  const questionHash = keccak256(toUtf8Bytes(question));
  const requestHash = hashRequest({ id: requestId, consumer, terms: termsWord, questionHash });
  const roundWord = packRound({ link: 0n, appeals: 0, deadline: 1_900_000_000 });
  return {
    id: requestId.toString(),
    consumer,
    terms,
    // abi.encode(Terms): the members in the order of the layout, a word each.
    termsStruct: AbiCoder.defaultAbiCoder().encode(
      LAYOUTS.requestTerms.map(([, bits]) => `uint${8 * Math.ceil(bits / 8)}`),
      LAYOUTS.requestTerms.map(([name]) => terms[name]),
    ),
    termsWord,
    question,
    questionHash,
    requestHash,
    roundWord,
    seedBlock: seedBlock.toString(),
    requestedCommitment: requestedCommitment(requestHash, roundWord, seedBlock),
  };
};

const makeCommittee = (size: number, firstKey: number) => {
  const seats = Array.from({ length: size }, (_, seat) => {
    const key = vectorKey(firstKey + seat);
    const agentId = 1000 * firstKey + seat * 7 + 1;
    const reputation = 1_000_000 - seat * 12_345;
    const signer = addressOf(key);
    const skill = 1 + (seat % 3);
    const packed = packSeat(agentId, reputation, signer, skill);
    return { skill, agentId, reputation, signer, privateKey: key.privateKey, word: packed };
  });
  const words = seats.map((seat) => seat.word);
  return { seats, words, committeeHash: hashCommittee(words) };
};

const base: Terms = {
  ...zeroTerms,
  fee: "1000000000000000000",
  duration: 3600,
  callbackGasLimit: 100_000,
  committeeSize: 4,
  protocol: 1,
};
/** A high value for every term. Those of neighbours with the same width differ, so that a swap shows. */
const highTerms = Object.fromEntries(
  LAYOUTS.requestTerms.map(([name, bits], index) => {
    const most = (1n << BigInt(bits)) - 1n;
    const value = most - (BigInt(index) % most);
    return [name, name === "fee" ? value.toString() : Number(value)];
  }),
) as unknown as Terms;
const requests = [
  makeRequest(1n, "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0", base, "Is 17 a prime number?", 12n),
  makeRequest(
    2n,
    "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    { ...base, kind: 1, options: 3, committeeSize: 7, assurance: 1, security: 1, appeals: 2, retries: 3, currency: 1 },
    "Which clause applies?\n(A) 1.1\n(B) 1.2\n(C) 2.1",
    4_294_967_296n,
  ),
  makeRequest(
    (1n << 200n) + 3n,
    "0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF",
    highTerms,
    "Zwei und zwei — §1 ✓ 数",
    1n,
  ),
  makeRequest(
    4n,
    "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0",
    { ...base, kind: 4, options: 4 },
    "Which measures come first?\n(A) levee\n(B) pumps\n(C) alarms\n(D) maps",
    99n,
  ),
];
const committees = [makeCommittee(4, 1), makeCommittee(7, 10)];

const relays = [
  { signers: 0b1011n, gasPriceWei: 1_234_567_890n, relayer: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0" },
  { signers: 0n, gasPriceWei: 999_999n, relayer: "0x0000000000000000000000000000000000000001" },
  { signers: (1n << 64n) - 1n, gasPriceWei: 1n << 128n, relayer: "0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF" },
].map(({ signers, gasPriceWei, relayer }) => ({
  signers: signers.toString(),
  gasPriceWei: gasPriceWei.toString(),
  relayer,
  word: packRelay(signers, gasPriceWei, relayer),
}));

const requestIds = [
  { priceVersion: 0n, subscription: 0n, count: 1n },
  { priceVersion: 3n, subscription: 7n, count: 9n },
  { priceVersion: (1n << 16n) - 1n, subscription: (1n << 48n) - 2n, count: (1n << 48n) - 3n },
].map(({ priceVersion, subscription, count }) => ({
  priceVersion: priceVersion.toString(),
  subscription: subscription.toString(),
  count: count.toString(),
  id: packRequestId(priceVersion, subscription, count).toString(),
}));

const rounds = [
  { link: 0n, appeals: 0, deadline: 1_900_000_000 },
  { link: (1n << 200n) + 5n, appeals: 1, deadline: 1_900_003_600 },
  { link: (1n << 208n) - 1n, appeals: 255, deadline: 2 ** 40 - 1 },
].map((fields) => ({ ...fields, link: word(fields.link), word: packRound(fields) }));

const makeDecision = (
  request: number,
  committee: number,
  fields: {
    attempt: number;
    round: number;
    status: number;
    outcome: string;
    answer: string;
    confidence: number;
    answered: string;
    agreed: string;
    reputationChanges: string;
    shares: string;
  },
) => {
  const message = {
    requestHash: requests[request]!.requestHash,
    committeeHash: committees[committee]!.committeeHash,
    ...fields,
    transcript: sha256(toUtf8Bytes(`transcript ${request} ${committee}`)),
  };
  const { committeeHash } = message;
  // The first round serves attempt 0, the second later ones.
  const roundWord = rounds[fields.attempt === 0 ? 0 : 1]!.word;
  const structHash = TypedDataEncoder.hashStruct("Decision", decisionTypes, message);
  const relayWord = relays[committee]!.word;
  const past = { round: roundWord, committeeHash, structHash, relay: relayWord };
  const appellant = requests[1]!.consumer;
  return {
    request,
    committee,
    message,
    packed: packDecision(message),
    roundWord,
    structHash,
    relayWord,
    settledCommitment: settledCommitment(structHash, relayWord, roundWord),
    // After a retry, and after an appeal.
    links: [ZeroAddress, appellant].map((account) => ({
      appellant: account,
      link: word(linkAfter({ ...past, appellant: account })),
    })),
    digest: TypedDataEncoder.hash(domain, decisionTypes, message),
  };
};
const decisions = [
  makeDecision(0, 0, {
    attempt: 0,
    round: 0,
    status: Status.Decided,
    outcome: word(1n),
    answer: hexlify(toUtf8Bytes("yes")),
    confidence: 875_000,
    answered: "15",
    agreed: "13",
    reputationChanges: "0x",
    shares: "0x01010101",
  }),
  makeDecision(1, 1, {
    attempt: 3,
    round: 2,
    status: Status.Decided,
    outcome: word(2n),
    answer: hexlify(toUtf8Bytes("C")),
    confidence: 1_000_000,
    answered: "125",
    agreed: "61",
    // Seat 1 recovers one step, seat 4 is slashed twice, seat 6 once.
    reputationChanges: "0x010104fe06ff",
    shares: "0x010200ff010100",
  }),
  makeDecision(0, 0, {
    attempt: 0,
    round: 7,
    status: Status.Hung,
    outcome: word(0n),
    answer: "0x",
    confidence: 0,
    answered: "0",
    agreed: "0",
    reputationChanges: "0x",
    shares: "0x00000000",
  }),
  makeDecision(3, 0, {
    attempt: 1,
    round: 0,
    status: Status.Decided,
    outcome: word(0b101n),
    answer: hexlify(toUtf8Bytes("A,C")),
    confidence: 750_000,
    answered: (2n ** 64n - 1n).toString(),
    agreed: (2n ** 63n).toString(),
    reputationChanges: "0x02ff",
    shares: "0x02020002",
  }),
];

/** Returns a certificate by the given seats, in ascending order. */
const makeCertificate = (decision: number, signerSeats: number[]) => {
  const { digest, committee } = decisions[decision]!;
  const { seats } = committees[committee]!;
  const keyOf = (seat: number): SigningKey => new SigningKey(seats[seat]!.privateKey);
  return {
    decision,
    signerSeats,
    signers: word(bitmapOf(signerSeats)),
    // 65 bytes (r, s, v) each, as agents exchange them; packed with 64 of them.
    signatures: signerSeats.map((seat) => keyOf(seat).sign(digest).serialized),
    packed: certify(digest, signerSeats, keyOf),
  };
};
const certificates = [
  makeCertificate(0, [0, 1, 3]),
  makeCertificate(0, [0, 1, 2, 3]),
  makeCertificate(1, [0, 2, 3, 4, 6]),
  makeCertificate(2, [1, 2, 3]),
  makeCertificate(3, [0, 1, 3]),
];

const messages = [
  { request: 0, committee: 0, attempt: 0, protocol: 1, phase: 0, round: 0, seat: 0, payload: "first" },
  { request: 1, committee: 1, attempt: 3, protocol: 7, phase: 5, round: 12, seat: 6, payload: "second" },
  {
    request: 3,
    committee: 0,
    attempt: 2 ** 32 - 1,
    protocol: 2 ** 32 - 2,
    phase: 2 ** 32 - 3,
    round: 2 ** 32 - 4,
    seat: 2 ** 32 - 5,
    payload: "",
  },
].map(({ request, committee, payload, ...header }, index) => {
  const message = {
    requestHash: requests[request]!.requestHash,
    committeeHash: committees[committee]!.committeeHash,
    ...header,
    payloadDigest: sha256(toUtf8Bytes(payload)),
  };
  const digest = TypedDataEncoder.hash(domain, messageTypes, message);
  const key = vectorKey(index + 1);
  return {
    request,
    committee,
    message,
    structHash: TypedDataEncoder.hashStruct("Message", messageTypes, message),
    digest,
    privateKey: key.privateKey,
    signer: addressOf(key),
    signature: key.sign(digest).serialized,
  };
});

const possessions = [20, 21].map((index) => {
  const key = vectorKey(index);
  const message = { operator: requests[0]!.consumer, publicKey: publicKeyOf(key) };
  const digest = TypedDataEncoder.hash(registryDomain, possessionTypes, message);
  return {
    message,
    digest,
    privateKey: key.privateKey,
    signer: addressOf(key),
    signature: key.sign(digest).serialized,
  };
});

const typeHash = (name: string, types: Record<string, TypedDataField[]>): string =>
  id(TypedDataEncoder.from(types).encodeType(name));

const vectors = {
  description:
    "EIP-712 digests, request and seat words, certificates; made by scripts/vectors.ts with ethers. Big integers are decimal strings, words and bytes 0x hex.",
  domain,
  domainSeparator: TypedDataEncoder.hashDomain(domain),
  registryDomain,
  registryDomainSeparator: TypedDataEncoder.hashDomain(registryDomain),
  typeHashes: {
    Decision: typeHash("Decision", decisionTypes),
    Message: typeHash("Message", messageTypes),
    Possession: typeHash("Possession", possessionTypes),
  },
  requestIds,
  termBits: LAYOUTS.requestTerms.map(([, bits]) => bits),
  requests,
  committees,
  rounds,
  decisions,
  certificates,
  relays,
  messages,
  possessions,
};

/** What a walk of contested decisions makes of an agent's counters and its skill: one byte for each, after each decision. */
const walkOf = (name: string, count: number, agrees: (index: number) => boolean) => {
  const lessons = Array.from({ length: count }, (_, index) => agrees(index));
  let [agreed, contested] = [0, 0];
  const states = lessons.map((isRight) => {
    contested += 1;
    if (isRight) agreed += 1;
    if (contested === 128) [agreed, contested] = [Math.floor(agreed / 2), 64];
    const part = (agreed + 3) / (contested + 5);
    return { agreed, contested, skill: part >= 0.8 ? 3 : part >= 0.6 ? 2 : 1 };
  });
  const bytes = (values: readonly number[]): string => hexlify(Uint8Array.from(values));
  return {
    name,
    lessons: bytes(lessons.map(Number)),
    agreed: bytes(states.map((state) => state.agreed)),
    contested: bytes(states.map((state) => state.contested)),
    skills: bytes(states.map(({ skill }) => skill)),
  };
};
const skill = {
  description:
    "Counters and skills of agents (docs/spec/skill.md), made by scripts/vectors.ts. A byte for each contested decision: 1 where the agent agreed, then the counters and the skill after it.",
  walks: [
    walkOf("always", 300, () => true),
    walkOf("never", 300, () => false),
    walkOf("half", 300, (index) => index % 2 === 0),
    walkOf("seven of ten", 300, (index) => index % 10 < 7),
    walkOf("nine of ten", 300, (index) => index % 10 < 9),
    walkOf("honest, then lies", 300, (index) => index < 200),
    walkOf("lies, then honest", 300, (index) => index >= 100),
  ],
};

for (const [name, value] of Object.entries({ "eip712.json": vectors, "skill.json": skill })) {
  const file = new URL(name, FOLDER);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (!process.argv.includes("--check")) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error(`test/vectors/${name} differs from what scripts/vectors.ts writes`);
    process.exitCode = 1;
  }
}
