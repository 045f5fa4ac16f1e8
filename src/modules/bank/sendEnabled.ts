import { concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import type { Coin } from '../coin.ts'
import type { SdkError } from '../sdkError.ts'
import { moduleStoreKey } from '../storeKey.ts'
import { bankError } from './errors.ts'
import { BANK_PARAMS, type SendEnabled } from './params.ts'

/** The SDK's SendEnabledPrefix (x/bank/types/keys.go): then the denomination; the value is one byte, 0 or 1. */
const PREFIX = moduleStoreKey('bank', Uint8Array.of(0x04))

const keyOf = (denom: string): Uint8Array => concatBytes(PREFIX, new TextEncoder().encode(denom))

/** Whether users may send coins of a denomination. Modules and the EVM do not ask. */
export function isSendEnabled(native: Pick<NativeStore, 'get'>, denom: string): boolean {
  const entry = native.get(keyOf(denom))
  return entry === undefined ? BANK_PARAMS.get(native).defaultSendEnabled : entry[0] === 1
}

/** bank/5 for the first coin that may not be sent. */
export function checkSendEnabled(native: Pick<NativeStore, 'get'>, coins: readonly Coin[]): SdkError | undefined {
  const disabled = coins.find(({ denom }) => !isSendEnabled(native, denom))
  return disabled && bankError('sendDisabled', `${disabled.denom} transfers are currently disabled`)
}

export function setSendEnabled(native: Pick<NativeStore, 'set'>, { denom, enabled }: SendEnabled): void {
  native.set(keyOf(denom), Uint8Array.of(enabled ? 1 : 0))
}

/** Leaves a denomination to the default. */
export function clearSendEnabled(native: Pick<NativeStore, 'delete'>, denom: string): void {
  native.delete(keyOf(denom))
}

/** All entries that differ from the default or repeat it, by denomination. */
export function* sendEnabledEntries(native: Pick<NativeStore, 'range'>): IterableIterator<SendEnabled> {
  for (const [key, value] of native.range(PREFIX)) {
    yield { denom: new TextDecoder().decode(key.subarray(PREFIX.length)), enabled: value[0] === 1 }
  }
}
