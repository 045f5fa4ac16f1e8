import { type Command, Option } from 'commander'
import type { Json } from '../primitives/protoScalars.ts'

/** Format of a command's output. `text` is YAML, as the Cosmos SDK's programs print it. */
export const OUTPUTS = ['json', 'text'] as const

export interface OutputOption {
  readonly output?: (typeof OUTPUTS)[number]
}

/** Adds `--output`; without it a command prints JSON. */
export function addOutputOption(command: Command): Command {
  return command.addOption(new Option('-o, --output <form>', 'json, or text (YAML)').choices(OUTPUTS).default('json'))
}

/** Formats an answer as {@link addOutputOption} demands, with a line feed at its end. */
export function formatAnswer(answer: Json, { output }: OutputOption): string {
  return output === 'text' ? formatYaml(answer) : `${JSON.stringify(answer, null, 2)}\n`
}

/** Formats the members of JSON as lines of YAML, objects in the order of their names. */
export function formatYaml(json: Json): string {
  if (!isNested(json)) return `${scalar(json)}\n`
  return `${linesOf(json).join('\n')}\n`
}

type Nested = readonly Json[] | { readonly [name: string]: Json }

/** Whether the value takes its own lines. */
function isNested(json: Json): json is Nested {
  return typeof json === 'object' && json !== null && Object.keys(json).length > 0
}

function linesOf(json: Nested): readonly string[] {
  if (Array.isArray(json)) {
    return json.flatMap((item: Json) => {
      if (!isNested(item)) return [`- ${scalar(item)}`]
      return linesOf(item).map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`))
    })
  }
  const entries = Object.entries(json as { readonly [name: string]: Json }).sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.flatMap(([name, value]) => {
    if (!isNested(value)) return [`${scalar(name)}: ${scalar(value)}`]
    // Items of a list stand below the name without being moved in.
    const inner = Array.isArray(value) ? linesOf(value) : linesOf(value).map((line) => `  ${line}`)
    return [`${scalar(name)}:`, ...inner]
  })
}

/** Words that YAML, in one of its versions, does not read as text. */
const OTHER_WORDS = /^(?:~|null|true|false|yes|no|on|off|y|n)$/i
/** Texts that mean themselves: they begin with a letter or slash, and hold nothing that YAML has a use for. */
const PLAIN = /^[A-Za-z/_](?:[\w ./+()=;-]*[\w./+()=;-])?$/

function scalar(json: Json): string {
  if (typeof json !== 'string') return JSON.stringify(json)
  return PLAIN.test(json) && !OTHER_WORDS.test(json) ? json : JSON.stringify(json)
}
