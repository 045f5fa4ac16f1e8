import { parseBoundedJson } from '../../primitives/boundedJson.ts'
import type { SdkError } from '../sdkError.ts'
import { govError } from './errors.ts'

/** Most bytes of metadata and titles, and of summaries (x/gov/types/config.go, x/gov/keeper/keeper.go). */
const MAX_METADATA = 255
const MAX_SUMMARY = 40 * MAX_METADATA

/** Members of the recommended form that are texts (x/gov/types/metadata.go); `authors` is a list of texts. */
const TEXTS: readonly string[] = ['title', 'summary', 'details', 'proposal_forum_url', 'vote_option_context']

export function checkMetadata(text: string): SdkError | undefined {
  const length = Buffer.byteLength(text)
  return length > MAX_METADATA ? govError('metadataTooLong', `got metadata with length ${length}`) : undefined
}

export function checkSummary(text: string): SdkError | undefined {
  const length = Buffer.byteLength(text)
  return length > MAX_SUMMARY ? govError('summaryTooLong', `got summary with length ${length}`) : undefined
}

/**
 * Metadata that is JSON of the recommended form must repeat the proposal's title and summary (x/gov/keeper/msg_server.go);
 * other metadata may be any text.
 */
export function checkMetadataForm(metadata: string, title: string, summary: string): SdkError | undefined {
  const form = metadata === '' ? undefined : metadataForm(metadata)
  if (form === undefined) return undefined
  if (form.title !== title) {
    return govError('invalidContent', `metadata title '${form.title}' must equal proposal title '${title}'`)
  }
  if (form.summary !== summary) {
    return govError('invalidContent', `metadata summary '${form.summary}' must equal proposal summary '${summary}'`)
  }
  return undefined
}

function metadataForm(metadata: string): { readonly title: string; readonly summary: string } | undefined {
  const read = parseBoundedJson(metadata, { length: MAX_METADATA })
  if (read.kind === 'refused') return undefined
  const { json } = read
  if (typeof json !== 'object' || Array.isArray(json)) return undefined
  const form = new Map(TEXTS.map((name) => [name, '']))
  for (const [key, value] of Object.entries(json ?? {})) {
    // As Go reads it: names in any case; null is an absent member; a member of another type makes it no form at all.
    const name = key.toLowerCase()
    if (value === null) continue
    if (name === 'authors' && !isTextList(value)) return undefined
    if (!form.has(name)) continue
    if (typeof value !== 'string') return undefined
    form.set(name, value)
  }
  return { title: form.get('title')!, summary: form.get('summary')! }
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((element) => element === null || typeof element === 'string')
}
