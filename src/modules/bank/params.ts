import { bool, defineMessage, embedded, repeated, string, type ValueOf } from '../../primitives/protoSchema.ts'
import { defineParams, type ParamsStore } from '../params.ts'

/** cosmos.bank.v1beta1.SendEnabled */
export const SendEnabled = defineMessage('cosmos.bank.v1beta1.SendEnabled', { denom: string(1), enabled: bool(2) })
export type SendEnabled = ValueOf<typeof SendEnabled>

/** cosmos.bank.v1beta1.Params; `sendEnabled` is empty, its entries are on their own (see sendEnabled.ts). */
export const BankParams = defineMessage('cosmos.bank.v1beta1.Params', {
  sendEnabled: repeated(embedded(1, SendEnabled)),
  defaultSendEnabled: bool(2),
})
export type BankParams = ValueOf<typeof BankParams>

/** Under the SDK's ParamsKey 0x05 (x/bank/types/keys.go). */
export const BANK_PARAMS: ParamsStore<BankParams> = defineParams('bank', Uint8Array.of(0x05), BankParams)
