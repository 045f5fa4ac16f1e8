import { afterEach, expect, it, onTestFinished } from 'vitest'
import { nextBaseFee } from '../../../src/chain/block/baseFee.ts'
import { consensusParamsHash } from '../../../src/chain/comet/block.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState, checkBlock } from '../../../src/consensus/consensusState.ts'
import { createReferenceEngine } from '../../../src/evm/engines/reference/referenceEngine.ts'
import { CONSENSUS_PARAMS } from '../../../src/modules/consensus/params.ts'
import type { ModuleContext } from '../../../src/modules/context.ts'
import { FEEMARKET_PARAMS } from '../../../src/modules/feemarket/params.ts'
import { SLASHING_PARAMS } from '../../../src/modules/slashing/params.ts'
import { type UpgradeRules, upgradeRules } from '../../../src/modules/upgrade/beginUpgrade.ts'
import { clearPlan, Plan, setPlan } from '../../../src/modules/upgrade/plan.ts'
import type { Upgrade } from '../../../src/modules/upgrade/upgrades.ts'
import { ONE } from '../../../src/primitives/decimal.ts'
import type { WorldState } from '../../../src/state/world.ts'
import {
  type NetworkNode,
  type NodeOptions,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
} from '../../support/execution/testNetwork.ts'

let node: NetworkNode | undefined
afterEach(() => node?.close())

type Script = Readonly<Record<number, (world: WorldState) => void>>
const hooksOf = (script: Script, upgrades?: UpgradeRules) =>
  scriptedHooks((height, world) => script[height]?.(world), upgrades)

/** A node of one validator, for which governance does what it is told at the ends of blocks. */
async function start(
  script: Script,
  options: Pick<NodeOptions, 'onUpgradeNeeded' | 'upgrades'> = {},
): Promise<NetworkNode> {
  node = await openNetworkNode(networkGenesis(1), { hooks: hooksOf(script, options.upgrades), ...options })
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
  const skippedHeights: number[] = []
  const upgrades = upgradeRules(skippedHeights)
  const running = await start({ 2: ({ native }) => setPlan(native, UPGRADE) }, { upgrades })
  for (let height = 1; height <= 4; height++) await extend(running)
  await running.executor.close()
  await expect(running.reopen()).rejects.toThrow(MESSAGE)
  skippedHeights.push(5)
  await running.reopen()
  for (let height = 5; height <= 6; height++) await extend(running)
  await running.reopen()
  expect(running.executor.head().header.number).toBe(6)
})

it('goes on with the version of the upgrade alone, whose migrations both engines make alike', async () => {
  const script = { 2: ({ native }: WorldState) => setPlan(native, UPGRADE) }
  let migrations = 0
  const migrate = ({ world: { native } }: ModuleContext): void => {
    migrations++
    SLASHING_PARAMS.set(native, { ...SLASHING_PARAMS.get(native), signedBlocksWindow: 77n })
  }
  const made: Upgrade = { name: 'v2', migrations: [{ module: 'slashing', from: 4, migrate }] }
  const upgrades: Upgrade[] = []
  const rules = { upgrades, skippedHeights: [] }
  const running = await start(script, { upgrades: rules })
  const hooks = hooksOf(script, rules)
  const other = await openNetworkNode(networkGenesis(1), { hooks, upgrades: rules, engine: createReferenceEngine() })
  onTestFinished(() => other.close())
  const follow = async (): Promise<void> => {
    await other.executor.application.finalizeBlock(await extend(running))
    expect(other.executor.head().header).toEqual(running.executor.head().header)
  }
  for (let height = 1; height <= 4; height++) await follow()
  await expect(running.reopen()).rejects.toThrow(MESSAGE)
  upgrades.push(made)
  for (const each of [running, other]) await each.reopen()
  for (let height = 5; height <= 6; height++) await follow()
  // To propose the block and to check it.
  expect(migrations).toBeGreaterThanOrEqual(2)
  await running.reopen()
  await follow()
  upgrades.pop()
  await expect(running.reopen()).rejects.toThrow('made upgrade "v2" at height 5, which this version does not know')
  upgrades.push(made)
  await running.reopen()
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
