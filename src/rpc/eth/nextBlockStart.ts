import { blockStartOf } from '../../app/blockHooks.ts'
import { UpgradeNeeded } from '../../modules/upgrade/upgradeNeeded.ts'
import { ZERO_ADDRESS } from '../../primitives/address.ts'
import type { RpcContext } from '../method.ts'
import { type CallEnvironment, executionOf } from './callExecution.ts'

/**
 * Does what native modules do when the block after the head begins: the head's fees are shared out, so a contract that withdraws
 * rewards finds them. All of it is known now but the time and the proposer.
 */
export function beginNextBlock(context: RpcContext, { world, block }: CallEnvironment): void {
  const { chain } = context.view
  const { headHeight } = chain
  const lastCommit = chain.seenCommit(headHeight)
  const validators = chain.validatorSetAt(headHeight)
  // Nobody has signed block 0.
  if (lastCommit === undefined || validators === undefined || headHeight === 0) return
  const { timeMs } = block
  const next = { height: headHeight + 1, timeMs, proposerAddress: ZERO_ADDRESS, lastCommit, evidence: [] }
  world.beginTransaction()
  world.checkpoint()
  try {
    executionOf(context).hooks.begin(world, blockStartOf(next, validators))
    world.commit()
  } catch (error) {
    if (!(error instanceof UpgradeNeeded)) throw error
    // There is no next block for this version.
    world.revert()
  }
  world.endTransaction({ clearEmpty: true })
}
