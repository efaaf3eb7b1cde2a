import { InvalidArgumentError } from "commander";

/** A parser of an option that is a whole number. */
export function between(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is needed.`);
  };
}
