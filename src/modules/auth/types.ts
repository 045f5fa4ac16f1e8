import { any, defineMessage, message, repeated, string, uint64, type ValueOf } from '../../primitives/protoSchema.ts'

/** cosmos.auth.v1beta1.BaseAccount */
export const BaseAccount = defineMessage('cosmos.auth.v1beta1.BaseAccount', {
  address: string(1),
  pubKey: any(2),
  accountNumber: uint64(3),
  sequence: uint64(4),
})
export type BaseAccount = ValueOf<typeof BaseAccount>

/** cosmos.auth.v1beta1.ModuleAccount */
export const ModuleAccount = defineMessage('cosmos.auth.v1beta1.ModuleAccount', {
  baseAccount: message(1, BaseAccount),
  name: string(2),
  permissions: repeated(string(3)),
})
