import { Command, type Option } from "commander";

/**
 * A command that asks for a missing option last: it first names an option that it does not know and a value that it
 * cannot take. Its help marks what is required.
 */
export class StrictCommand extends Command {
  private readonly needed: Option[] = [];

  override createCommand(name?: string): StrictCommand {
    return new StrictCommand(name);
  }

  override addOption(option: Option): this {
    if (option.mandatory) {
      option.makeOptionMandatory(false);
      option.description += " (required)";
      this.needed.push(option);
    }
    return super.addOption(option);
  }

  /** Throws CommanderError if a required option was not given. */
  requireOptions(): void {
    const missing = this.needed.find((option) => this.getOptionValue(option.attributeName()) === undefined);
    if (missing === undefined) return;
    this.error(`error: required option '${missing.flags}' not specified`, {
      code: "commander.missingMandatoryOptionValue",
    });
  }
}
