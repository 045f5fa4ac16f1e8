import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { type Command, Option } from 'commander'
import { type Config, loadConfig } from '../config/config.ts'
import { ConfigError } from '../config/configError.ts'
import type { ConfigSources, RawValues } from '../config/settings.ts'
import { flagOf, VARIABLES, type Variable } from '../config/variables.ts'
import type { Terminal } from './ports.ts'

/**
 * Adds a flag for each variable to `command`.
 * @param defaults the command's defaults that replace a variable's own, by name
 */
export function addConfigFlags(
  command: Command,
  variables: readonly Variable[] = Object.values(VARIABLES),
  defaults: RawValues = {},
): Command {
  for (const entry of variables) {
    const value = defaults[entry.name] ?? entry.fallback
    const fallback = value ? ` (default: ${value})` : ''
    const option = new Option(`${flagOf(entry)} <value>`, `${entry.kind.expects}${fallback}`)
    command.addOption(option.helpGroup(`${entry.group}:`))
  }
  return command
}

/**
 * Reads the configuration of a command with the flags of {@link addConfigFlags}.
 * @throws ConfigError with one line for the operator
 */
export function configOf(command: Command, terminal: Terminal): Config {
  return loadConfig(configSources(command, terminal), terminal.homeDirectory)
}

/**
 * Returns the sources of the configuration: the flags of `command`, the environment, and `.env` of
 * the working directory.
 * @throws ConfigError when `.env` exists and cannot be read
 */
export function configSources(
  command: Command,
  terminal: Pick<Terminal, 'environment' | 'workingDirectory'>,
  variables: readonly Variable[] = Object.values(VARIABLES),
): ConfigSources {
  const values = command.opts<Record<string, unknown>>()
  const flags: Record<string, string> = {}
  for (const entry of variables) {
    const value = values[new Option(flagOf(entry)).attributeName()]
    if (typeof value === 'string') flags[entry.name] = value
  }
  return { flags, environment: terminal.environment, dotenv: readDotenv(join(terminal.workingDirectory, '.env')) }
}

function readDotenv(path: string): RawValues {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new ConfigError(`cannot read ${path} (${code ?? String(error)})`)
  }
}
