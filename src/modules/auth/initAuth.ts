import type { NativeStore } from '../../state/world.ts'
import { AUTH_PARAMS, type AuthParams } from './params.ts'

/** Writes the module's part of block 0. Accounts are those of the world: whoever has a balance or a nonce has one. */
export function initAuth(native: Pick<NativeStore, 'set'>, params: AuthParams): void {
  AUTH_PARAMS.set(native, params)
}
