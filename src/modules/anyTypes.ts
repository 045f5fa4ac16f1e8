import type { AnyMessageType } from '../primitives/protoScalars.ts'
import { AUTHORIZATION_TYPES } from './authz/types.ts'
import { ALLOWANCE_TYPES } from './feegrant/types.ts'
import { CONTENT_TYPES } from './gov/contents.ts'

/** A type that stands behind an Any inside of a message, and is no message itself. */
export interface AnyType {
  readonly type: AnyMessageType
  /** its name in amino JSON */
  readonly aminoName: string
}

/** Contents of proposals, authorizations and allowances, by type URL. */
export const ANY_TYPES: ReadonlyMap<string, AnyType> = new Map(
  [...CONTENT_TYPES, ...AUTHORIZATION_TYPES, ...ALLOWANCE_TYPES].map((entry) => [entry.type.typeUrl, entry]),
)
