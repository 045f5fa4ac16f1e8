import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { decimalOf, multiplyTruncated, ONE } from '../../primitives/decimal.ts'
import { sha256 } from '../../primitives/hash.ts'
import { sendCoins } from '../bank/send.ts'
import type { CommitVote, LastCommitInfo, ModuleContext } from '../context.ts'
import { DISTRIBUTION, FEE_COLLECTOR } from '../moduleAccounts.ts'
import { getValidatorByConsensus } from '../staking/validators.ts'
import { accrueRewards } from './accrueRewards.ts'
import { getFeePool, putFeePool } from './feePool.ts'
import { forfeitShare } from './forfeitShare.ts'
import { REWARD_SHARES_DIGEST_KEY } from './keys.ts'
import { DISTRIBUTION_PARAMS } from './params.ts'
import { accumulatorRise, deleteRewardShare, putRewardShare, rewardShares, spentBy } from './rewardShares.ts'

/**
 * Divides what the fee collector has among the validators of the last commit, by power and whether they signed or not
 * (x/distribution/keeper/allocation.go, AllocateTokens). All it writes is the accumulator, of which each validator has a
 * share: an empty block writes nothing, and one with fees the same however many validators there are.
 */
export function beginDistribution(context: ModuleContext, { votes }: LastCommitInfo): void {
  if (votes.length === 0) return
  updateRewardShares(context, votes)
  const { world } = context
  const fees = world.getBalance(FEE_COLLECTOR)
  if (fees === 0n) return
  const failure = sendCoins(context, FEE_COLLECTOR, DISTRIBUTION, fees)
  if (failure !== undefined) throw new Error(`the fees cannot be collected: ${failure.message}`)

  const { communityTax } = DISTRIBUTION_PARAMS.get(world.native)
  const totalPower = votes.reduce((sum, { power }) => sum + power, 0n)
  const rise = accumulatorRise(multiplyTruncated(decimalOf(fees), ONE - communityTax), totalPower)
  const pool = getFeePool(world.native)
  putFeePool(world.native, {
    communityPool: pool.communityPool + decimalOf(fees) - spentBy(rise, totalPower),
    accumulator: pool.accumulator + rise,
  })
}

/** Has the counted shares follow the votes: who has another power than before is settled under the old one. */
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
    const validator = getValidatorByConsensus(native, address)
    if (validator === undefined) forfeitShare(context, address)
    else accrueRewards(context, validator)
    if (power === undefined) deleteRewardShare(native, address)
    else putRewardShare(native, address, { power, accumulator: getFeePool(native).accumulator })
  }
  const { accumulator } = getFeePool(native)
  for (const { address, power } of votes) {
    if (powers.has(bytesKey(address))) putRewardShare(native, address, { power, accumulator })
  }
}

const RECORD_BYTES = 28

function digestOf(votes: readonly CommitVote[]): Uint8Array {
  const bytes = new Uint8Array(votes.length * RECORD_BYTES)
  const view = new DataView(bytes.buffer)
  votes.forEach(({ address, power }, index) => {
    bytes.set(address, index * RECORD_BYTES)
    view.setBigUint64(index * RECORD_BYTES + 20, power)
  })
  return sha256(bytes)
}
