import { EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import type { MessageType } from '../primitives/protoSchema.ts'
import type { NativeStore } from '../state/world.ts'
import { type ModuleName, moduleStoreKey } from './storeKey.ts'

/** The value for parameters that protobuf writes as no bytes, since an entry is never empty; no message begins with it. */
const ALL_ZERO = Uint8Array.of(0)

/** A module's parameters: one entry of the native store, as protobuf. */
export interface ParamsStore<T> {
  readonly type: MessageType<T>
  /** @throws Error (a bug) when the genesis wrote none */
  get(native: Pick<NativeStore, 'get'>): T
  /** undefined when there are none */
  find(native: Pick<NativeStore, 'get'>): T | undefined
  set(native: Pick<NativeStore, 'set'>, params: T): void
}

/**
 * @param key the SDK's key of them inside the module's store
 * @param complete gives the parameters that a chain's stored ones lack, because it is older than these, their default values
 */
export function defineParams<T>(
  module: ModuleName,
  key: Uint8Array,
  type: MessageType<T>,
  complete: (stored: T) => T = (stored) => stored,
): ParamsStore<T> {
  const storeKey = moduleStoreKey(module, key)
  let known: { readonly bytes: Uint8Array; readonly params: T } | undefined
  const find = (native: Pick<NativeStore, 'get'>): T | undefined => {
    const bytes = native.get(storeKey)
    if (bytes === undefined) return undefined
    if (known === undefined || !equalBytes(known.bytes, bytes)) {
      known = { bytes, params: complete(type.decode(equalBytes(bytes, ALL_ZERO) ? EMPTY_BYTES : bytes)) }
    }
    return known.params
  }
  return {
    type,
    find,
    get: (native) => {
      const params = find(native)
      if (params === undefined) throw new Error(`the ${module} module has no parameters`)
      return params
    },
    set: (native, params) => {
      const bytes = type.encode(params)
      native.set(storeKey, bytes.length === 0 ? ALL_ZERO : bytes)
    },
  }
}
