import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeBlock, encodeBlock } from '../../../../src/chain/comet/block.ts'
import { decodeLightBlock, encodeValidatorSet } from '../../../../src/chain/comet/lightBlock.ts'
import { createValidatorSet, validatorSetHash } from '../../../../src/chain/comet/validatorSet.ts'
import { readCompleteFrom } from '../../../../src/chain/retention/completeBlocks.ts'
import type { HeaderRules } from '../../../../src/chain/retention/headerRetention.ts'
import { type ChainReader, openChainReader } from '../../../../src/chain/store/chainReader.ts'
import {
  type OlderBlocks,
  type OlderBlocksStart,
  readOlderBlock,
  readValidatorsBelow,
  type VerifiedBlock,
  verifyOlderBlocks,
} from '../../../../src/chain/store/olderBlocks.ts'
import { createBackfill, type MissingBlocks } from '../../../../src/execution/backfillBlocks.ts'
import { databaseLightBlocks } from '../../../../src/p2p/lightExchange.ts'
import { bytesToHex, EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { type Ed25519Key, ed25519Key } from '../../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Database } from '../../../../src/storage/database.ts'
import { backfill } from '../../../../src/sync/blocks/fetchOlderBlocks.ts'
import { runs } from '../../../propertyRuns.ts'
import { writeRestoredChain } from '../../../support/chain/restoredChain.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'

/** The chain that others have, and where the node of the tests began. */
const FIRST = 8_130
const BASE = 8_290
const RESTORED = 8_300
const HEAD = 8_400
/** Heights from which on there are other validators: all of them are others at 8,250. */
const CHANGES = [8_193, 8_250, 8_280, 8_281, 8_299]

const KEYS = Array.from({ length: 8 }, (_, index) => ed25519Key(sha256(Uint8Array.of(index))))
function keysAt(height: number): readonly Ed25519Key[] {
  if (height < 8_250) return height < 8_193 ? KEYS.slice(0, 3) : KEYS.slice(0, 2)
  const changes = CHANGES.filter((change) => change > 8_250 && change <= height).length
  return KEYS.slice(4, 6 + (changes % 2))
}

const RULES: HeaderRules = {
  blockHistory: 0,
  ownBlocks: 100,
  evidence: { maxAgeBlocks: 1_000_000, maxAgeMs: 1e12 },
  trustPeriodMs: 1,
}

let directory: string
let full: Database
let source: ChainReader
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-backfill-'))
  full = await Database.open(join(directory, 'full'))
  await writeOldChain(full, { base: FIRST, head: HEAD, keysAt })
  source = openChainReader(full)
})
afterAll(async () => {
  await full.close()
  rmSync(directory, { recursive: true })
})

let node: Database
let nodes = 0
beforeEach(async () => {
  node = await Database.open(join(directory, `node-${++nodes}`))
  await writeRestoredChain(node, full, { base: BASE, restored: RESTORED, head: HEAD })
})
afterEach(() => node.close())

/** An answer of an honest peer. */
function answerOf({ highest, count }: { highest: number; count: number }, chain = source): OlderBlocks {
  const blocks = []
  for (let height = highest; blocks.length < count; height--) {
    const block = readOlderBlock(chain, height)
    if (block === undefined) break
    blocks.push(block)
  }
  return { blocks, below: blocks.length === 0 ? undefined : readValidatorsBelow(chain, highest - blocks.length + 1) }
}

type Peer = (asked: { readonly highest: number; readonly count: number }) => OlderBlocks | Promise<OlderBlocks>

/**
 * Runs the backfill with these peers until it ends, or nobody gives anything any more.
 * @returns who was banned and what was said
 */
