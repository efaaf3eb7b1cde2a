#!/usr/bin/env node
import { launch } from "./bootstrap.mjs";

await launch("agents/cli/main.ts", process.argv.slice(2));
