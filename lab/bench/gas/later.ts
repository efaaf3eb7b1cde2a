// What a commit costs beyond its own committee: the seats of the rounds that it brings along, and the bytes of a text (SE13).
import { keccak256, toUtf8Bytes, hexlify } from "ethers";

import { appeal, ask, commit, decisionFor, draw, type Asked } from "../../../test/support/contracts/course.ts";
import type { World } from "../../../test/support/contracts/world.ts";

const KIND_TEXT = 3;
/** Committees that an appeal against one of 4, 7 and 13 seats calls bring those along. */
const first = [4, 7, 13] as const;
const lengths = [1, 1_024] as const;

/** Gas of a commit without a callback. */
export interface LaterFigure {
  readonly commit: string;
  readonly gas: number;
}

export async function measureLater(world: World): Promise<readonly LaterFigure[]> {
  const figures: LaterFigure[] = [];
  for (const n of first) {
    const drawn = await draw(world, await ask(world, { committeeSize: n, appeals: 1 }));
    const gas = await commitGas(world, await appeal(world, await commit(world, drawn)), "yes");
    figures.push({ commit: `${2 * n + 1} after ${n}`, gas });
  }
  for (const length of lengths) {
    const gas = await commitGas(world, await ask(world, { kind: KIND_TEXT }), "x".repeat(length));
    figures.push({ commit: `4, text of ${length} bytes`, gas });
  }
  return figures;
}

async function commitGas(world: World, asked: Asked, text: string): Promise<number> {
  const drawn = await draw(world, asked);
  const answer = hexlify(toUtf8Bytes(text));
  const outcome = text === "yes" ? {} : { outcome: keccak256(answer) };
  const { receipt } = await commit(world, drawn, decisionFor(drawn, { answer, ...outcome }));
  return Number(receipt.gasUsed);
}
