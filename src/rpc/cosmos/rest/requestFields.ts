import { invalidArgument } from '../../../modules/query/queryError.ts'
import { type AnyMessageType, boolCodec, type Json } from '../../../primitives/protoScalars.ts'

type FieldTable = AnyMessageType['fields']
type MutableJson = { [name: string]: Json | MutableJson }

/** Texts that strconv.ParseBool accepts. */
const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])
/** A request has no fields deeper than `pagination.key`. */
const MAX_DEPTH = 4

/**
 * The JSON of a request whose fields are in the path and the query string (grpc-gateway v1, runtime/query.go): names of the .proto file
 * or of the JSON mapping, joined by dots; a repeated field takes all values, another one the first; fields that the message
 * does not have, or that the path has given already, are left out.
 * @throws QueryError when a value is not of the type of its field
 */
export function requestJson(
  type: AnyMessageType,
  captures: ReadonlyMap<string, string>,
  params: URLSearchParams,
): { readonly [name: string]: Json } {
  const out: MutableJson = {}
  for (const [path, value] of captures) setField(out, type.fields, path, [value])
  for (const path of new Set(params.keys())) {
    if (!isCaptured(type.fields, captures, path)) setField(out, type.fields, path, params.getAll(path))
  }
  return out as { readonly [name: string]: Json }
}

function isCaptured(fields: FieldTable, captures: ReadonlyMap<string, string>, path: string): boolean {
  const field = fields.find(({ name, jsonName }) => path === name || path === jsonName)
  return field !== undefined && captures.has(field.jsonName)
}

function setField(out: MutableJson, fields: FieldTable, path: string, values: readonly string[]): void {
  const names = path.split('.')
  if (names.length > MAX_DEPTH) return
  let target = out
  let table = fields
  for (const [depth, name] of names.entries()) {
    const field = table.find((candidate) => candidate.name === name || candidate.jsonName === name)
    if (field === undefined) return
    const nested = field.codec.messageType
    if (depth === names.length - 1) {
      // A whole message cannot be given as one value.
      if (nested !== undefined) return
      const items = values.map((value) => (isBool(field.codec) ? readBool(value, path) : value))
      target[field.jsonName] = field.presence === 'repeated' ? items : items[0]!
      return
    }
    if (nested === undefined || field.presence === 'repeated') return
    const inner = (target[field.jsonName] ?? {}) as MutableJson
    target[field.jsonName] = inner
    target = inner
    table = nested().fields
  }
}

function isBool(codec: FieldTable[number]['codec']): boolean {
  return codec.fromJson === (boolCodec.fromJson as unknown)
}

function readBool(value: string, path: string): boolean {
  if (TRUE.has(value)) return true
  if (FALSE.has(value)) return false
  throw invalidArgument(`${path}: expected true or false`)
}
