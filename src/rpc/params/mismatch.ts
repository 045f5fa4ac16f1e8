import { InvalidArgument } from '../errors.ts'

/** A value that is not of the wanted type, in the words of Go's encoding/json, which clients of geth compare with. */
export class TypeMismatch extends InvalidArgument {
  /** what was found, e.g. `number` or `hex string without 0x prefix` */
  readonly found: string
  /** e.g. `hexutil.Uint64` */
  readonly goType: string

  constructor(found: string, goType: string, place = 'value') {
    super(`json: cannot unmarshal ${found} into Go ${place} of type ${goType}`)
    this.found = found
    this.goType = goType
  }
}

/** Go's name for the kind of a JSON value. */
export function jsonKind(json: unknown): string {
  if (json === null || json === undefined) return 'null'
  if (Array.isArray(json)) return 'array'
  if (typeof json === 'boolean') return 'bool'
  return typeof json
}
