import type { SdkError } from '../sdkError.ts'
import { govError } from './errors.ts'

/** Bytes of metadata and titles, and of summaries (x/gov/types/config.go, x/gov/keeper/keeper.go). */
const MAX_METADATA = 255
const MAX_SUMMARY = 40 * MAX_METADATA

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
 * other metadata may be anything.
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
  let json: unknown
  try {
    json = JSON.parse(metadata)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return undefined
  }
  if (typeof json !== 'object' || Array.isArray(json)) return undefined
  const { title = '', summary = '' } = (json ?? {}) as Readonly<Record<string, unknown>>
  return typeof title === 'string' && typeof summary === 'string' ? { title, summary } : undefined
}
