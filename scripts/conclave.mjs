#!/usr/bin/env node
import { launch } from "./bootstrap.mjs";

await launch("devnet/cli.ts", process.argv.slice(2));
