import { BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, multiplyTruncated, ONE } from '../../primitives/decimal.ts'
import { sha256 } from '../../primitives/hash.ts'
import { sendCoins } from '../bank/send.ts'
import { doItem } from '../blockItem.ts'
import type { CommitVote, LastCommitInfo, ModuleContext } from '../context.ts'
import { DISTRIBUTION, FEE_COLLECTOR } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { getValidatorByConsensus } from '../staking/validators.ts'
import { addressesKey } from '../storeKey.ts'
import { getFeePool, putFeePool } from './feePool.ts'
import { REWARD_SHARE_PREFIX, REWARD_SHARES_DIGEST_KEY } from './keys.ts'
import { DISTRIBUTION_PARAMS } from './params.ts'
import { EXTRA_PRECISION, forfeitRewardShare, putRewardShare, rewardShares } from './rewardShares.ts'
import { accrueRewards } from './rewards.ts'

/**
 * Divides the fee collector's coins among the validators of the last commit, by power and whether
 * they signed or not (x/distribution/keeper/allocation.go, AllocateTokens). It writes only the
 * accumulator, in which each validator has a share: a block without fees writes nothing, and a
 * block with fees writes the same for any number of validators.
 * 1. Reward shares follow the last commit: a validator whose power changed accrues rewards under the old one.
 * 2. The collected fees raise the accumulator, so that they are divided by the powers of the last commit.
 */
export function beginDistribution(context: ModuleContext, { votes }: LastCommitInfo): void {
  if (votes.length === 0) return
  updateRewardShares(context, votes) // 1
  doItem(context, { module: 'distribution', item: 'fees' }, () => divideFees(context, votes)) // 2
}

/** @returns why the fees cannot be collected; they stay where they are then */
function divideFees(context: ModuleContext, votes: readonly CommitVote[]): SdkError | undefined {
  const { world } = context
  const fees = world.getBalance(FEE_COLLECTOR)
  if (fees === 0n) return undefined
  const failure = sendCoins(context, FEE_COLLECTOR, DISTRIBUTION, fees)
  if (failure !== undefined) return failure

  const { communityTax } = DISTRIBUTION_PARAMS.get(world.native)
  const totalPower = votes.reduce((sum, { power }) => sum + power, 0n)
  const rise = accumulatorRise(multiplyTruncated(decimalOf(fees), ONE - communityTax), totalPower)
  const pool = getFeePool(world.native)
  putFeePool(world.native, {
    communityPool: pool.communityPool + decimalOf(fees) - spentBy(rise, totalPower),
    accumulator: pool.accumulator + rise,
  })
  return undefined
}

/** Makes the reward shares those of the votes: one for each validator in them, with its power there. */
function updateRewardShares(context: ModuleContext, votes: readonly CommitVote[]): void {
  const { native } = context.world
  const digest = digestOf(votes)
  const known = native.get(REWARD_SHARES_DIGEST_KEY)
  if (known !== undefined && equalBytes(known, digest)) return
  native.set(REWARD_SHARES_DIGEST_KEY, digest)

  const powers = new Map(votes.map(({ address, power }) => [bytesKey(address), power]))
  for (const [address, share] of [...rewardShares(native)]) {
    const power = powers.get(bytesKey(address))
    powers.delete(bytesKey(address))
    if (power === share.power) continue
    doItem(context, { module: 'distribution', validator: toBech32(address, BECH32_CONSENSUS) }, () => {
      const validator = getValidatorByConsensus(native, address)
      if (validator === undefined) forfeitRewardShare(context, address)
      else accrueRewards(context, validator)
    })
    if (power === undefined) native.delete(addressesKey(REWARD_SHARE_PREFIX, address))
    else putRewardShare(native, address, { power, accumulator: getFeePool(native).accumulator })
  }
  const { accumulator } = getFeePool(native)
  for (const { address, power } of votes) {
    if (powers.has(bytesKey(address))) putRewardShare(native, address, { power, accumulator })
  }
}

/** Returns by how much the accumulator rises when `amount` is divided among `totalPower`. */
function accumulatorRise(amount: Decimal, totalPower: bigint): bigint {
  return (amount * EXTRA_PRECISION) / totalPower
}

/**
 * Returns the part of an amount that raising the accumulator by `rise` uses up: at least the sum of
 * all shares in that part.
 */
function spentBy(rise: bigint, totalPower: bigint): Decimal {
  return (rise * totalPower + EXTRA_PRECISION - 1n) / EXTRA_PRECISION
}

const VOTE_BYTES = 28

function digestOf(votes: readonly CommitVote[]): Uint8Array {
  const bytes = new Uint8Array(votes.length * VOTE_BYTES)
  const view = new DataView(bytes.buffer)
  votes.forEach(({ address, power }, index) => {
    bytes.set(address, index * VOTE_BYTES)
    view.setBigUint64(index * VOTE_BYTES + 20, power)
  })
  return sha256(bytes)
}
