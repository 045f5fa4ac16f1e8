import type { AuthParams } from '../auth/params.ts'
import type { NativeTransaction, SignatureCounts } from './nativeTransaction.ts'

/** Verifying a signature over keccak-256: what ecrecover costs in the EVM. */
export const ETH_SIGNATURE_GAS = 3000n

type GasParams = Pick<AuthParams, 'txSizeCostPerByte' | 'sigVerifyCostSecp256k1'>

/** Gas of a transaction before its first message: its bytes and signatures (x/auth/ante). */
export function baseGas(size: number, signatures: SignatureCounts, params: GasParams): bigint {
  const { txSizeCostPerByte, sigVerifyCostSecp256k1 } = params
  return (
    BigInt(size) * txSizeCostPerByte +
    BigInt(signatures.ethSecp256k1) * ETH_SIGNATURE_GAS +
    BigInt(signatures.secp256k1) * sigVerifyCostSecp256k1
  )
}

/** All gas that a transaction uses under a state's parameters: `intrinsicGas` where these are the defaults. */
export function requiredGas(
  transaction: Pick<NativeTransaction, 'raw' | 'signatureCounts' | 'messageGas'>,
  params: GasParams,
): bigint {
  const base = baseGas(transaction.raw.length, transaction.signatureCounts, params)
  return transaction.messageGas.reduce((sum, gas) => sum + gas, base)
}
