import { defineMessage, uint64, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'

/** cosmos.auth.v1beta1.Params */
export const AuthParams = defineMessage('cosmos.auth.v1beta1.Params', {
  maxMemoCharacters: uint64(1),
  txSigLimit: uint64(2),
  txSizeCostPerByte: uint64(3),
  sigVerifyCostEd25519: uint64(4),
  sigVerifyCostSecp256k1: uint64(5),
})
export type AuthParams = ValueOf<typeof AuthParams>

/** The SDK's defaults (x/auth/types/params.go). */
export const DEFAULT_AUTH_PARAMS: AuthParams = {
  maxMemoCharacters: 256n,
  txSigLimit: 7n,
  txSizeCostPerByte: 10n,
  sigVerifyCostEd25519: 590n,
  sigVerifyCostSecp256k1: 1000n,
}

/** The most keys that `txSigLimit` can allow. A transaction with more is refused without reading them. */
export const MAX_KEYS = 100

/** Under the SDK's ParamsKey 0x00 (x/auth/types/keys.go). */
export const AUTH_PARAMS: ParamsStore<AuthParams> = defineParams('auth', Uint8Array.of(0x00), AuthParams)

/**
 * Ranges beyond the SDK's. Checks of signatures must not be cheaper than their work, and a transaction of governance must stay possible:
 * one of 1,000 bytes with one signature costs at most 1,100,000 gas.
 */
const RANGES: Readonly<Record<keyof AuthParams, readonly [minimum: bigint, maximum: bigint]>> = {
  maxMemoCharacters: [1n, 10_000n],
  txSigLimit: [1n, BigInt(MAX_KEYS)],
  txSizeCostPerByte: [1n, 1_000n],
  sigVerifyCostEd25519: [DEFAULT_AUTH_PARAMS.sigVerifyCostEd25519, 100_000n],
  sigVerifyCostSecp256k1: [DEFAULT_AUTH_PARAMS.sigVerifyCostSecp256k1, 100_000n],
}

/** Returns the error of the SDK's Params.Validate, or of this chain's own bounds. */
export function validateAuthParams(params: AuthParams): SdkError | undefined {
  const names = {
    txSigLimit: 'tx signature limit',
    sigVerifyCostEd25519: 'ED25519 signature verification cost',
    sigVerifyCostSecp256k1: 'SECK256k1 signature verification cost',
    maxMemoCharacters: 'max memo characters',
    txSizeCostPerByte: 'tx size cost per byte',
  } as const
  for (const [field, name] of Object.entries(names)) {
    const value = params[field as keyof typeof names]
    if (value === 0n) return sdkError('invalidRequest', `invalid ${name}: ${value}`)
  }
  for (const [field, name] of Object.entries(names)) {
    const value = params[field as keyof typeof names]
    const [minimum, maximum] = RANGES[field as keyof typeof names]
    if (value > maximum) return sdkError('invalidRequest', `invalid ${name}: ${value}, at most ${maximum}`)
    if (value < minimum) return sdkError('invalidRequest', `invalid ${name}: ${value}, at least ${minimum}`)
  }
  return undefined
}

/**
 * Writes the module's part of block 0. It has no list of accounts: every address with a balance or
 * a nonce is an account.
 */
export function initAuth(native: Pick<NativeStore, 'set'>, params: AuthParams): void {
  AUTH_PARAMS.set(native, params)
}
