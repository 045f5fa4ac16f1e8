import { requestTextLimits, scanRequest } from '../transport/scanRequest.ts'
import { invalidRequest, parseError, type RpcError } from './errors.ts'

/**
 * A message of a request, classified as in geth (rpc/json.go): a call expects an answer, a
 * notification does not, and answers that a client sends are dropped.
 */
export type Message =
  | {
      readonly kind: 'call' | 'notification'
      /** JSON text; a number is as the client sent it; `null` for a notification */
      readonly id: string
      readonly method: string
      readonly params: unknown
    }
  | { readonly kind: 'answer' }
  | { readonly kind: 'invalid'; readonly id: string }

interface Request {
  readonly isBatch: boolean
  /** whether the batch has more than `maxMessages` messages; `messages` has only the first ones */
  readonly isTooLong: boolean
  readonly messages: readonly Message[]
}

const NULL_ID = 'null'

/**
 * Reads the text of a request. The text is counted before it is parsed: of a batch that is too long
 * only the messages within the limit are parsed, and a text with too many values not at all.
 * Returns an error for a text that is not JSON, is nested too deeply or has too many values.
 */
export function parseRequest(text: string, maxMessages: number): Request | RpcError {
  const limits = requestTextLimits(maxMessages)
  const { exceeded, end, numberIds } = scanRequest(text, limits)
  if (exceeded === 'depth') return parseError()
  if (exceeded === 'values') return invalidRequest(`request has more than ${limits.values} values`)
  const isTooLong = exceeded === 'messages'
  let json: unknown
  try {
    json = JSON.parse(isTooLong ? `${text.slice(0, end)}]` : text)
  } catch {
    return parseError()
  }
  const isBatch = Array.isArray(json)
  const items: readonly unknown[] = Array.isArray(json) ? json : [json]
  return { isBatch, isTooLong, messages: items.map((item, index) => toMessage(item, numberIds[index])) }
}

interface Fields {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

function toMessage(json: unknown, numberId: string | undefined): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { kind: 'invalid', id: NULL_ID }
  // None of these names is inherited from Object.
  const fields: Fields = json
  const id = idText(fields.id, numberId)
  const { method, params } = fields
  const isVersion2 = fields.jsonrpc === '2.0'
  if (isVersion2 && typeof method === 'string' && method !== '') {
    if (!('id' in fields)) return { kind: 'notification', id: NULL_ID, method, params }
    if (id !== undefined) return { kind: 'call', id, method, params }
  }
  const isAnswer = isVersion2 && id !== undefined && !('params' in fields) && ('result' in fields || 'error' in fields)
  return isAnswer ? { kind: 'answer' } : { kind: 'invalid', id: id ?? NULL_ID }
}

/** Returns an id's JSON text; undefined when it is absent, an array or an object. */
function idText(id: unknown, numberId: string | undefined): string | undefined {
  if (id === undefined || (typeof id === 'object' && id !== null)) return undefined
  if (typeof id === 'number') return numberId ?? JSON.stringify(id)
  return JSON.stringify(id)
}
