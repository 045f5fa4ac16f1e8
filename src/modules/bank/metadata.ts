import { defineMessage, message, repeated, string, uint32, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'

/** cosmos.bank.v1beta1.DenomUnit */
export const DenomUnit = defineMessage('cosmos.bank.v1beta1.DenomUnit', {
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

/** The SDK's DenomMetadataPrefix (x/bank/types/keys.go), before the base denomination. */
export const METADATA_PREFIX: Uint8Array = moduleStoreKey('bank', Uint8Array.of(0x01))

export function getMetadata(native: Pick<NativeStore, 'get'>, denom: string): Metadata | undefined {
  const value = native.get(metadataKey(denom))
  return value && Metadata.decode(value)
}

export function putMetadata(native: Pick<NativeStore, 'set'>, metadata: Metadata): void {
  native.set(metadataKey(metadata.base), Metadata.encode(metadata))
}

function metadataKey(denom: string): Uint8Array {
  return moduleStoreKey('bank', Uint8Array.of(0x01), new TextEncoder().encode(denom))
}
