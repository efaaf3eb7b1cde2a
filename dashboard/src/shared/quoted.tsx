import type { ReactElement } from "react";

interface Props {
  /** A stranger's text. */
  readonly text: string;
  /** Characters that are shown. */
  readonly most?: number;
}

/** Characters that steer a terminal or turn the direction of text around. */
// eslint-disable-next-line no-control-regex
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text of a stranger: it cannot turn the direction of what stands beside it, and its length is bounded. */
export function Quoted({ text, most = 8_192 }: Props): ReactElement {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return <bdi className="quoted">{shown.replaceAll(STEERING, "\ufffd")}</bdi>;
}
