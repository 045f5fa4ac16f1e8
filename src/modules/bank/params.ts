import { concatBytes } from '../../primitives/bytes.ts'
import {
  bool,
  defineMessage,
  embedded,
  message,
  repeated,
  string,
  uint32,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { moduleStoreKey } from '../storeKey.ts'

/*
 * Settings of the bank by the genesis and governance: its parameters, which denominations users may
 * send, and how a denomination is shown. Keys are the SDK's (x/bank/types/keys.go).
 */

/** cosmos.bank.v1beta1.SendEnabled */
export const SendEnabled = defineMessage('cosmos.bank.v1beta1.SendEnabled', { denom: string(1), enabled: bool(2) })
export type SendEnabled = ValueOf<typeof SendEnabled>

/** cosmos.bank.v1beta1.Params; `sendEnabled` is empty, each of its entries has a key of its own. */
export const BankParams = defineMessage('cosmos.bank.v1beta1.Params', {
  sendEnabled: repeated(embedded(1, SendEnabled)),
  defaultSendEnabled: bool(2),
})
export type BankParams = ValueOf<typeof BankParams>

export const BANK_PARAMS: ParamsStore<BankParams> = defineParams('bank', Uint8Array.of(0x05), BankParams)

/** Writes the module's part of block 0; balances and the supply are the world's. */
export function initBank(
  native: Pick<NativeStore, 'set'>,
  genesis: {
    readonly params: BankParams
    readonly sendEnabled: readonly SendEnabled[]
    readonly metadata: readonly Metadata[]
  },
): void {
  const { params, sendEnabled, metadata } = genesis
  BANK_PARAMS.set(native, { ...params, sendEnabled: [] })
  for (const entry of [...params.sendEnabled, ...sendEnabled]) setSendEnabled(native, entry)
  for (const entry of metadata) native.set(metadataKey(entry.base), Metadata.encode(entry))
}

/** denomination -> one byte, 0 or 1 */
const SEND_ENABLED_PREFIX = moduleStoreKey('bank', Uint8Array.of(0x04))

const sendEnabledKey = (denom: string): Uint8Array => concatBytes(SEND_ENABLED_PREFIX, new TextEncoder().encode(denom))

/** Whether users may send coins of a denomination. Modules and the EVM do not check it. */
export function isSendEnabled(native: Pick<NativeStore, 'get'>, denom: string): boolean {
  const entry = native.get(sendEnabledKey(denom))
  return entry === undefined ? BANK_PARAMS.get(native).defaultSendEnabled : entry[0] === 1
}

export function setSendEnabled(native: Pick<NativeStore, 'set'>, { denom, enabled }: SendEnabled): void {
  native.set(sendEnabledKey(denom), Uint8Array.of(enabled ? 1 : 0))
}

/** Leaves a denomination to the default. */
export function clearSendEnabled(native: Pick<NativeStore, 'delete'>, denom: string): void {
  native.delete(sendEnabledKey(denom))
}

/** Yields all entries that differ from the default or repeat it, by denomination. */
export function* sendEnabledEntries(native: Pick<NativeStore, 'range'>): IterableIterator<SendEnabled> {
  for (const [key, value] of native.range(SEND_ENABLED_PREFIX)) {
    yield { denom: new TextDecoder().decode(key.subarray(SEND_ENABLED_PREFIX.length)), enabled: value[0] === 1 }
  }
}

/** cosmos.bank.v1beta1.DenomUnit */
const DenomUnit = defineMessage('cosmos.bank.v1beta1.DenomUnit', {
  denom: string(1),
  exponent: uint32(2),
  aliases: repeated(string(3)),
})

/** cosmos.bank.v1beta1.Metadata: how a denomination is shown. */
export const Metadata = defineMessage('cosmos.bank.v1beta1.Metadata', {
  description: string(1),
  denomUnits: repeated(message(2, DenomUnit)),
  base: string(3),
  display: string(4),
  name: string(5),
  symbol: string(6),
  uri: string(7),
  uriHash: string(8),
})
export type Metadata = ValueOf<typeof Metadata>

/** base denomination -> metadata */
export const METADATA_PREFIX: Uint8Array = moduleStoreKey('bank', Uint8Array.of(0x01))

export function getMetadata(native: Pick<NativeStore, 'get'>, denom: string): Metadata | undefined {
  const value = native.get(metadataKey(denom))
  return value && Metadata.decode(value)
}

function metadataKey(denom: string): Uint8Array {
  return concatBytes(METADATA_PREFIX, new TextEncoder().encode(denom))
}
