import type { AuthParams } from '../auth/params.ts'
import type { NativeTransaction } from './nativeTransaction.ts'

/** Verifying a signature over keccak-256: what ecrecover costs in the EVM. */
export const ETH_SIGNATURE_GAS = 3000n

/** What gas depends on of a state. */
export type GasParams = Pick<AuthParams, 'txSizeCostPerByte' | 'sigVerifyCostSecp256k1'>

/** Using a fee allowance: entries read and written besides the messages'. */
export const FEE_ALLOWANCE_GAS = 5000n

type Priced = Pick<NativeTransaction, 'raw' | 'signatureCounts' | 'feeGranter'>

/** Gas of a transaction before its first message: its bytes and signatures (x/auth/ante), and a fee allowance. */
export function baseGas({ raw, signatureCounts, feeGranter }: Priced, params: GasParams): bigint {
  const { txSizeCostPerByte, sigVerifyCostSecp256k1 } = params
  return (
    BigInt(raw.length) * txSizeCostPerByte +
    BigInt(signatureCounts.ethSecp256k1) * ETH_SIGNATURE_GAS +
    BigInt(signatureCounts.secp256k1) * sigVerifyCostSecp256k1 +
    (feeGranter === undefined ? 0n : FEE_ALLOWANCE_GAS)
  )
}

/** All gas that a transaction uses under a state's parameters: `intrinsicGas` where these are the defaults. */
export function requiredGas(transaction: Priced & Pick<NativeTransaction, 'messageGas'>, params: GasParams): bigint {
  return transaction.messageGas.reduce((sum, gas) => sum + gas, baseGas(transaction, params))
}

/** What a transaction takes of the block's gas for native ones: all that it would use, whether it gets so far or not. */
export function laneGas(
  transaction: Parameters<typeof requiredGas>[0] & Pick<NativeTransaction, 'gasLimit'>,
  params: GasParams,
): bigint {
  const required = requiredGas(transaction, params)
  return required < transaction.gasLimit ? required : transaction.gasLimit
}
