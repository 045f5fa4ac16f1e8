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
  readonly messages: readonly Message[]
}

/** Values nested deeper than this can not be handed to another thread. No method takes more than a dozen levels. */
const MAX_DEPTH = 256

const NULL_ID = 'null'

/** Reads the text of a request; undefined when it is not JSON or is nested too deeply. */
export function parseRequest(text: string): Request | undefined {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  const { depth, numberIds } = scanRequest(text)
  if (depth > MAX_DEPTH) return undefined
  if (!Array.isArray(json)) return { isBatch: false, messages: [toMessage(json, numberIds[0])] }
  return { isBatch: true, messages: json.map((item: unknown, index) => toMessage(item, numberIds[index])) }
}

function toMessage(json: unknown, numberId: string | undefined): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { kind: 'invalid', id: NULL_ID }
  const fields = new Map(Object.entries(json))
  const id = idText(fields.get('id'), numberId)
  const method = fields.get('method')
  const isVersion2 = fields.get('jsonrpc') === '2.0'
  if (isVersion2 && typeof method === 'string' && method !== '') {
    if (!fields.has('id')) return { kind: 'notification', id: NULL_ID, method, params: fields.get('params') }
    if (id !== undefined) return { kind: 'call', id, method, params: fields.get('params') }
  }
  const isAnswer =
    isVersion2 && id !== undefined && !fields.has('params') && (fields.has('result') || fields.has('error'))
  return isAnswer ? { kind: 'answer' } : { kind: 'invalid', id: id ?? NULL_ID }
}

/** An id's JSON text; undefined when it is absent, an array or an object. */
function idText(id: unknown, numberId: string | undefined): string | undefined {
  if (id === undefined || (typeof id === 'object' && id !== null)) return undefined
  if (typeof id === 'number') return numberId ?? JSON.stringify(id)
  return JSON.stringify(id)
}
