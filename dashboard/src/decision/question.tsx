import { useEffect, useRef, useState, type ReactElement } from "react";
import { Quoted } from "../shared/quoted.tsx";

/** More than one empty line in a row. */
const GAP = /\n(?:[^\S\n]*\n){2,}/g;

/** What was asked, folded after some lines: a long question must not push its own answer out of sight. */
export function Question({ text }: { readonly text: string }): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const { current } = heading;
    if (current === null) return;
    const watcher = new ResizeObserver(() => setCut(current.scrollHeight > current.clientHeight + 1));
    watcher.observe(current);
    return () => watcher.disconnect();
  }, []);
  const hasMore = isCut || text.search(GAP) >= 0;
  return (
    <>
      <h1 ref={heading} className={isOpen ? "" : hasMore ? "folded is-cut" : "folded"}>
        <Quoted text={isOpen ? text : text.replaceAll(GAP, "\n\n")} />
      </h1>
      {(hasMore || isOpen) && (
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}
