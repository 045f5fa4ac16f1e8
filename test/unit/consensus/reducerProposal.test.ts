import { describe, expect, it } from 'vitest'
import { PART_SIZE } from '../../../src/chain/comet/partSet.ts'
import { NIL_BLOCK_ID, type Proposal, type UnsignedProposal } from '../../../src/chain/comet/types.ts'
import { proposalSignBytes } from '../../../src/chain/comet/vote.ts'
import { CandidateBlock } from '../../../src/consensus/candidateBlock.ts'
import {
  isTimely,
  MAX_MESSAGE_DELAY_MS,
  MAX_TIMEOUT_MS,
  messageDelayMs,
  timeoutMs,
} from '../../../src/consensus/timing.ts'
import {
  CHAIN,
  candidateFor,
  GENESIS_TIME_MS,
  PREVOTE,
  Scene,
  signMessage,
  TIMING,
} from '../../support/consensus/reducerHarness.ts'

const ME = 3
const HASH = new Uint8Array(32).fill(8)

function started(): Scene {
  const scene = new Scene({ me: ME })
  scene.start()
  return scene
}

function resigned(scene: Scene, change: Partial<UnsignedProposal>): Proposal {
  const unsigned = { ...scene.proposal(scene.candidate(0), 0), ...change }
  return {
    ...unsigned,
    signature: signMessage(scene.validators[0]!.publicKey, proposalSignBytes(CHAIN.chainId, unsigned)),
  }
}

describe('a proposal', () => {
  it.each([
    { what: 'with a proof-of-lock round of its own', change: { polRound: 0 } },
    { what: 'with a proof-of-lock round below -1', change: { polRound: -2 } },
    { what: 'of nothing', change: { blockId: NIL_BLOCK_ID } },
    {
      what: 'of a block with more parts than one may have',
      change: { blockId: { hash: new Uint8Array(32), partSetHeader: { total: 32, hash: new Uint8Array(32) } } },
    },
    {
      what: 'of a block without parts',
      change: { blockId: { hash: new Uint8Array(32), partSetHeader: { total: 0, hash: new Uint8Array(32) } } },
    },
  ])('$what is malformed', ({ change }) => {
    const scene = started()
    scene.input({ kind: 'proposal', proposal: resigned(scene, change), receivedMs: 0, from: 'liar' })
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: 'malformed' }])
    expect(scene.rs.proposal).toBeUndefined()
  })

  it('that its proposer did not sign is refused', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.propose(block, 0, { by: 1 })
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'peer', what: 'bad signature' }])
    scene.propose(block, 0)
    expect(scene.rs.proposal?.blockId).toEqual(block.blockId)
  })

  it.each([
    { what: 'an earlier height', change: { height: 0 } },
    { what: 'a height far ahead', change: { height: 3 } },
    { what: 'a round far ahead', change: { round: 2 } },
  ])('of $what is ignored without a look at its signature', ({ change }) => {
    const scene = started()
    scene.clear()
    const proposal = { ...scene.proposal(scene.candidate(0), 0), ...change, signature: new Uint8Array(64) }
    scene.input({ kind: 'proposal', proposal, receivedMs: 0, from: 'peer' })
    expect(scene.effects).toEqual([])
  })

  it.each([
    { what: 'in time', receivedMs: 0, timestampMs: 0, prevote: 'block' },
    { what: 'as late as it may', receivedMs: 3500, timestampMs: 0, prevote: 'block' },
    {
      what: 'too late',
      receivedMs: 3501,
      timestampMs: 0,
      prevote: 'nil',
      reason: /^prevote is nil: the proposal is not timely/,
    },
    { what: 'as early as it may', receivedMs: -500, timestampMs: 0, prevote: 'block' },
    { what: 'too early', receivedMs: -501, timestampMs: 0, prevote: 'nil', reason: /not timely/ },
    {
      what: "with a time that is not the block's",
      receivedMs: 0,
      timestampMs: 1,
      prevote: 'nil',
      reason: /time is not the block's/,
    },
  ])('$what gets the prevote $prevote', ({ receivedMs, timestampMs, prevote, reason }) => {
    const scene = started()
    const block = scene.candidate(0)
    const atMs = block.block!.header.timeMs
    scene.proposeWhole(block, 0, { timestampMs: atMs + timestampMs, receivedMs: atMs + receivedMs })
    expect(scene.votes()).toEqual([`prevote 0 ${prevote}`])
    if (reason !== undefined) expect(scene.logged().at(-1)).toMatch(reason)
  })

  it('of this node itself is timely whatever its clock has done', () => {
    const scene = new Scene({ me: 0 })
    scene.start()
    expect(scene.votes()).toEqual(['prevote 0 block'])
  })

  it.each([
    { what: 'application hash', change: { appHash: new Uint8Array(32) }, reason: /appHash is/ },
    {
      what: 'parent',
      change: { lastBlockId: { hash: HASH, partSetHeader: { total: 1, hash: HASH } } },
      reason: /last block ID/,
    },
    { what: 'chain', change: { chainId: 'coin_7628-1' }, reason: /chain ID is/ },
    { what: 'time', change: { timeMs: GENESIS_TIME_MS }, reason: /time is not after/ },
    { what: 'validators', change: { validatorsHash: new Uint8Array(32) }, reason: /validatorsHash is/ },
    { what: 'evidence', change: { evidenceHash: new Uint8Array(32) }, reason: /evidenceHash is/ },
    { what: 'data', change: { dataHash: new Uint8Array(32) }, reason: /dataHash is/ },
    { what: 'height', change: { height: 2 }, reason: /height is 2/ },
    { what: 'proposer', change: { proposerAddress: new Uint8Array(20) }, reason: /proposer is not a validator/ },
  ])('of a block with a wrong $what gets nil, and nobody is asked about it', ({ change, reason }) => {
    const scene = started()
    const good = scene.block({ proposer: 0 })
    scene.proposeBlock({ ...good, header: { ...good.header, ...change } }, 0)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    expect(scene.logged().at(-1)).toMatch(reason)
    expect(scene.all('validate')).toEqual([])
    expect(scene.all('halt')).toEqual([])
  })

  it('of parts that are no block gets nil', () => {
    const scene = started()
    const { parts } = scene.candidate(0)
    const hash = new Uint8Array(32).fill(3)
    // The parts are as announced; what is in them is another block than the hash says.
    const candidate = new CandidateBlock({ hash, partSetHeader: scene.candidate(0).header })
    for (const part of parts) candidate.add(part)
    scene.propose(candidate, 0, { timestampMs: GENESIS_TIME_MS + 400 })
    scene.parts(candidate)
    expect(scene.logged().at(-1)).toBe('prevote is nil: the header has another hash')
  })

  it('of a block that is larger than it may be gets nil', () => {
    const scene = started()
    const txs = [new Uint8Array(2_000_100)]
    const block = scene.block({ proposer: 0, txs })
    const candidate = candidateFor(block)
    expect(candidate.header.total).toBe(31)
    scene.proposeBlock(block, 0)
    expect(scene.logged().at(-1)).toMatch(/^prevote is nil: the block has \d+ bytes, more than 2000000/)
  })
})

