import { bool, bytes, defineMessage, uint64, type ValueOf } from '../primitives/protoSchema.ts'

/** cosmos.base.query.v1beta1.PageRequest */
export const PageRequest = defineMessage('cosmos.base.query.v1beta1.PageRequest', {
  key: bytes(1),
  offset: uint64(2),
  limit: uint64(3),
  countTotal: bool(4),
  reverse: bool(5),
})
export type PageRequest = ValueOf<typeof PageRequest>

/** cosmos.base.query.v1beta1.PageResponse */
export const PageResponse = defineMessage('cosmos.base.query.v1beta1.PageResponse', {
  nextKey: bytes(1),
  total: uint64(2),
})
export type PageResponse = ValueOf<typeof PageResponse>
