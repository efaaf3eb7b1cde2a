/** What nobody measured here: each figure with where it comes from. */
export interface Assumption {
  readonly what: string;
  readonly value: string;
  readonly source: string;
}

/** The load that is computed. */
export const AGENTS = 10_000;
export const DECISIONS_PER_SECOND = 1;
export const SIZES = [7, 13, 31, 64] as const;

export const SECONDS_PER_DAY = 86_400;
export const SECONDS_PER_BLOCK = 12;
/** Gas limits of a block of the L1, the lowest and the highest that is assumed. */
export const BLOCK_GAS = [36_000_000, 60_000_000] as const;
/** Bytes of blobs that a block of the L1 aims at: six blobs of 4,096 words of 32 bytes. */
export const BLOB_BYTES_PER_BLOCK = 6 * 131_072;
/** Gas that a rollup takes a second. */
export const ROLLUP_GAS_PER_SECOND = 10_000_000;
/** Shortest unbonding delay that a deployment may have. */
export const UNBONDING_DAYS = 16;
/** Part by which a delay may exceed half of the round trip. */
export const JITTER = 0.2;
/** How long an agent sits in a committee: phases with a model of some seconds, and until the commit is in a final block. */
export const SECONDS_PER_SEAT = 60;

const REGIONS_URL = "https://acomputerscientistlearnsaws.blogspot.com/2017/04/aws-regions.html";

/** Mean round trips in ms between ten regions of one provider: Virginia, California, Oregon, Ireland, Frankfurt, Tokyo, Seoul, Singapore, Sydney, São Paulo. */
const ROUND_TRIPS: readonly (readonly number[])[] = [
  [73, 87, 81, 89, 145, 178, 217, 230, 120],
  [19, 153, 167, 103, 132, 174, 158, 193],
  [137, 160, 89, 118, 161, 162, 183],
  [20, 212, 242, 239, 310, 191],
  [237, 266, 326, 324, 195],
  [31, 74, 104, 257],
  [72, 134, 286],
  [175, 328],
  [323],
];

export const REGIONS = ROUND_TRIPS.length + 1;

/** Returns half of the round trip between two regions, in ms; within one region half a millisecond. */
export function halfTripMs(one: number, other: number): number {
  const [low, high] = one < other ? [one, other] : [other, one];
  return low === high ? 0.5 : (ROUND_TRIPS[low]?.[high - low - 1] as number) / 2;
}

export const ASSUMPTIONS: readonly Assumption[] = [
  {
    what: "load",
    value: "10,000 agents, one decision a second, `mbft`, everybody agrees, nobody appeals",
    source: "the task",
  },
  {
    what: "a seat lasts",
    value: `${SECONDS_PER_SEAT} s`,
    source: "`timing.phaseMs`, the longest phase, and some blocks",
  },
  {
    what: "delays over a WAN",
    value:
      "half of the mean round trips between ten regions, and up to a fifth more by chance; seats lie in regions by chance",
    source: `[measured by others, 2017](${REGIONS_URL})`,
  },
  {
    what: "a block of the L1",
    value: "12 s; 36 to 60 million gas",
    source: "the limits that Ethereum's validators voted for in 2025",
  },
  {
    what: "blobs",
    value: "six of 131,072 bytes in a block",
    source: "[EIP-7691](https://eips.ethereum.org/EIPS/eip-7691); later forks take more",
  },
  {
    what: "a rollup",
    value: "10 million gas a second",
    source: "a round figure below what large rollups say of themselves",
  },
  {
    what: "unbonding delay",
    value: `${UNBONDING_DAYS} days, the shortest`,
    source: "[operating](operating.md#stake-and-delegation)",
  },
];
