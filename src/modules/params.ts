import { EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import type { MessageType } from '../primitives/protoSchema.ts'
import type { NativeStore } from '../state/world.ts'
import { type ModuleName, moduleStoreKey } from './storeKey.ts'

/** The value for parameters that protobuf writes as no bytes, since an entry is never empty; no message begins with it. */
const ALL_ZERO = Uint8Array.of(0)

/** A module's parameters: one entry of the native store, as protobuf. */
export interface ParamsStore<T> {
  readonly type: MessageType<T>
  /** @throws Error (a bug) when the genesis wrote no parameters */
  get(native: Pick<NativeStore, 'get'>): T
  /** Returns undefined when no parameters are stored. */
  find(native: Pick<NativeStore, 'get'>): T | undefined
  set(native: Pick<NativeStore, 'set'>, params: T): void
}

/**
 * Defines a module's parameters.
 * @param key the SDK's key of the parameters inside the module's store
 * @param complete fills in the defaults of parameters that an older chain has not stored
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
