import { useMemo, useState, type MouseEvent, type ReactElement } from "react";
import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";
import { Choice } from "../shared/field.tsx";
import { listed, plural } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { ShownArgument } from "./argument.ts";
import { columnsOf, seatsOf, seenFrom } from "./event-graph.ts";

interface Props {
  readonly argument: ShownArgument;
  readonly messages: readonly TranscriptMessage[];
  readonly seats: number;
}

/** Distances in the drawing, in pixels. */
const COLUMN = 18;
const LANE = 24;
const NAMES = 56;
/** A second event of a seat in one column, which only an equivocation makes, stands beside the first. */
const BESIDE = 8;

/** The events of a hashgraph by seat and time, and what each had seen. */
export function EventsSeen({ argument, messages, seats }: Props): ReactElement | null {
  const [chosen, setChosen] = useState<number | null>(null);
  const places = useMemo(() => placesOf(messages), [messages]);
  const index = chosen ?? messages.length - 1;
  const event = messages[index];
  if (event === undefined) return null;
  const seen = seenFrom(messages, index);
  return (
    <section className="stack" aria-label="Who saw whom">
      <h2>Who saw whom</h2>
      <p className="soft small">
        Each point is an event that a seat signed, from left to right as they follow from one another. Lines lead to the
        two events that it names: its seat’s own before it, and the latest one that it heard of another seat. Larger
        points carry an answer. Choose an event to see all that its seat had seen.
      </p>
      <div className="scroll" tabIndex={0} role="region" aria-label="Events, a drawing">
        <Drawing
          argument={argument}
          messages={messages}
          seats={seats}
          places={places}
          seen={seen}
          chosen={index}
          onChoose={setChosen}
        />
      </div>
      <Chooser messages={messages} index={index} onChoose={setChosen} />
      <Seen argument={argument} messages={messages} seats={seats} index={index} seen={seen} />
    </section>
  );
}

interface Place {
  readonly x: number;
  readonly y: number;
}

function placesOf(messages: readonly TranscriptMessage[]): readonly Place[] {
  const columns = columnsOf(messages);
  const taken = new Set<string>();
  return messages.map(({ seat }, index) => {
    const x = NAMES + ((columns[index] ?? 0) + 0.5) * COLUMN;
    let y = (seat + 0.5) * LANE;
    while (taken.has(`${x} ${y}`)) y += BESIDE;
    taken.add(`${x} ${y}`);
    return { x, y };
  });
}

interface DrawingProps extends Props {
  readonly places: readonly Place[];
  readonly seen: ReadonlySet<number>;
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
}

