import { type Address, toBech32 } from '../../primitives/address.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { coinsOf } from '../coin.ts'
import type { ModuleContext, NativeBlock, ReadContext } from '../context.ts'
import { isSdkError, type Outcome, SdkError, sdkError } from '../sdkError.ts'
import { readAllowance } from './allowances.ts'
import { emitFeeGrantEvent } from './events.ts'
import { deleteFeeGrant, getFeeGrant, putFeeGrant } from './grants.ts'

/** A fee that the granter is to pay for the grantee. */
export interface GrantedFee {
  readonly granter: Address
  readonly grantee: Address
  readonly feeAcoin: bigint
  /** type URLs of the transaction's messages */
  readonly typeUrls: readonly string[]
}

/** Uses an allowance for a fee (UseGrantedFees of x/feegrant/keeper/keeper.go); the caller moves the coins. */
export function useFeeAllowance({ world, block }: ModuleContext, fee: GrantedFee): SdkError | undefined {
  const used = spend(world.native, block, fee)
  if (isSdkError(used)) return used
  const { granter, grantee } = fee
  const { left, expiration } = used
  if (left === undefined) {
    deleteFeeGrant(world.native, granter, grantee, expiration)
    emitFeeGrantEvent(world, 'revoke_feegrant', fee)
    emitFeeGrantEvent(world, 'use_feegrant', fee)
    return undefined
  }
  const grant = { granter: toBech32(granter), grantee: toBech32(grantee), allowance: left }
  putFeeGrant(world.native, grant, expiration)
  emitFeeGrantEvent(world, 'use_feegrant', fee)
  emitFeeGrantEvent(world, 'update_feegrant', fee)
  return undefined
}

function spend(
  native: Pick<ReadContext['world']['native'], 'get'>,
  { timeMs }: NativeBlock,
  { granter, grantee, feeAcoin, typeUrls }: GrantedFee,
): Outcome<{ readonly left: AnyValue | undefined; readonly expiration: bigint | undefined }> {
  const refuse = ({ codespace, code, message }: SdkError): SdkError =>
    new SdkError(
      codespace,
      code,
      `${toBech32(granter)} does not allow to pay fees for ${toBech32(grantee)}: ${message}`,
    )
  const grant = getFeeGrant(native, granter, grantee)
  if (grant === undefined) return refuse(sdkError('notFound', 'fee-grant not found'))
  const allowance = readAllowance(grant.allowance)
  if (isSdkError(allowance)) return refuse(allowance)
  const left = allowance.accept({ fee: coinsOf(feeAcoin), typeUrls, now: BigInt(timeMs) * 1_000_000n })
  return isSdkError(left) ? refuse(left) : { left, expiration: allowance.expiration }
}
