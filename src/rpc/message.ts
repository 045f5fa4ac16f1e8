import { scanRequest } from './scanRequest.ts'

/**
 * A message of a request, sorted as geth sorts it (rpc/json.go): a call wants an answer, a notification none, and
 * answers that a client sends are dropped.
 */
export type Message =
  | {
      readonly kind: 'call' | 'notification'
      /** JSON text, as it came where it is a number; `null` for a notification */
      readonly id: string
      readonly method: string
      readonly params: unknown
    }
  | { readonly kind: 'answer' }
  | { readonly kind: 'invalid'; readonly id: string }

export interface Request {
  readonly isBatch: boolean
  /** the batch has more messages than asked for: only the first ones are given */
  readonly isTooLong: boolean
  readonly messages: readonly Message[]
}

/**
 * Values nested deeper than this are not read: parsing them is slow, and they can not be handed to another thread. No method
 * takes more than a dozen levels.
 */
const MAX_DEPTH = 256

const NULL_ID = 'null'

/** Reads the text of a request; undefined when it is not JSON or is nested too deeply. */
export function parseRequest(text: string, maxMessages: number): Request | undefined {
  const { isTooDeep, numberIds } = scanRequest(text, MAX_DEPTH)
  if (isTooDeep) return undefined
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  const isBatch = Array.isArray(json)
  const items: readonly unknown[] = Array.isArray(json) ? json : [json]
  const messages = items.slice(0, maxMessages).map((item, index) => toMessage(item, numberIds[index]))
  return { isBatch, isTooLong: items.length > maxMessages, messages }
}

interface Fields {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

function toMessage(json: unknown, numberId: string | undefined): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { kind: 'invalid', id: NULL_ID }
  // No object inherits any of these names.
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

/** An id's JSON text; undefined when it is absent, an array or an object. */
function idText(id: unknown, numberId: string | undefined): string | undefined {
  if (id === undefined || (typeof id === 'object' && id !== null)) return undefined
  if (typeof id === 'number') return numberId ?? JSON.stringify(id)
  return JSON.stringify(id)
}
