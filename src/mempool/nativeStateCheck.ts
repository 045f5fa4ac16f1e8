import type { ModuleContext } from '../modules/context.ts'
import type { SdkError } from '../modules/sdkError.ts'
import { chargeFee } from '../modules/tx/chargeFee.ts'
import { chargedFee, checkGasLimit, findNativeInvalidity } from '../modules/tx/checkNativeState.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'

export interface NativeStateContext extends ModuleContext {
  /** acoin */
  readonly baseFeePerGas: bigint
}

/**
 * Why a native transaction could not run in a block on this state, even when its turn comes: sequences may be later than the
 * signers' next ones. In a block, one whose gas limit is too low would pay for nothing.
 * @param context.world is left as it was
 */
export function checkNativeState(
  transaction: NativeTransaction,
  { world, block, baseFeePerGas }: NativeStateContext,
): SdkError | undefined {
  const check = { transaction, world, block, baseFeePerGas, sequences: 'notUsed' } as const
  return (
    findNativeInvalidity(check) ?? checkGasLimit(check) ?? checkAllowance(transaction, { world, block, baseFeePerGas })
  )
}

function checkAllowance(
  transaction: NativeTransaction,
  { world, block, baseFeePerGas }: NativeStateContext,
): SdkError | undefined {
  if (transaction.feeGranter === undefined) return undefined
  world.checkpoint()
  const error = chargeFee({ world, block }, transaction, chargedFee(transaction, baseFeePerGas))
  world.revert()
  return error
}