async function run(peers: Record<string, Peer>, rules = RULES, chain = createBackfill(node, rules)) {
  const connected = new Map(Object.entries(peers))
  const banned: string[] = []
  const lines: string[] = []
  const asked: string[] = []
  const stop = new AbortController()
  let nowMs = 0
  const write = async (): Promise<void> => {
    chain.prepare()
    const batch = new WriteBatch()
    chain.write(batch)
    if (batch.length > 0) await node.write(batch, { sync: false })
  }
  const work = backfill(
    {
      chainId: 'coin_76287-1',
      network: {
        peers: async () => [...connected.keys()],
        fetchOlderBlocks: async (peer, request) => {
          asked.push(`${peer} ${request.highest} ${request.count}`)
          return connected.get(peer)!(request)
        },
        punish: (peer, what, reason) => {
          banned.push(`${peer} ${what}: ${reason}`)
          connected.delete(peer)
        },
      },
      chain: {
        missing: async () => {
          await write()
          return chain.missing()
        },
        add: async (blocks) => chain.add(blocks),
      },
      verify: async (blocks, start) => verifyOlderBlocks(blocks, start),
      isInStep: () => true,
      nowMs: () => nowMs,
      sleep: async (ms) => {
        nowMs += ms
        if (nowMs > 100_000) stop.abort()
      },
      log: (_, message) => void lines.push(message),
      onProgress: () => undefined,
    },
    stop.signal,
  )
  const isComplete = await work.then(
    () => true,
    (error: unknown) => {
      if (!stop.signal.aborted) throw error
      return false
    },
  )
  return { isComplete, banned, lines, asked, connected: [...connected.keys()] }
}

/** Each block from `from` on as text: without transactions, with its commit, its validators, and how it is found. */
function describeBlocks(chain: ChainReader, from: number): readonly string[] {
  const text = (bytes: Uint8Array = EMPTY_BYTES): string => bytesToHex(sha256(bytes)).slice(2, 18)
  return Array.from({ length: HEAD - from }, (_, index) => {
    const height = from + index
    const found = readOlderBlock(chain, height)
    const hash = validatorSetHash(chain.validatorSetAt(height) ?? { validators: [] })
    const heights = [chain.heightOf(chain.hash(height)!), chain.heightOfConsensusHash(chain.blockId(height)!.hash)]
    return `${height}: ${heights} ${text(found?.block)} ${text(found?.header)} ${text(hash)}`
  })
}

/** The node has every block from `from` on, without transactions where they were fetched, and its validators. */
function expectComplete(from: number): void {
  const chain = openChainReader(node)
  expect(chain.base).toBe(from)
  expect(describeBlocks(chain, from)).toEqual(describeBlocks(source, from))
  for (const height of [8_290, 8_200]) if (height < BASE) expect(chain.consensusBlock(height)?.txs).toEqual([])
  expect([chain.header(from - 1), chain.validatorSetAt(from - 1)]).toEqual([undefined, undefined])
}

