import { describe } from "node:test";
import { playWorlds } from "./worlds.suite.ts";

describe("simulator, many worlds", () =>
  playWorlds({
    fault: 24,
    modelFault: 60,
    misdeed: 40,
    gossip: 24,
    ofFour: 25,
    ofSeven: 10,
    readingOfFour: 100,
    readingOfSeven: 20,
  }));
