/** The focus of whoever uses a keyboard: a browser drops it where what has it is locked or gone, and begins at the top again. */

const AROUND = "section, form, article, main, [popover], [role=list]";

/** What a button has that does nothing while something is under way: `disabled` would drop the focus. */
export function lockedWhile(isLocked: boolean, onClick?: () => void) {
  return { "aria-disabled": isLocked, onClick: isLocked ? undefined : onClick };
}

/** Hands the focus from what is gone or disabled to what stands around it, from now on. */
export function keepFocus(): void {
  let held: Element | null = null;
  let around: Element[] = [];
  addEventListener("focusin", ({ target }) => {
    held = target as Element;
    around = [];
    for (let one = held.parentElement; one !== null; one = one.parentElement) around.push(one);
  });
  new MutationObserver(() => {
    const { activeElement, body } = document;
    if (held === null || (activeElement !== body && activeElement !== held)) return;
    if (held.isConnected && !held.matches(":disabled")) return;
    const heir = around.find((one) => one.isConnected && one.matches(AROUND)) ?? document.querySelector("main");
    if (!(heir instanceof HTMLElement)) return;
    heir.tabIndex = -1;
    heir.focus({ preventScroll: true });
  }).observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
}