describe('a node that began with a snapshot', () => {
  it('fetches the blocks that peers have, with their validators, and waits for the others', async () => {
    expect(openChainReader(node).validatorSetAt(RESTORED - 1)).toBeUndefined()
    const lightHeight = (height: number) => decodeLightBlock(databaseLightBlocks(node)(height)!).header.height
    expect([lightHeight(8_200), lightHeight(RESTORED - 5), lightHeight(RESTORED + 1)]).toEqual([
      RESTORED,
      RESTORED,
      RESTORED + 1,
    ])
    expect(databaseLightBlocks(node)(HEAD + 1)).toBeUndefined()
    const { isComplete, banned, lines, asked } = await run({
      honest: answerOf,
      empty: () => ({ blocks: [], below: undefined }),
    })
    expect([isComplete, banned]).toEqual([false, []])
    expectComplete(FIRST)
    expect([lightHeight(8_200), lightHeight(RESTORED - 5)]).toEqual([8_200, RESTORED - 5])
    expect(lines.filter((line) => line.startsWith('no peer'))).toHaveLength(1)
    // One that has nothing is not asked again at once.
    expect(asked.filter((line) => line.startsWith('empty')).length).toBeLessThan(6)
    // No answer has blocks of two segments.
    expect(asked.find((line) => line.startsWith('honest'))).toBe('honest 8299 108')
  })

  it('fetches no more than is needed, in whole segments', async () => {
    const rules = { ...RULES, evidence: { maxAgeBlocks: HEAD - 8_250, maxAgeMs: 100 * 400 } }
    const { isComplete, lines } = await run({ honest: answerOf }, rules)
    expect(isComplete).toBe(true)
    expect(lines.at(-1)).toMatch(/all old headers/)
    expectComplete(8_192)
    expect((await run({ honest: answerOf }, rules)).asked).toEqual([])
    expect(
      (await run({ honest: answerOf }, { ...RULES, ownBlocks: 10, evidence: { maxAgeBlocks: 10, maxAgeMs: 1 } })).asked,
    ).toEqual([])
  })

  it('asks another peer where one is false, gone or incomplete, and bans who gave what is false', async () => {
    const few: Peer = ({ highest }) => answerOf({ highest, count: 3 })
    let calls = 0
    const flaky: Peer = async (asked) => {
      if (calls++ % 2 === 0) throw new Error('no answer in time')
      return few(asked)
    }
    const liar: Peer = (asked) => {
      const answer = answerOf(asked)
      return { ...answer, blocks: answer.blocks.slice(1) }
    }
    const { banned, connected } = await run({ flaky, liar, honest: few })
    expectComplete(FIRST)
    expect(banned).toEqual([
      expect.stringMatching(/^liar malformed: block \d+: it is not the block that the next one names/),
    ])
    expect(connected).toEqual(['flaky', 'honest'])
  })

  it('writes a bounded part with each block, and fetches no more while much waits', async () => {
    const chain = createBackfill(node, RULES)
    const missing = chain.missing() as MissingBlocks
    const { highest, link, validators } = missing
    const answer = answerOf({ highest, count: 40 })
    const blocks = verifyOlderBlocks(answer, { link, validators, chainId: 'coin_76287-1' }) as readonly VerifiedBlock[]
    // Nobody decodes them before they are read.
    chain.add(blocks.map((block, index) => (index === 39 ? block : { ...block, block: new Uint8Array(200_000) })))
    expect(chain.missing()).toBe('wait')
    const written: number[] = []
    for (let batch = new WriteBatch(); written.length === 0 || batch.length > 0; ) {
      batch = new WriteBatch()
      chain.prepare()
      chain.write(batch)
      await node.write(batch, { sync: false })
      written.push(RESTORED - readCompleteFrom(node))
    }
    expect(written).toEqual([3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 40, 40])
    expect(chain.missing()).toMatchObject({ highest: highest - 40 })
    expect(() => chain.add(blocks)).toThrow('not the missing older blocks')
  })

  it('goes on where it was, after a kill at any moment', async () => {
    const few: Peer = ({ highest }) => answerOf({ highest, count: 60 })
    for (let kills = 0; openChainReader(node).base > FIRST; kills++) {
      expect(kills).toBeLessThan(20)
      let answers = 0
      const dying: Peer = (asked) => {
        if (++answers > 1) throw new Error('killed')
        return few(asked)
      }
      await run({ dying })
      const chain = openChainReader(node)
      if (chain.base < BASE) expect(describeBlocks(chain, chain.base)[0]).toBe(describeBlocks(source, chain.base)[0])
      await node.close()
      node = await Database.open(join(directory, `node-${nodes}`))
    }
    expectComplete(FIRST)
  })
})

