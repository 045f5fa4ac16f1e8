import { privateKeyToAccount } from 'viem/accounts'
import { expect } from 'vitest'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { bytesKey, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import type { WorldState } from '../../../src/state/world.ts'
import { Column } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { anyOf, signTestTransaction } from '../../native/signTransaction.ts'
import { setPower } from '../modules/staking/setPower.ts'
import { createRandom, randomChange } from '../state/randomChain.ts'
import { WALLET_KEY } from './testChain.ts'
import {
  blockTimeMs,
  type NetworkNode,
  type NodeOptions,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
  testValidator,
} from './testNetwork.ts'

/*
 * A chain in whose blocks something of everything happens, by a seed: transactions of both kinds, logs, wipes of storage, native entries,
 * other validators.
 */

const account = privateKeyToAccount(WALLET_KEY)
const GENESIS = networkGenesis(4)
/** Creates an account without code and writes a log with the topic 1. */
const LOGGER = '0x600160006000a100' as const

/** What a block's end does besides: random changes of accounts, storage and native entries, wipes, and other validators. */
function script(seed: number): (height: number, world: WorldState) => void {
  return (height, world) => {
    const random = createRandom(seed * 1_000 + height)
    for (let step = random(12); step > 0; step--) randomChange(world, random)
    if (random(5) > 0) return
    const { operator, key } = testValidator(3 + random(3))
    const context = { world, block: { height, timeMs: blockTimeMs(height) } }
    setPower(context, { operator, publicKey: key.publicKey, power: BigInt(random(3) * 50) })
  }
}

/** A node whose blocks do that. The caller closes it. */
export function openBusyNode(seed: number, options: NodeOptions = {}): Promise<NetworkNode> {
  return openNetworkNode(GENESIS, { hooks: scriptedHooks(script(seed)), ...options })
}

/** EVM transfers and calls with logs, and native transactions: of each block as many as `random` says. */
async function transactions(nonce: number, random: (below: number) => number): Promise<Uint8Array[]> {
  const raws: Uint8Array[] = []
  for (let count = random(3); count > 0; count--) {
    const sequence = nonce + raws.length
    const fields = {
      chainId: 76287,
      type: 'eip1559',
      gas: 100_000n,
      maxFeePerGas: 10n ** 10n,
      nonce: sequence,
    } as const
    if (random(3) === 0) {
      const to = toBech32(new Uint8Array(20).fill(1 + random(9)))
      const message = anyOf(MsgSend, {
        fromAddress: toBech32(hexToBytes(account.address)),
        toAddress: to,
        amount: [{ denom: 'acoin', amount: 7n }],
      })
      const signers = [{ privateKey: hexToBytes(WALLET_KEY), sequence }]
      raws.push(signTestTransaction({ messages: [message], signers, gasLimit: 100_000n }))
    } else if (random(2) === 0) {
      raws.push(hexToBytes(await account.signTransaction({ ...fields, data: LOGGER })))
    } else {
      raws.push(hexToBytes(await account.signTransaction({ ...fields, to: account.address, value: 1n })))
    }
  }
  return raws
}

/** Lets the node decide blocks up to `height`. */
export async function extend(
  node: NetworkNode,
  height: number,
  seed: number,
  each?: () => Promise<void>,
): Promise<DecidedBlock[]> {
  const decisions: DecidedBlock[] = []
  const random = createRandom(seed)
  for (let state = await node.state(); state.lastHeight < height; ) {
    const raws = await transactions(await nonceOf(node), random)
    const decided = await proposeBlock(node, state, {
      raws,
      ...(random(4) === 0 ? { absent: [state.validators.validators.length - 1] } : {}),
    })
    expect(decided.block.txs).toEqual(raws)
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    decisions.push(decided)
    await each?.()
  }
  return decisions
}

async function nonceOf(node: NetworkNode): Promise<number> {
  return withDatabase(node, async (database) => {
    const view = openView(database, createViewCaches())
    return Number(
      view.stateAt(openChainReader(database).headHeight).getAccount(hexToBytes(account.address))?.nonce ?? 0n,
    )
  })
}

/** The database of a node, which may be open there too. */
export async function withDatabase<T>(
  node: Pick<NetworkNode, 'location'>,
  use: (database: Database) => Promise<T>,
  readOnly = true,
): Promise<T> {
  const database = await Database.open(node.location, { readOnly })
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

/** All entries of all columns by their keys. What is found by its hash alone may stay of undone blocks, so it comes apart. */
export interface Contents {
  readonly entries: Map<string, string>
  readonly byHash: Set<string>
}

const FOUND_BY_HASH: ReadonlySet<number> = new Set([Column.code, Column.validatorSet, Column.validatorSetUse])

export function contentsOf(node: Pick<NetworkNode, 'location'>): Promise<Contents> {
  return withDatabase(node, async (database) => {
    const contents: Contents = { entries: new Map(), byHash: new Set() }
    for await (const [key, value] of database.entries({ start: Uint8Array.of(0), end: undefined })) {
      if (FOUND_BY_HASH.has(key[0]!)) contents.byHash.add(bytesKey(key))
      else contents.entries.set(Buffer.from(key).toString('hex'), bytesKey(value))
    }
    return contents
  })
}

export function expectSame(found: Contents, expected: Contents): void {
  const keys = new Set([...found.entries.keys(), ...expected.entries.keys()])
  expect([...keys].filter((key) => found.entries.get(key) !== expected.entries.get(key))).toEqual([])
  expect([...expected.byHash].filter((key) => !found.byHash.has(key))).toEqual([])
}
