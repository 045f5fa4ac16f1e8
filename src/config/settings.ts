import { z } from 'zod'
import { ConfigError } from './configError.ts'
import { WRONG_FORM } from './valueKind.ts'
import { flagOf, type SettingsOf, type Variable, type VariableTable, variableSchema } from './variables.ts'

/** Texts by variable name. An empty text counts as not set. */
export type RawValues = Readonly<Record<string, string | undefined>>

/** Where values come from. Flags win over the environment, the environment over `.env`. */
export interface ConfigSources {
  readonly flags: RawValues
  readonly environment: RawValues
  /** the parsed lines of `.env` */
  readonly dotenv: RawValues
}

interface Found {
  readonly text: string
  /** name for error messages: of the flag, the variable, or the line of `.env` */
  readonly shown: string
}

/** Longest part of a wrong value that a message repeats. */
const SHOWN_LENGTH = 80

/**
 * Reads every variable of the table. Other names are ignored: the environment holds many.
 * @throws ConfigError for the first wrong value: one line with the variable, its value and what it must be
 */
export function readSettings<T extends VariableTable>(table: T, sources: ConfigSources): SettingsOf<T> {
  const schema = z.object(Object.fromEntries(Object.entries(table).map(([key, entry]) => [key, variableSchema(entry)])))
  const found = new Map<string, Found>()
  for (const [key, entry] of Object.entries(table)) {
    const value = find(entry, sources)
    if (value !== undefined) found.set(key, value)
  }
  const result = schema.safeParse(Object.fromEntries([...found].map(([key, value]) => [key, value.text])))
  // The schema's shape comes from the same table as the type.
  if (result.success) return result.data as unknown as SettingsOf<T>
  const issue = result.error.issues[0]!
  const key = issue.path[0] as string
  throw new ConfigError(wrongValue(table[key]!, found.get(key)!, issue.message))
}

function find(entry: Pick<Variable, 'name'>, sources: ConfigSources): Found | undefined {
  const candidates: readonly (readonly [RawValues, string])[] = [
    [sources.flags, flagOf(entry)],
    [sources.environment, entry.name],
    [sources.dotenv, `${entry.name} (in .env)`],
  ]
  for (const [values, shown] of candidates) {
    const text = values[entry.name]?.trim()
    if (text !== undefined && text !== '') return { text, shown }
  }
  return undefined
}

function wrongValue(entry: Pick<Variable, 'kind' | 'secret'>, found: Found, why: string): string {
  const held = entry.secret ? 'a value that is not shown' : JSON.stringify(shorten(found.text))
  return `${found.shown} is ${held}${why === WRONG_FORM ? '' : ` (${why})`}: it must be ${entry.kind.expects}`
}

function shorten(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`
}