describe('what a peer gives', () => {
  const start = (height = RESTORED): OlderBlocksStart => ({
    link: { height: height - 1, blockId: source.blockId(height - 1)!, ethereumHash: source.hash(height - 1)! },
    validators: encodeValidatorSet(source.validatorSetAt(height)!),
    chainId: 'coin_76287-1',
  })
  const asked = { highest: RESTORED - 1, count: 20 }
  const change = (
    answer: OlderBlocks,
    index: number,
    changed: Partial<OlderBlocks['blocks'][number]>,
  ): OlderBlocks => ({
    ...answer,
    blocks: answer.blocks.with(index, { ...answer.blocks[index]!, ...changed }),
  })

  it('is right when it is what the chain has', () => {
    const verified = verifyOlderBlocks(answerOf(asked), start()) as readonly VerifiedBlock[]
    expect(verified.map(({ height }) => height)).toEqual(Array.from({ length: 20 }, (_, index) => RESTORED - 1 - index))
  })

  it.each<[string, (answer: OlderBlocks) => OlderBlocks, RegExp]>([
    [
      'another round in a commit, which no hash covers',
      (answer) => {
        const block = decodeBlock(answer.blocks[2]!.block)
        const lastCommit = { ...block.lastCommit, round: block.lastCommit.round + 1 }
        return change(answer, 2, { block: encodeBlock({ ...block, lastCommit }) })
      },
      /block 8297: no validator has signed its last commit in that round/,
    ],
    [
      'a commit of another height, which no hash covers',
      (answer) => {
        const block = decodeBlock(answer.blocks[2]!.block)
        return change(answer, 2, { block: encodeBlock({ ...block, lastCommit: { ...block.lastCommit, height: 7 } }) })
      },
      /block 8297: its last commit is for another block/,
    ],
    [
      'transactions',
      (answer) => {
        const block = decodeBlock(answer.blocks[0]!.block)
        return change(answer, 0, { block: encodeBlock({ ...block, txs: [Uint8Array.of(1)] }) })
      },
      /block 8299: it has transactions/,
    ],
    [
      'a commit without a signature',
      (answer) => {
        const block = decodeBlock(answer.blocks[0]!.block)
        const lastCommit = { ...block.lastCommit, signatures: block.lastCommit.signatures.slice(1) }
        return change(answer, 0, { block: encodeBlock({ ...block, lastCommit }) })
      },
      /block 8299: its last commit is another one/,
    ],
    [
      'other validators',
      (answer) =>
        change(answer, 0, { validators: encodeValidatorSet(createValidatorSet([{ ...KEYS[0]!, power: 10n }])) }),
      /block 8299: it has other validators/,
    ],
    [
      'no validators where they change',
      (answer) => change(answer, 1, { validators: undefined }),
      /block 82\d\d: it has other validators/,
    ],
    [
      'another Ethereum header',
      (answer) => change(answer, 1, { header: answer.blocks[0]!.header }),
      /8298: its Ethereum header/,
    ],
    ['another block', (answer) => change(answer, 1, { block: answer.blocks[0]!.block }), /8298: it is not the block/],
    ['nothing', (answer) => change(answer, 1, { block: new Uint8Array(0) }), /block 8298: /],
  ])('is refused when it is %s', (_, falsify, problem) => {
    expect(verifyOlderBlocks(falsify(answerOf(asked)), start())).toMatch(problem)
  })

  it('ends where nobody is known who signed, and goes on with the validators below', () => {
    const above = { highest: 8_255, count: 10 }
    const answer = answerOf(above)
    expect(verifyOlderBlocks(answer, start(8_256))).toHaveLength(10)
    // All validators of block 8,249 are others: without them, nothing shows the round of its commit in block 8,250.
    const upTo = { highest: 8_255, count: 6 }
    expect(answerOf(upTo).below).toBeDefined()
    expect(verifyOlderBlocks(answerOf(upTo), start(8_256))).toHaveLength(6)
    expect(verifyOlderBlocks({ ...answerOf(upTo), below: undefined }, start(8_256))).toHaveLength(5)
  })

  it('gives the same blocks or none, whichever byte is another one', () => {
    const answer = answerOf({ highest: RESTORED - 1, count: 4 })
    const expected = verifyOlderBlocks(answer, start())
    const parts = answer.blocks.flatMap((_, index) =>
      (['block', 'header', 'validators'] as const).map((part) => ({ index, part })),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...parts),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        ({ index, part }, at, flip) => {
          const bytes = answer.blocks[index]![part]?.slice()
          if (bytes === undefined) return
          bytes[at % bytes.length]! ^= flip
          const found = verifyOlderBlocks(change(answer, index, { [part]: bytes }), start())
          if (typeof found !== 'string') expect(found).toEqual(expected.slice(0, found.length))
        },
      ),
      { numRuns: runs(40) },
    )
  })
})
