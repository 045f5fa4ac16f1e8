import { z } from 'zod'

/** Input of solc: https://docs.soliditylang.org/en/latest/using-the-compiler.html */
export interface StandardJson {
  readonly language: 'Solidity' | 'Yul'
  readonly sources: Readonly<Record<string, { readonly content: string }>>
  readonly settings: Readonly<Record<string, unknown>>
}

/** Bytes of a request with standard JSON. */
export const MAX_INPUT_BYTES = 4 * 1024 * 1024
const MAX_SOURCES = 5_000
const MAX_PATH = 1_000
/** Objects within objects in settings: details of the optimizer are three deep. */
const MAX_DEPTH = 8

const text = z.string().refine((value) => value.isWellFormed(), 'is not valid Unicode')

const standardJson = z.object({
  language: z.enum(['Solidity', 'Yul'], 'language must be Solidity or Yul'),
  sources: z
    .custom<Record<string, unknown>>(isObject, 'sources must be an object')
    .refine((sources) => Object.keys(sources).length > 0, 'sources must not be empty')
    .refine((sources) => Object.keys(sources).length <= MAX_SOURCES, `there are more than ${MAX_SOURCES} sources`),
  settings: z
    .custom<Record<string, unknown>>(
      (value) => isObject(value) && isShallow(value, MAX_DEPTH),
      'settings must be an object',
    )
    .default({}),
})
const source = z.object({ content: text })

/** The explorer does not pass this input to solc. The message says what to change. */
export class StandardJsonError extends Error {
  override readonly name = 'StandardJsonError'
}

/**
 * Reads standard JSON that a client sent.
 * @throws StandardJsonError
 */
export function readStandardJson(value: unknown): StandardJson {
  const { data, error } = standardJson.safeParse(value)
  if (data === undefined) throw new StandardJsonError(`standard JSON: ${messageOf(error)}`)
  // Not by z.record: a source may be called __proto__.
  const sources = Object.entries(data.sources).map(([path, own]): [string, { readonly content: string }] => {
    if (path === '' || path.length > MAX_PATH || !path.isWellFormed() || path.includes('\0'))
      throw new StandardJsonError(`standard JSON: the name of a source is empty, too long or not valid Unicode`)
    const read = source.safeParse(own)
    if (read.data === undefined)
      throw new StandardJsonError(`standard JSON: the source ${path} must have its text in content, as valid Unicode`)
    return [path, { content: read.data.content }]
  })
  return { language: data.language, sources: Object.fromEntries(sources), settings: data.settings }
}

/** Adds a space to each source: solc produces the same code, with other hashes of the metadata. */
export function withOtherMetadata(input: StandardJson): StandardJson {
  const sources = Object.entries(input.sources).map(([path, { content }]) => [path, { content: `${content} ` }])
  return { ...input, sources: Object.fromEntries(sources) as StandardJson['sources'] }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether it can be written as JSON again: what is nested too deeply cannot. */
function isShallow(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.entries(value).every(([name, own]) => name.isWellFormed() && isShallow(own, depth - 1))
}

function messageOf(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length > 1 ? `${path.join('.')} ${message}` : message))
    .join('; ')
}
