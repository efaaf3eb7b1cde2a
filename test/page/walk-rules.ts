// How a random walk goes through the dashboard, and what must hold at every step. Bombadil bundles this file and runs it.
import { always, eventually, now } from "@antithesishq/bombadil";
import { actions, extract, weighted } from "@antithesishq/bombadil/browser";
import { clicks, inputs, navigation, scroll, waitOnce } from "@antithesishq/bombadil/browser/defaults/actions";
export {
  noHttpErrorCodes,
  noUncaughtExceptions,
  noUnhandledPromiseRejections,
  noConsoleErrors,
} from "@antithesishq/bombadil/browser/defaults/properties";

const shown = extract(({ document, window }) => {
  const main = document.querySelector("main");
  return {
    route: window.location.hash,
    headings: document.querySelectorAll("h1").length,
    isLoading: document.querySelector(".loading") !== null,
    isWide: document.documentElement.scrollWidth > window.innerWidth,
    hasNonsense: /\b(undefined|NaN|Infinity)\b|\[object /.test(main?.innerText ?? ""),
    isSealed: document.querySelector(".seal.good") !== null,
    passed: document.querySelectorAll(".check.is-passed").length,
  };
});

/** Types, but not into the settings: those of another place would only show that the place does not answer. */
const typing = actions(() => (shown.current.route === "#/settings" ? ["Back"] : inputs.generate()));

const sizes = actions(() => [
  { SetViewport: { width: 390, height: 800 } },
  { SetViewport: { width: 1_200, height: 900 } },
]);

export const walk = weighted([
  [20, clicks],
  [10, typing],
  [3, scroll],
  [2, navigation],
  [1, sizes],
  [1, waitOnce],
]);

export const showsOnePage = always(() => shown.current.headings <= 1);

export const alwaysComesToAHeading = always(
  now(() => shown.current.headings === 0).implies(eventually(() => shown.current.headings === 1).within(30, "seconds")),
);

export const neverLoadsForEver = always(
  now(() => shown.current.isLoading).implies(eventually(() => !shown.current.isLoading).within(30, "seconds")),
);

export const neverStaysWiderThanTheWindow = always(
  now(() => shown.current.isWide).implies(eventually(() => !shown.current.isWide).within(3, "seconds")),
);

export const saysNoNonsense = always(() => !shown.current.hasNonsense);

export const sealsOnlyWhatIsProven = always(() => !shown.current.isSealed || shown.current.passed === 6);
