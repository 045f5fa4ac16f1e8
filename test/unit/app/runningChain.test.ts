import { afterEach, describe, expect, it } from 'vitest'
import { nextBaseFee } from '../../../src/chain/baseFee.ts'
import { CONSENSUS_PARAMS } from '../../../src/modules/consensus/params.ts'
import { FEEMARKET_PARAMS } from '../../../src/modules/feemarket/params.ts'
import { setPlan } from '../../../src/modules/upgrade/plan.ts'
import { Plan } from '../../../src/modules/upgrade/types.ts'
import { ONE } from '../../../src/primitives/decimal.ts'
import type { WorldState } from '../../../src/state/world.ts'
import { extendChain, type NetworkNode, networkGenesis, openNetworkNode, scriptedHooks } from './testNetwork.ts'

let node: NetworkNode | undefined
afterEach(() => node?.close())

/** A node of one validator for which governance does `script` at the end of block 2. */
async function start(script: (world: WorldState) => void): Promise<NetworkNode> {
  const hooks = scriptedHooks((height, world) => {
    if (height === 2) script(world)
  })
  node = await openNetworkNode(networkGenesis(1), { hooks })
  return node
}
