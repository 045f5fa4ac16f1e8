import { BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { type CommitVote, event, type LastCommitInfo, type ModuleContext } from '../context.ts'
import { getValidatorByConsensus } from '../staking/validators.ts'
import { punishDowntime } from './jailing.ts'
import { clearMissed, flipMissed, isMissed, missedCount, missingValidators } from './missedBlocks.ts'
import { maxMissed, SLASHING_PARAMS } from './params.ts'
import { getSigningRecord, putSigningRecord, windowIndex } from './signingInfo.ts'

/** Blocks between the stakes that made a validator's power and the last commit that it signed with it. */
const POWER_DELAY = 2

/**
 * Keeps account of who missed the block before, and slashes and jails who missed too many of its window
 * (x/slashing/keeper/infractions.go). A vote for nil is a signature. A validator that signs and has missed nothing costs no
 * look-up.
 */
export function beginSlashing(context: ModuleContext, { votes }: LastCommitInfo): void {
  const missing = missingValidators(context.world.native)
  for (const vote of votes) {
    if (vote.vote === 'absent' || missing.has(bytesKey(vote.address))) countVote(context, vote)
  }
}

function countVote(context: ModuleContext, { address, power, vote }: CommitVote): void {
  const { world, block } = context
  const { native } = world
  const validator = getValidatorByConsensus(native, address)
  if (validator === undefined || validator.jailed) return
  const record = getSigningRecord(native, address)
  if (record === undefined) throw new Error('a bonded validator has no signing info')
  const params = SLASHING_PARAMS.get(native)

  const missed = vote === 'absent'
  const index = windowIndex(record, block.height, params.signedBlocksWindow)
  let count = missedCount(native, address)
  if (isMissed(native, address, index) !== missed) count = flipMissed(native, address, index)
  const bech32 = toBech32(address, BECH32_CONSENSUS)
  if (missed) {
    world.emitEvent(event('liveness', { address: bech32, missed_blocks: `${count}`, height: `${block.height}` }))
  }
  const isWindowOver = BigInt(block.height) > record.startHeight + params.signedBlocksWindow
  if (!isWindowOver || BigInt(count) <= maxMissed(params)) return
  punishDowntime(context, {
    consensusAddress: address,
    power,
    height: block.height - POWER_DELAY,
    fraction: params.slashFractionDowntime,
  })
  // Its window begins anew when it is bonded again, without what it missed.
  clearMissed(native, address)
  const jailedUntil = BigInt(block.timeMs) * 1_000_000n + params.downtimeJailDuration
  putSigningRecord(native, address, { ...record, jailedUntil })
}
