import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { encodeBlock } from '../../../src/chain/comet/block.ts'
import { encodeCommit } from '../../../src/chain/comet/commit.ts'
import { packSegment, segmentPath, writeSegment } from '../../../src/chain/segments/segments.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState, type ConsensusState } from '../../../src/consensus/consensusState.ts'
import { readBlockBytes } from '../../../src/datadir/blockFile.ts'
import { exportBlocks } from '../../../src/datadir/exportBlocks.ts'
import { importBlocks } from '../../../src/datadir/importBlocks.ts'
import { recoverEntrySender } from '../../../src/execution/entry.ts'
import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
import { applicationService } from '../../../src/node/roles/executor/executorRequests.ts'
import { packBytes } from '../../../src/node/wire/packedBytes.ts'
import { bytesToHex, concatBytes, equalBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import type { WorldState } from '../../../src/state/world.ts'
import { Database } from '../../../src/storage/database.ts'
import { RULES } from '../../../src/storage/format.ts'
import { encodeSegmentFile, SEGMENT_MAGIC } from '../../../src/storage/segmentFile.ts'
import { WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'
import {
  blockTimeMs,
  type NetworkNode,
  type NodeOptions,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
  testValidator,
} from '../../support/execution/testNetwork.ts'
import { setPower } from '../../support/modules/staking/setPower.ts'

const account = privateKeyToAccount(WALLET_KEY)
const RECEIVER = '0x00000000000000000000000000000000000000aa'
const GENESIS = networkGenesis(4)
const BLOCKS = 30

async function transfer(nonce: number, from = account): Promise<Uint8Array> {
  const fields = { chainId: 76287, type: 'eip1559', gas: 21_000n, maxFeePerGas: 10n ** 10n } as const
  return hexToBytes(await from.signTransaction({ ...fields, nonce, to: RECEIVER, value: 1n }))
}

const hooks = scriptedHooks((height: number, world: WorldState) => {
  const context = { world, block: { height, timeMs: blockTimeMs(height) } }
  const power = (index: number, value: bigint) => {
    const { operator, key } = testValidator(index)
    setPower(context, { operator, publicKey: key.publicKey, power: value })
  }
  if (height === 5) power(4, 700n)
  if (height === 9) power(0, 0n)
  if (height > 12) power(4, BigInt(700 + height))
})

let decisions: DecidedBlock[]
let headHash: string
let nodes: NetworkNode[] = []

async function start(options: NodeOptions = {}): Promise<NetworkNode> {
  const node = await openNetworkNode(GENESIS, { hooks, ...options })
  nodes.push(node)
  return node
}

afterEach(async () => {
  for (const node of nodes) await node.close()
  nodes = []
})

beforeAll(async () => {
  const node = await openNetworkNode(GENESIS, { hooks })
  let state: ConsensusState = await node.state()
  decisions = []
  for (let nonce = 0; nonce < BLOCKS; nonce++) {
    const decided = await proposeBlock(node, state, {
      raws: nonce % 4 === 3 ? [] : [await transfer(nonce - Math.floor((nonce + 1) / 4))],
    })
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    decisions.push(decided)
  }
  headHash = bytesToHex(node.executor.head().hash)
  await node.close()
})

/** What other threads read. */
async function publishedHeight(node: NetworkNode): Promise<number> {
  const database = await Database.open(node.location, { readOnly: true })
  const { headHeight } = openChainReader(database)
  await database.close()
  return headHeight
}

/** All entries of its database. */
async function contentOf(node: NetworkNode): Promise<readonly string[]> {
  await node.reopen()
  const database = await Database.open(node.location, { readOnly: true })
  const entries: string[] = []
  for await (const [key, value] of database.entries({ start: new Uint8Array(0), end: undefined })) {
    entries.push(`${bytesToHex(key)} ${bytesToHex(value)}`)
  }
  await database.close()
  return entries
}

const finalize = (node: NetworkNode, decided: DecidedBlock, catchingUp = true) =>
  node.executor.application.finalizeBlock({ ...decided, catchingUp })

describe('catching up', () => {
  it('writes blocks together, and shows the newest one when they are on the disk', async () => {
    let nowMs = 0
    const seen: [number, number][] = []
    const node = await start({ now: () => nowMs, onPublished: (height, included) => seen.push([height, included]) })
    for (const decided of decisions.slice(0, 5)) {
      expect((await finalize(node, decided)).durableHeight).toBe(0)
    }
    expect(node.executor.head().header.number).toBe(5)
    expect(await publishedHeight(node)).toBe(0)
    nowMs += 1_000
    await finalize(node, decisions[5]!)
    await finalize(node, decisions[6]!)
    await expect.poll(() => seen).toEqual([[6, 5]])
    expect(await publishedHeight(node)).toBe(6)
    expect((await finalize(node, decisions[7]!)).durableHeight).toBe(6)
    // The first block that is not said to be followed by others.
    expect((await finalize(node, decisions[8]!, false)).durableHeight).toBe(9)
    expect(seen).toEqual([
      [6, 5],
      [8, 1],
      [9, 1],
    ])
    expect(await publishedHeight(node)).toBe(9)
    expect((await finalize(node, decisions[9]!, false)).durableHeight).toBe(10)
  })

  it('writes what is left when no further block comes', async () => {
    const timers: (() => void)[] = []
    const node = await start({ now: () => 0, later: (work) => timers.push(work) })
    for (const decided of decisions.slice(0, 3)) await finalize(node, decided)
    expect(timers).toHaveLength(1)
    timers.shift()!()
    expect(timers).toHaveLength(1)
    expect(await publishedHeight(node)).toBe(0)
    timers.shift()!()
    await expect.poll(() => publishedHeight(node)).toBe(3)
    expect(timers).toHaveLength(0)
    expect((await finalize(node, decisions[3]!)).durableHeight).toBe(3)
  })

  it.each([
    ['a proposal', (node: NetworkNode, state: ConsensusState) => proposeBlock(node, state)],
    ['a proposal of others', (node: NetworkNode) => node.executor.application.processProposal(decisions[7]!.block)],
  ])('ends before %s is looked at', async (_, look) => {
    const node = await start({ now: () => 0 })
    for (const decided of decisions.slice(0, 7)) await finalize(node, decided)
    expect(await publishedHeight(node)).toBe(0)
    await look(node, await node.state())
    expect(await publishedHeight(node)).toBe(7)
  })

  it.each(['archive' as const, 4])(
    'comes to the same chain as following block by block, with state of %s blocks',
    async (pruning) => {
      const node = await start({ pruning, blockHistory: pruning === 'archive' ? 0 : 6 })
      for (const [index, decided] of decisions.entries()) {
        const senders =
          index % 2 === 0
            ? { senders: decided.block.txs.map((raw) => recoverEntrySender(raw, createTransactionDecoder(node.chain))) }
            : {}
        // Back to single blocks at times, and restarted in between.
        await finalize(node, { ...decided, ...senders }, index % 7 !== 6)
        if (index % 11 === 10) await node.reopen()
      }
      expect(bytesToHex(node.executor.head().hash)).toBe(headHash)
      await node.reopen()
      expect(bytesToHex(node.executor.head().hash)).toBe(headHash)
      expect(node.executor.oldestState()).toBe(pruning === 'archive' ? 0 : BLOCKS - 4)
    },
  )

  it('writes the same database in runs, which end where validators change, and through restarts', async () => {
    const single = await start()
    for (const decided of decisions) await finalize(single, decided)
    const node = await start()
    const { maxGas } = (await node.state()).params
    const runs: number[] = []
    for (let done = 0; done < BLOCKS; ) {
      const blocks = decisions.slice(done, done + 8)
      const parts = blocks.flatMap(({ block, seenCommit }) => [encodeBlock(block), encodeCommit(seenCommit)])
      const service = applicationService(node.executor.application)
      const { executed } = await service.finalizeRun(
        packBytes(parts),
        blocks.map(() => ({ catchingUp: true })),
        maxGas,
      )
      runs.push(executed)
      done += executed
      expect(node.executor.head().header.number).toBe(done)
      if (runs.length % 3 === 0) await node.reopen()
    }
    // Heights 5, 9 and all from 13 on change validators.
    expect(runs.slice(0, 4)).toEqual([5, 4, 4, 1])
    expect(bytesToHex(node.executor.head().hash)).toBe(headHash)
    expect(await contentOf(node)).toEqual(await contentOf(single))
  })
})

describe('senders', () => {
  it('that another thread recovered are taken as they are; others are recovered here', async () => {
    const [decided] = decisions
    const good = await start()
    await finalize(good, { ...decided!, senders: [undefined] })
    const misled = await start()
    await finalize(misled, { ...decided!, senders: [testValidator(1).operator] })
    const [right, wrong] = [good, misled].map((node) => node.executor.head().header.gasUsed)
    expect([right, wrong]).toEqual([21_000n, 0n])
  })

  it('that the mempool knows are not recovered again in a proposal of others', async () => {
    const asked: number[] = []
    const decided = decisions[0]!
    const knowing = await start({
      senders: async (hashes) => {
        asked.push(hashes.length)
        return hashes.map(() => testValidator(1).operator)
      },
    })
    // The mempool's answer is believed: the other account has no money.
    expect(await knowing.executor.application.processProposal(decided.block)).toEqual({
      accepted: false,
      reason: expect.stringMatching(/^transaction 0 cannot start/),
    })
    expect(asked).toEqual([1])
    const ignorant = await start({ senders: async (hashes) => hashes.map(() => undefined) })
    expect(await ignorant.executor.application.processProposal(decided.block)).toEqual({ accepted: true })
    await finalize(ignorant, decided, false)
    expect(ignorant.executor.head().header.gasUsed).toBe(21_000n)
  })

  it('are undefined for what is no transaction', async () => {
    const stranger = privateKeyToAccount(`0x${'02'.repeat(32)}`)
    const chain = (await start()).chain
    const txs = [await transfer(0), Uint8Array.of(0x0a, 1), Uint8Array.of(0xff), await transfer(0, stranger)]
    const senders = txs
      .map((raw) => recoverEntrySender(raw, createTransactionDecoder(chain)))
      .map((sender) => sender && bytesToHex(sender))
    expect(senders).toEqual([bytesToHex(WALLET), undefined, undefined, stranger.address.toLowerCase()])
  })
})

describe('export and import', () => {
  let directory: string
  afterEach(() => rmSync(directory, { recursive: true }))

  /** A file of these blocks, as an export or a forger writes it. */
  async function fileOf(blocks: readonly DecidedBlock[]): Promise<string> {
    directory = mkdtempSync(join(tmpdir(), 'coind-blocks-'))
    const path = join(directory, 'blocks')
    const source = await start()
    for (const decided of decisions.slice(0, blocks.length)) await finalize(source, decided)
    await source.reopen()
    const database = await Database.open(source.location, { readOnly: true })
    const chain = openChainReader(database)
    const content = packSegment({
      first: 1,
      last: blocks.length,
      genesisHash: source.chain.genesisHash,
      lastCommit: blocks.at(-1)!.seenCommit,
      read: (height) => ({ ...chain.storedBlock(height)!, block: encodeBlock(blocks[height - 1]!.block) }),
    })
    writeFileSync(path, concatBytes(...encodeSegmentFile(content)))
    await database.close()
    return path
  }

  it('carry a chain over whose validators change', async () => {
    const source = await start()
    for (const decided of decisions) await finalize(source, decided)
    await source.reopen()
    directory = mkdtempSync(join(tmpdir(), 'coind-blocks-'))
    const path = join(directory, 'blocks')
    const database = await Database.open(source.location, { readOnly: true })
    await exportBlocks({
      chain: openChainReader(database),
      genesisHash: source.chain.genesisHash,
      path,
      from: 1,
      to: BLOCKS,
    })
    const range = { first: 0, last: BLOCKS }
    const chain = openChainReader(database)
    const { genesisHash } = source.chain
    const lastCommit = chain.seenCommit(BLOCKS)!
    const read = (height: number) => chain.storedBlock(height)!
    await writeSegment(directory, { ...range, genesisHash, lastCommit, read }, async () => undefined)
    await database.close()
    const target = await start()
    await finalize(target, decisions[0]!)
    const { application } = target.executor
    expect(await importBlocks({ application, chain: target.chain, path })).toEqual({ from: 2, to: BLOCKS })
    expect(bytesToHex(target.executor.head().hash)).toBe(headHash)
    expect(equalBytes((await target.state()).appHash, hexToBytes(headHash))).toBe(true)
    await target.reopen()
    expect(bytesToHex(target.executor.head().hash)).toBe(headHash)

    // A file of old blocks, which begins with block 0.
    const other = await start()
    const segment = { application: other.executor.application, chain: other.chain, path: segmentPath(directory, range) }
    expect(await importBlocks(segment)).toEqual({ from: 1, to: BLOCKS })
    expect(bytesToHex(other.executor.head().hash)).toBe(headHash)
  })

  it.each([
    ['of an older version', 1, /^the file was written by an older version of coind with other rules, /],
    ['of a newer version', RULES + 1, /^the file was written by a newer version of coind: /],
    [
      'of the first versions',
      'COINDBLOCKS1\n',
      /^the file was written by an older version of coind with other rules, /,
    ],
    ['that are no exports', 'COINDELSE1234\n', /^the file is not an export of blocks$/],
  ] as const)('refuse files %s', async (_, begin, message) => {
    const path = await fileOf(decisions.slice(0, 2))
    const bytes = readFileSync(path)
    if (typeof begin === 'number') bytes[SEGMENT_MAGIC.length - 1] = begin
    else bytes.write(begin)
    writeFileSync(path, bytes)
    const target = await start()
    const { application } = target.executor
    await expect(importBlocks({ application, chain: target.chain, path })).rejects.toThrow(message)
    expect(target.executor.head().header.number).toBe(0)
  })

  it('end when they are stopped: an import after a block, an export without a file', async () => {
    const path = await fileOf(decisions.slice(0, 8))
    const target = await start()
    const { application } = target.executor
    const inMemory = await Array.fromAsync(readBlockBytes(readFileSync(path), target.chain.genesisHash))
    expect(inMemory.map(({ block }) => block)).toEqual(decisions.slice(0, 8).map(({ block }) => block))
    const stop = new AbortController()
    const onBlock = (height: number): void => {
      if (height === 5) stop.abort()
    }
    const { signal } = stop
    expect(await importBlocks({ application, chain: target.chain, path, signal, onBlock })).toEqual({ from: 1, to: 5 })
    await target.reopen()
    expect(target.executor.head().header.number).toBe(5)

    const database = await Database.open(target.location, { readOnly: true })
    const { genesisHash } = target.chain
    const out = join(directory, 'out')
    const exported = exportBlocks({ chain: openChainReader(database), genesisHash, path: out, from: 1, to: 5, signal })
    await expect(exported).rejects.toBe(signal.reason)
    expect(existsSync(out)).toBe(false)
    await database.close()
  })

  it('stop at a block that its height’s validators did not decide', async () => {
    // Before the newcomer acts, the old validators' signatures suffice; afterwards they do not.
    const late = decisions[8]!
    const { signatures } = late.seenCommit
    const strongest = signatures.map((signature, index) =>
      index === 0 ? { ...signature, signature: signatures[1]!.signature } : signature,
    )
    const forged = { ...late, seenCommit: { ...late.seenCommit, signatures: strongest } }
    const path = await fileOf([...decisions.slice(0, 8), forged])
    const target = await start()
    const { application } = target.executor
    await expect(importBlocks({ application, chain: target.chain, path })).rejects.toThrow(
      'the commit of block 9 is invalid: signature 0 is wrong',
    )
    expect(target.executor.head().header.number).toBe(8)
  })

  it('stop at a block that names other validators than the chain has', async () => {
    const header = { ...decisions[2]!.block.header, nextValidatorsHash: new Uint8Array(32) }
    const path = await fileOf([
      ...decisions.slice(0, 2),
      { ...decisions[2]!, block: { ...decisions[2]!.block, header } },
    ])
    const target = await start()
    const { application } = target.executor
    await expect(importBlocks({ application, chain: target.chain, path })).rejects.toThrow(
      'block 3 names other validators for block 4 than this chain has',
    )
  })
})
