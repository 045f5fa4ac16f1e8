import { AUTH_PARAMS } from '../modules/auth/params.ts'
import type { ModuleContext } from '../modules/context.ts'
import { isSdkError, type SdkError } from '../modules/sdkError.ts'
import { chargeFee } from '../modules/tx/applyNativeTransaction.ts'
import { chargedFee, checkGasLimit, findNativeInvalidity } from '../modules/tx/findNativeInvalidity.ts'
import { type NativeTransaction, requiredGas } from '../modules/tx/nativeTransaction.ts'

interface NativeStateContext extends ModuleContext {
  /** acoin */
  readonly baseFeePerGas: bigint
}

/**
 * Why a native transaction could not run in the next block on this state. Its sequences may be later than the signers' next ones:
 * its turn may still come. The gas limit is checked too, because a block would take the fee of a transaction that then runs out of gas.
 * @param context.world is left as it was
 */
export function checkNativeState(
  transaction: NativeTransaction,
  { world, block, baseFeePerGas }: NativeStateContext,
): SdkError | undefined {
  world.setTime(Math.floor(block.timeMs / 1000))
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
  try {
    const room = transaction.gasLimit - requiredGas(transaction, AUTH_PARAMS.get(world.native))
    const charged = chargeFee({ world, block }, transaction, chargedFee(transaction, baseFeePerGas), room)
    return isSdkError(charged) ? charged : undefined
  } finally {
    world.revert()
  }
}