/** Draws all events of a sort as one path: a committee of 31 makes thousands. */
function Drawing({ argument, messages, seats, places, seen, chosen, onChoose }: DrawingProps): ReactElement {
  const width = Math.max(...places.map(({ x }) => x)) + COLUMN;
  const height = seats * LANE;
  const choose = ({ currentTarget, clientX, clientY }: MouseEvent<SVGSVGElement>): void => {
    const { left, top } = currentTarget.getBoundingClientRect();
    onChoose(nearest(places, { x: clientX - left, y: clientY - top }));
  };
  const answers = new Set(argument.statements.flatMap(({ answer, message }) => (answer === null ? [] : [message])));
  const equivocal = new Set(argument.equivocations.flatMap((one) => one.messages));
  const all = [...messages.keys()];
  const sorts = [
    ["plain", all.filter((one) => !answers.has(one))],
    ["answer", all.filter((one) => answers.has(one))],
    ["equivocation", all.filter((one) => equivocal.has(messages[one] as TranscriptMessage))],
  ] as const;
  return (
    // The list below it chooses events by the keyboard.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <svg
      className="graph"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${plural(messages.length, "event")} of ${plural(seats, "seat")}`}
      onClick={choose}
    >
      {Array.from({ length: seats }, (_, seat) => (
        <text key={seat} x={0} y={(seat + 0.5) * LANE} dominantBaseline="middle">
          Seat {seat}
        </text>
      ))}
      <path className="edges" d={edges(messages, places, all)} />
      <path className="edges is-seen" d={edges(messages, places, [...seen])} />
      {sorts.map(([sort, indices]) => (
        <g key={sort} className={`events is-${sort}`}>
          <path
            d={dots(
              places,
              indices.filter((one) => !seen.has(one)),
            )}
          />
          <path
            className="is-seen"
            d={dots(
              places,
              indices.filter((one) => seen.has(one)),
            )}
          />
        </g>
      ))}
      <circle className="chosen" cx={places[chosen]?.x} cy={places[chosen]?.y} r={9} />
    </svg>
  );
}

function edges(messages: readonly TranscriptMessage[], places: readonly Place[], indices: readonly number[]): string {
  return indices
    .flatMap((index) => {
      const [from, parents] = [places[index], messages[index]?.parents ?? []];
      return parents.map((parent) => `M${from?.x} ${from?.y}L${places[parent]?.x} ${places[parent]?.y}`);
    })
    .join("");
}

/** Lines without length, whose round ends make a point. */
function dots(places: readonly Place[], indices: readonly number[]): string {
  return indices.map((index) => `M${places[index]?.x} ${places[index]?.y}h0`).join("");
}

function nearest(places: readonly Place[], { x, y }: Place): number {
  const distances = places.map((place) => Math.hypot(place.x - x, place.y - y));
  return distances.indexOf(Math.min(...distances));
}

interface ChooserProps {
  readonly messages: readonly TranscriptMessage[];
  readonly index: number;
  readonly onChoose: (index: number) => void;
}

function Chooser({ messages, index, onChoose }: ChooserProps): ReactElement {
  const seat = messages[index]?.seat ?? 0;
  const bySeat = Map.groupBy(messages.keys(), (one) => messages[one]?.seat ?? 0);
  const own = (bySeat.get(seat) ?? []).toSorted((a, b) => (messages[a]?.round ?? 0) - (messages[b]?.round ?? 0));
  return (
    <div className="columns chooser">
      <Choice
        label="Seat"
        value={String(seat)}
        options={[...bySeat.keys()].toSorted((a, b) => a - b).map((one) => [String(one), `Seat ${one}`] as const)}
        onChange={(one) => onChoose(bySeat.get(Number(one))?.at(-1) ?? index)}
      />
      <Choice
        label="Event"
        value={String(index)}
        options={own.map((one) => [String(one), titleOf(messages[one])] as const)}
        onChange={(one) => onChoose(Number(one))}
      />
    </div>
  );
}

function titleOf(event: TranscriptMessage | undefined): string {
  return event === undefined ? "" : `${event.round}, ${NAMES_OF_EVENTS[event.name ?? ""] ?? "refused"}`;
}

const NAMES_OF_EVENTS: Readonly<Record<string, string>> = {
  gather: "read the sources",
  commit: "bound itself to an answer",
  output: "answered",
  match: "compared the answers",
  ballot: "chose an answer",
  gossip: "heard of others",
  order: "waits for the order",
  last: "has the order",
  stuck: "cannot go on",
};

interface SeenProps extends Props {
  readonly index: number;
  readonly seen: ReadonlySet<number>;
}

function Seen({ argument, messages, seats, index, seen }: SeenProps): ReactElement {
  const known = seatsOf(messages, seen);
  const unknown = Array.from({ length: seats }, (_, seat) => seat).filter((seat) => !known.includes(seat));
  const said = argument.statements.find(({ message }) => message === index)?.answer ?? null;
  return (
    <p aria-live="polite">
      Seat {messages[index]?.seat}, event {titleOf(messages[index])}
      {said !== null && (
        <>
          {" "}
          “<Quoted text={said} most={60} />”
        </>
      )}
      : it had seen {seen.size} of {plural(messages.length, "event")}, of {plural(known.length, "seat")}.{" "}
      {unknown.length > 0 && `It had seen nothing of ${listed(unknown.map((one) => `seat ${one}`))}.`}
    </p>
  );
}
