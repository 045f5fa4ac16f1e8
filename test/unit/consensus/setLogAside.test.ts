import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { encodeBlock } from '../../../src/chain/comet/block.ts'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import type { ValidatorSet, Vote } from '../../../src/chain/comet/types.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { setLogAside } from '../../../src/consensus/setLogAside.ts'
import { openWal } from '../../../src/consensus/wal.ts'
import type { WalEntry } from '../../../src/consensus/walEntry.ts'
import {
  type NetworkNode,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  voteFor,
} from '../../support/execution/testNetwork.ts'

const HEAD = 9

let node: NetworkNode
/** the chain's blocks, and those of another history from block 5 on */
const chain: DecidedBlock[] = []
const other: DecidedBlock[] = []
let validators: ValidatorSet

beforeAll(async () => {
  for (const [history, absent] of [
    [chain, []],
    [other, [1]],
  ] as const) {
    node = await openNetworkNode(networkGenesis(4))
    let state = await node.state()
    validators = state.validators
    for (let height = 1; height <= HEAD; height++) {
      // Another commit makes another last commit in the next block.
      const block = await proposeBlock(node, state, { absent: height === 4 ? absent : [] })
      history[height] = block
      state = advanceState(state, block, await node.executor.application.finalizeBlock(block))
    }
    await node.close()
  }
})
afterAll(() => expect(chain[5]!.blockId).not.toEqual(other[5]!.blockId))

let home: string
let directory: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'coind-aside-'))
  directory = join(home, 'wal')
})
afterEach(() => rmSync(home, { recursive: true }))

const wal = () => ({ directory, genesisHash: node.chain.genesisHash, randomBytes, warn: () => undefined })

/** Writes a log that decided these blocks and then signed a vote for `signed`. */
async function writeLog(blocks: readonly DecidedBlock[], signed: number): Promise<void> {
  const log = await openWal(wal(), () => undefined)
  for (const { block, seenCommit } of blocks) {
    const { height } = block.header
    for (const part of createPartSet(encodeBlock(block)).parts) log.append({ kind: 'part', height, round: 0, part })
    log.append({ kind: 'commit', commit: seenCommit })
    log.append({ kind: 'endHeight', height })
  }
  log.append({ kind: 'vote', vote: voteOf(signed) })
  await log.close()
}

function voteOf(height: number): Vote {
  const at = { chainId: node.chain.chainId, validators, height, index: 0, timestampMs: 1 }
  return voteFor('a', at)
}

async function entries(path = directory): Promise<readonly WalEntry[]> {
  const read: WalEntry[] = []
  const log = await openWal({ ...wal(), directory: path }, (entry) => read.push(entry))
  await log.close()
  return read
}

function restored(height: number): Promise<string | undefined> {
  const head = { height, blockId: chain[height]!.blockId }
  const options = {
    wal: wal(),
    evidenceDirectory: join(directory, 'evidence'),
    chainId: node.chain.chainId,
    maxBlockBytes: node.chain.maxBlockBytes,
  }
  return setLogAside(options, head)
}

const lastSigned = (height: number) => [{ kind: 'lastSigned', entry: { kind: 'vote', vote: voteOf(height) } }]
const kinds = async () => (await entries()).map(({ kind }) => kind)

test.each<[string, () => readonly DecidedBlock[], number]>([
  ['ends before the head', () => chain.slice(2, 5), 7],
  ['ends with the head', () => chain.slice(3, 8), 7],
  ['goes on with blocks that follow the head', () => chain.slice(5, 10), 7],
  ['begins right after the head', () => chain.slice(8, 10), 7],
  ['decided nothing', () => [], 7],
])('a log stays that %s', async (_, blocks, height) => {
  await writeLog(blocks(), height + 1)
  const before = await kinds()
  expect(await restored(height)).toBeUndefined()
  expect(await kinds()).toEqual(before)
  expect(readdirSync(home)).toEqual(['wal'])
})

test.each<[string, () => readonly DecidedBlock[], number]>([
  ['is ahead with a gap', () => chain.slice(8, 10), 6],
  ['decided another block of the same height', () => other.slice(3, 8), 7],
  ['decided blocks that follow another one', () => other.slice(8, 10), 7],
])('a log is set aside that %s, and the signer keeps its memory', async (_, blocks, height) => {
  await writeLog(blocks(), 12)
  const before = await entries()
  const aside = await restored(height)
  expect(aside).toBe(`${directory}.aside-${height}`)
  expect(await entries(aside)).toEqual(before)
  expect(await entries()).toEqual(lastSigned(12))
  // Again, as after a crash at the end: nothing more happens.
  expect(await restored(height)).toBeUndefined()
  expect(await entries()).toEqual(lastSigned(12))
})

test('pending evidence stays, and the name of an earlier log is not taken', async () => {
  await writeLog(other.slice(3, 8), 12)
  mkdirSync(join(directory, 'evidence'))
  writeFileSync(join(directory, 'evidence', 'a'), 'pending')
  mkdirSync(join(home, 'wal.aside-7'))
  expect(await restored(7)).toBe(`${directory}.aside-7-2`)
  expect(readFileSync(join(directory, 'evidence', 'a'), 'utf8')).toBe('pending')
})

test('an interrupted change is finished: there is never a node without the memory of its signer', async () => {
  await writeLog(other.slice(3, 8), 12)
  // Killed while the new log was written: the old one counts.
  mkdirSync(`${directory}.new`)
  writeFileSync(join(`${directory}.new`, '00000001.wal'), 'half')
  expect(await restored(7)).toBeDefined()
  expect(await entries()).toEqual(lastSigned(12))
  // Killed between the two renames.
  renameSync(directory, `${directory}.new`)
  expect(await restored(7)).toBeUndefined()
  expect([await entries(), existsSync(`${directory}.new`)]).toEqual([lastSigned(12), false])
})

test('a node that never had a log gets none', async () => {
  expect(await restored(7)).toBeUndefined()
  expect(readdirSync(home)).toEqual([])
})
