import { afterEach, expect, it } from 'vitest'
import { nextBaseFee } from '../../../src/chain/baseFee.ts'
import { consensusParamsHash } from '../../../src/chain/consensus/block.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState, checkBlock } from '../../../src/consensus/consensusState.ts'
import { CONSENSUS_PARAMS } from '../../../src/modules/consensus/params.ts'
import { FEEMARKET_PARAMS } from '../../../src/modules/feemarket/params.ts'
import { clearPlan, Plan, setPlan } from '../../../src/modules/upgrade/plan.ts'
import { ONE } from '../../../src/primitives/decimal.ts'
import type { WorldState } from '../../../src/state/world.ts'
import {
  type NetworkNode,
  type NodeOptions,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
} from './testNetwork.ts'

let node: NetworkNode | undefined
afterEach(() => node?.close())

/** A node of one validator, for which governance does what it is told at the ends of blocks. */
async function start(
  script: Readonly<Record<number, (world: WorldState) => void>>,
  { skipUpgrades, ...options }: Pick<NodeOptions, 'onUpgradeNeeded' | 'skipUpgrades'> = {},
): Promise<NetworkNode> {
  const hooks = scriptedHooks((height, world) => script[height]?.(world), skipUpgrades)
  node = await openNetworkNode(networkGenesis(1), { hooks, skipUpgrades: skipUpgrades ?? [], ...options })
  return node
}

/** Decides the next block as consensus does. */
async function extend(on: NetworkNode): Promise<DecidedBlock> {
  const state = await on.state()
  const decided = await proposeBlock(on, state)
  expect(checkBlock(state, decided.block)).toBeUndefined()
  const result = await on.executor.application.finalizeBlock(decided)
  const { lastValidators: _, ...advanced } = advanceState(state, decided, result)
  expect(await on.state()).toMatchObject(advanced)
  return decided
}

const UPGRADE = Plan.create({ name: 'v2', height: 5n, info: 'https://example.org' })
const MESSAGE =
  /^upgrade "v2" is needed at height 5: this version cannot execute block 5\. Stop the node, install .*start it again/

it('stops before the block that another version has to execute, and says the same at each start', async () => {
  const told: string[] = []
  const onUpgradeNeeded = ({ message }: Error) => void told.push(message)
  const running = await start({ 2: ({ native }) => setPlan(native, UPGRADE) }, { onUpgradeNeeded })
  for (let height = 1; height <= 3; height++) await extend(running)
  expect(told).toEqual([])
  await extend(running)
  // Also a node that never proposes or executes a block of that height says so.
  expect(told).toEqual([expect.stringMatching(MESSAGE)])
  await expect(extend(running)).rejects.toThrow(MESSAGE)
  await running.executor.close()
  for (let attempt = 0; attempt < 2; attempt++) {
    const again = running.reopen()
    await expect(again).rejects.toMatchObject({ name: 'UpgradeNeeded', message: expect.stringMatching(MESSAGE) })
  }
  expect(running.executor.head().header.number).toBe(4)
})

it('goes on with the same data past an upgrade that the operator passes over', async () => {
  const skipUpgrades: number[] = []
  const running = await start({ 2: ({ native }) => setPlan(native, UPGRADE) }, { skipUpgrades })
  for (let height = 1; height <= 4; height++) await extend(running)
  await running.executor.close()
  await expect(running.reopen()).rejects.toThrow(MESSAGE)
  skipUpgrades.push(5)
  await running.reopen()
  for (let height = 5; height <= 6; height++) await extend(running)
  await running.reopen()
  expect(running.executor.head().header.number).toBe(6)
})

it('goes on past the height of an upgrade that was called off', async () => {
  const running = await start({ 2: ({ native }) => setPlan(native, UPGRADE), 4: ({ native }) => clearPlan(native) })
  for (let height = 1; height <= 6; height++) await extend(running)
  expect(running.executor.head().header.number).toBe(6)
})

it('follows the block gas limit and the fee market that governance sets, from the next block on', async () => {
  const running = await start({
    2: ({ native }) => {
      const params = CONSENSUS_PARAMS.get(native)
      CONSENSUS_PARAMS.set(native, { ...params, block: { ...params.block!, maxGas: 60_000_000n } })
    },
    3: ({ native }) => {
      const minGasPrice = 3n * 10n ** 9n * ONE
      FEEMARKET_PARAMS.set(native, { ...FEEMARKET_PARAMS.get(native), minGasPrice })
    },
  })
  const seen: unknown[] = []
  for (let height = 1; height <= 5; height++) {
    const before = running.executor.head().header
    const { block } = await extend(running)
    const { header } = running.executor.head()
    seen.push([header.gasLimit, header.baseFeePerGas])
    const maxGas = Number(header.gasLimit)
    const params = { maxBytes: running.chain.maxBlockBytes, maxGas }
    expect(block.header.consensusHash).toEqual(consensusParamsHash(params))
    if (height <= 3) expect(header.baseFeePerGas).toBe(nextBaseFee(before, running.chain.feeMarket))
    if (height === 3) await running.reopen()
  }
  const gwei = 10n ** 9n
  expect(seen).toEqual([
    [100_000_000n, gwei],
    [100_000_000n, gwei],
    [60_000_000n, gwei],
    [60_000_000n, 3n * gwei],
    [60_000_000n, 3n * gwei],
  ])
})
