import {
  JinjaTemplateChatWrapper,
  LlamaText,
  resolveChatWrapper,
  SpecialTokensText,
  type ChatHistoryItem,
  type ChatWrapper,
  type LlamaModel,
} from "node-llama-cpp";

import { THOUGHT_TAGS } from "./thought-marks.ts";

/** How a model's chat template frames its private thoughts. */
export interface ThoughtFrame {
  /** The prompt, with the mark that opens the thoughts. */
  readonly opened: LlamaText;
  /** All that stands between the thoughts and the answer, in control tokens. */
  readonly closing: string;
  /** The part of it after the mark by which the model ends its thoughts itself. */
  readonly after: string;
}

/** Stands for the thoughts while the template is rendered. */
const PLACE = "THOUGHTS";

/** A model's chat wrapper, and the mark that ends its thoughts; null for a model that has none. */
interface Chat {
  readonly chatWrapper: ChatWrapper | null;
  readonly mark: string | null;
}

/**
 * Returns how to chat with a model. A wrapper that the engine takes for the template's equal may know less of thoughts
 * than the template.
 */
export function chatOf(model: LlamaModel): Chat {
  const template = model.fileInfo.metadata.tokenizer?.chat_template;
  const chatWrapper = resolveChatWrapper(model);
  const mark = thoughtMark(chatWrapper, template);
  if (mark !== null || template === undefined) return { chatWrapper, mark };
  try {
    const ofTemplate = templateWrapper(template, model);
    const itsMark = thoughtMark(ofTemplate, template);
    return itsMark === null ? { chatWrapper, mark } : { chatWrapper: ofTemplate, mark: itsMark };
  } catch {
    // The engine cannot render this template, so it found another wrapper.
    return { chatWrapper, mark };
  }
}

/** Renders a template. The engine knows some of the tags around thoughts; the others are named to it. */
export function templateWrapper(template: string, { tokenizer }: Pick<LlamaModel, "tokenizer">): ChatWrapper {
  const plain = new JinjaTemplateChatWrapper({ template, tokenizer });
  const tags = THOUGHT_TAGS.find(([begin, end]) => template.includes(begin) && template.includes(end));
  if (thoughtMark(plain, template) !== null || tags === undefined) return plain;
  const [begin, end] = tags;
  return new JinjaTemplateChatWrapper({
    template,
    tokenizer,
    segments: { thoughtTemplate: `${begin}{{content}}${end}` },
  });
}

/** Returns the mark that ends thoughts; null if the model's own template has none. */
export function thoughtMark(chatWrapper: ChatWrapper | null, chatTemplate: string | undefined): string | null {
  const suffix = chatWrapper?.settings.segments?.thought?.suffix;
  const mark = suffix === undefined ? "" : specialText(LlamaText(suffix).values).trim();
  // The wrapper of a family may know thoughts that this model has not learned.
  return mark !== "" && chatTemplate?.includes(mark) === true ? mark : null;
}

/** Renders a prompt with thoughts. The template decides what surrounds them. */
export function frameThoughts(
  chatWrapper: ChatWrapper,
  history: readonly ChatHistoryItem[],
  mark: string,
): ThoughtFrame {
  const thought = { type: "segment", segmentType: "thought", text: PLACE, ended: true } as const;
  const { contextText, ...state } = chatWrapper.generateContextState({
    chatHistory: [...history, { type: "model", response: [thought] }],
  });
  const { values } = contextText;
  const at = values.findLastIndex((value) => typeof value === "string" && value.includes(PLACE));
  const place = values[at];
  if (typeof place !== "string") throw new Error("the chat template does not show the model's thoughts");
  const [before, behind] = splitLast(place, PLACE);
  const prefix =
    "noPrefixTrigger" in state && state.noPrefixTrigger?.type === "response" ? state.noPrefixTrigger : null;
  const injected = prefix === null ? [] : LlamaText(prefix.inject).values;
  const closing = behind + specialText([...values.slice(at + 1), ...injected]);
  const opened = LlamaText([...values.slice(0, at), before]);
  // Models that think in these tags have learned to leave a line blank before they answer.
  const rest = mark === "</think>" && closing.trim() === mark ? "\n\n" : "";
  const end = closing.trimEnd() === closing ? closing + rest : closing;
  return { opened, closing: end, after: end.slice(end.indexOf(mark) + mark.length) };
}

function specialText(values: LlamaText["values"]): string {
  return values
    .map((value) => (typeof value === "string" ? value : value instanceof SpecialTokensText ? value.value : ""))
    .join("");
}

function splitLast(text: string, part: string): readonly [string, string] {
  const at = text.lastIndexOf(part);
  return [text.slice(0, at), text.slice(at + part.length)];
}
