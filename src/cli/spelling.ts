import { type Command, Option } from 'commander'

/**
 * Lets an option be given by another name too, that of the Cosmos SDK's programs. Its help stays that of the option.
 * @param long e.g. `--fees`
 */
export function addSpelling(command: Command, option: Option, long: string): Command {
  const spelling = new Option(option.flags.replace(option.long!, long).replace(/^-., /, '')).hideHelp()
  if (option.parseArg !== undefined) spelling.parseArg = option.parseArg
  const attribute = option.attributeName()
  spelling.attributeName = () => attribute
  return command.addOption(spelling)
}
