// The project's configuration with a folder of its own for the production build, so that the development build stays as it is.
// Used by `npm run test:contracts:production` and by the gas figures, always with `--build-profile production`.
import { defineConfig } from "hardhat/config";

import base from "../../hardhat.config.ts";

export default defineConfig({
  ...base,
  paths: { ...base.paths, artifacts: "cache/production/artifacts", cache: "cache/production/cache" },
});
