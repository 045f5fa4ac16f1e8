import { moduleStoreKey } from '../storeKey.ts'

/** Prefixes of the module's keys: the SDK's (x/slashing/types/keys.go); the last is ours. */
export const PARAMS_KEY: Uint8Array = Uint8Array.of(0x00)
/** consensus address -> signing info */
export const SIGNING_INFO_PREFIX: Uint8Array = moduleStoreKey('slashing', Uint8Array.of(0x01))
/** consensus address, number of the chunk -> bits of missed blocks */
export const MISSED_CHUNK_PREFIX: Uint8Array = moduleStoreKey('slashing', Uint8Array.of(0x02))
/** consensus address -> number of missed blocks; absent when there are none */
export const MISSED_COUNT_PREFIX: Uint8Array = moduleStoreKey('slashing', Uint8Array.of(0x04))
