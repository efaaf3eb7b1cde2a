import type { ReactElement } from "react";

interface Props {
  /** A stranger's text. */
  readonly text: string;
  /** Characters that are shown. */
  readonly most?: number;
}

/**
 * Characters that steer a terminal, turn the direction of text around, or are not seen though models read them, such as tags and fillers.
 * Joiners, breaks of words and variation selectors stay: emoji, Persian, Khmer and Mongolian need them.
 */
const HIDDEN =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2800\ufff9-\ufffb]|(?![\u00ad\u180b-\u180d\u180f\u200b-\u200d\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu;
/** More than four marks on one letter: such a pile would cover the lines above and below. */
const PILED = /(\p{M}{4})\p{M}+/gu;

/** A text of a stranger: it cannot turn or cover what stands beside it, hides nothing, and its length is bounded. */
export function Quoted({ text, most = 8_192 }: Props): ReactElement {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return <bdi className="quoted">{shown.replaceAll(HIDDEN, "\ufffd").replaceAll(PILED, "$1\ufffd")}</bdi>;
}