describe('a part', () => {
  const txs = [new Uint8Array(PART_SIZE * 2)]

  it('without a proposal is ignored', () => {
    const scene = started()
    scene.clear()
    scene.parts(scene.candidate(0))
    expect(scene.effects).toEqual([])
  })

  it('of another block is ignored, for it may be an honest one', () => {
    const scene = started()
    const block = scene.candidate(0, { txs })
    scene.propose(block, 0)
    scene.clear()
    scene.parts(scene.candidate(0, { txs: [new Uint8Array(PART_SIZE * 2).fill(1)] }))
    expect(scene.effects).toEqual([])
  })

  it.each([
    { what: "whose place is not its proof's", change: { index: 1 } },
    { what: 'that is empty', change: { bytes: new Uint8Array() } },
    { what: 'that is too large', change: { bytes: new Uint8Array(PART_SIZE + 1) } },
  ])('$what is malformed', ({ change }) => {
    const scene = started()
    const block = scene.candidate(0, { txs })
    scene.propose(block, 0)
    const part = { ...block.parts[0]!, ...change }
    scene.input({ kind: 'part', height: 1, round: 0, part, from: 'liar' })
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: 'malformed' }])
  })

  it('counts once', () => {
    const scene = started()
    const block = scene.candidate(0, { txs })
    scene.propose(block, 0)
    for (const part of [block.parts[1]!, block.parts[1]!, block.parts[0]!]) {
      scene.input({ kind: 'part', height: 1, round: 0, part, from: 'peer' })
    }
    expect(scene.all('accepted')).toHaveLength(3)
    expect(scene.votes()).toEqual([])
    scene.parts(block)
    expect(scene.votedFor(PREVOTE, 0)).toEqual(block.blockId)
  })
})

describe('times', () => {
  it.each([
    { round: 0, delayMs: 3000 },
    { round: 1, delayMs: 3300 },
    { round: 2, delayMs: 3630 },
    { round: 3, delayMs: 3993 },
    { round: 4, delayMs: 4392 },
    { round: 1_000_000, delayMs: MAX_MESSAGE_DELAY_MS },
  ])('let a proposal of round $round travel for $delayMs ms', ({ round, delayMs }) => {
    expect(messageDelayMs(round, TIMING)).toBe(delayMs)
    expect(isTimely(10_000, 10_000 + delayMs + 500, round, TIMING)).toBe(true)
    expect(isTimely(10_000, 10_000 + delayMs + 501, round, TIMING)).toBe(false)
  })

  it('grow from the smallest delay, too', () => {
    expect(messageDelayMs(3, { messageDelayMs: 1 })).toBe(4)
  })

  it.each([
    { round: 0, propose: 700, vote: 200 },
    { round: 2, propose: 700, vote: 200 },
    { round: 3, propose: 900, vote: 300 },
    { round: 4, propose: 1100, vote: 400 },
    { round: 2 ** 31 - 1, propose: MAX_TIMEOUT_MS, vote: MAX_TIMEOUT_MS },
  ])('of timeouts in round $round are $propose and $vote ms', ({ round, propose, vote }) => {
    expect(timeoutMs('propose', round, TIMING)).toBe(propose)
    expect(timeoutMs('prevote', round, TIMING)).toBe(vote)
    expect(timeoutMs('precommit', round, TIMING)).toBe(vote)
  })
})
