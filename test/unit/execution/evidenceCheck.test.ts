import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsensusBlock, dataHash } from '../../../src/chain/comet/block.ts'
import {
  blockIdKey,
  createDuplicateVoteEvidence,
  evidenceHash,
  evidenceSize,
} from '../../../src/chain/comet/evidence.ts'
import type { Evidence } from '../../../src/chain/comet/types.ts'
import { writeOldestBlocks } from '../../../src/chain/store/chainReader.ts'
import type { EvidenceVerdict } from '../../../src/consensus/application.ts'
import { advanceState, type ConsensusState, makeBlock } from '../../../src/consensus/consensusState.ts'
import {
  checkBlockEvidence,
  chooseEvidence,
  KnownEvidence,
  verifyEvidence,
} from '../../../src/execution/evidenceCheck.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database } from '../../../src/storage/database.ts'
import { GENESIS_TIME_MS } from '../../support/execution/testChain.ts'
import {
  blockTimeMs,
  decide,
  equivocation,
  type NetworkNode,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
  testValidator,
  voteFor,
} from '../../support/execution/testNetwork.ts'
import { makePunishable } from '../../support/modules/slashing/makePunishable.ts'
import { setPower } from '../../support/modules/staking/setPower.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const CHAIN_ID = 'coin_76287-1'
const HEIGHTS = 12
/** Evidence is expired when it is more than 6 blocks and more than 3,000 ms old: blocks are 400 ms apart. */
const MAX_AGE = { maxAgeBlocks: 6, maxAgeMs: 3_000 }

let node: NetworkNode
/** before the block after that height */
const states: ConsensusState[] = []

const validatorsAt = (height: number) => states[height - 1]!.validators
const made = (height: number, index: number, other: Partial<Parameters<typeof equivocation>[2]> = {}) =>
  equivocation(CHAIN_ID, validatorsAt(height), { height, index, ...other })
const good = () => made(9, 0)

async function extend(evidence: readonly Evidence[] = []): Promise<ConsensusBlock> {
  const state = states.at(-1)!
  const decided = await proposeBlock(node, state, { evidence })
  states.push(advanceState(state, decided, await node.executor.application.finalizeBlock(decided)))
  return decided.block
}

beforeAll(async () => {
  const hooks = scriptedHooks((height, world) => {
    const power = (index: number, value: bigint) => {
      const { operator, key } = testValidator(index)
      const context = { world, block: { height, timeMs: blockTimeMs(height) } }
      setPower(context, { operator, publicKey: key.publicKey, power: value })
    }
    if (height === 2) power(4, 500n)
    if (height === 6) power(0, 0n)
  })
  node = await openNetworkNode(networkGenesis(4), { hooks, maxAge: MAX_AGE })
  states.push(await node.state())
  for (let height = 1; height < HEIGHTS; height++) await extend()
  // Reported in block 12.
  expect((await extend([made(10, 1)])).evidence).toHaveLength(1)
})
afterAll(() => node.close())

const invalid = (reason: RegExp) => ({ verdict: 'invalid', reason: expect.stringMatching(reason) })

describe('verdict on evidence', () => {
  it.each<[string, () => Evidence, object]>([
    ['true evidence', good, { verdict: 'valid' }],
    ['of the newest block', () => made(HEIGHTS, 3), { verdict: 'valid' }],
    ['of prevotes', () => made(9, 0, { type: 1 }), { verdict: 'valid' }],
    ['of a later round', () => made(9, 0, { round: 3 }), { verdict: 'valid' }],
    ['with a nil vote', () => made(9, 0, { names: [undefined, 'b'] }), { verdict: 'valid' }],
    [
      'of the next block',
      () => equivocation(CHAIN_ID, states[HEIGHTS]!.validators, { height: HEIGHTS + 1, index: 0 }),
      { verdict: 'early' },
    ],
    ['of a far block', () => ({ ...good(), ...atHeight(good(), 10 ** 9) }), { verdict: 'early' }],
    ['that a block has reported', () => made(10, 1), { verdict: 'committed' }],
    ['of another height against a validator that is tombstoned', () => made(9, 1), { verdict: 'unpunishable' }],
    [
      'other votes of that validator and height',
      () => made(10, 1, { round: 2, names: ['x', 'y'] }),
      { verdict: 'committed' },
    ],
    // 12 - 5 > 6 blocks, but 2,800 ms; 12 - 4 blocks and 3,200 ms.
    ['too old by one age only', () => made(5, 0), { verdict: 'valid' }],
    ['too old by both ages', () => made(4, 0), { verdict: 'expired' }],
    ['of one who has left since', () => made(7, 4), { verdict: 'valid' }],
    [
      'from before the genesis',
      () => made(9, 0, { timestampMs: GENESIS_TIME_MS - 1 }),
      invalid(/older than the chain/),
    ],
    [
      'of two votes of different heights',
      () => ({ ...good(), voteB: made(8, 0).voteB }),
      invalid(/same height, round and step/),
    ],
    [
      'of two votes of different rounds',
      () => ({ ...good(), voteB: made(9, 0, { round: 1 }).voteB }),
      invalid(/same height, round and step/),
    ],
    [
      'of two votes of different steps',
      () => ({ ...good(), voteB: made(9, 0, { type: 1 }).voteB }),
      invalid(/same height, round and step/),
    ],
    ['of two validators', () => ({ ...good(), voteB: made(9, 1).voteB }), invalid(/two validators/)],
    ['of the same vote twice', () => ({ ...good(), voteB: good().voteA }), invalid(/same block/)],
    [
      'of votes that differ in time',
      () => ({ ...good(), voteB: made(9, 0, { timestampMs: blockTimeMs(9) + 9 }).voteA }),
      invalid(/same block/),
    ],
    ['in the wrong order', () => ({ ...good(), voteA: good().voteB, voteB: good().voteA }), invalid(/wrong order/)],
    ['with another power', () => ({ ...good(), validatorPower: 1n }), invalid(/power is 1, not 500/)],
    ['with another total power', () => ({ ...good(), totalVotingPower: 1n }), invalid(/total power is 1, not/)],
    ['with another time', () => ({ ...good(), timestampMs: blockTimeMs(9) + 1 }), invalid(/the time differs/)],
    [
      'with another index',
      () => ({ ...good(), voteA: { ...good().voteA, validatorIndex: 1 } }),
      invalid(/wrong index/),
    ],
    ['with a bad first signature', () => withSignature('voteA'), invalid(/signature is wrong/)],
    ['with a bad second signature', () => withSignature('voteB'), invalid(/signature is wrong/)],
    [
      'of another chain',
      () => equivocation('coin_1-1', validatorsAt(9), { height: 9, index: 0 }),
      invalid(/signature is wrong/),
    ],
    ['of one who had left before', () => afterItLeft(), invalid(/was not a validator at height 8/)],
  ])('%s', async (_, make, expected) => {
    expect(await node.executor.application.checkEvidence(make())).toEqual(expected as EvidenceVerdict)
  })
})

/** The votes' height is changed, whatever else follows from it. */
function atHeight({ voteA, voteB }: Evidence, height: number): Pick<Evidence, 'voteA' | 'voteB'> {
  return { voteA: { ...voteA, height }, voteB: { ...voteB, height } }
}

function withSignature(name: 'voteA' | 'voteB'): Evidence {
  const evidence = good()
  return { ...evidence, [name]: { ...evidence[name], signature: new Uint8Array(64).fill(1) } }
}

/** Validator 0 acts until height 7. */
function afterItLeft(): Evidence {
  const at = { chainId: CHAIN_ID, validators: validatorsAt(7), height: 8, index: 4, timestampMs: blockTimeMs(8) }
  return createDuplicateVoteEvidence(voteFor('a', at), voteFor('b', at), { ...at, timeMs: blockTimeMs(8) })
}

describe('evidence in a block', () => {
  /** The next block with this evidence, whatever the application thinks of it. */
  async function blockWith(evidence: readonly Evidence[]): Promise<ConsensusBlock> {
    const state = states.at(-1)!
    const { block } = await proposeBlock(node, state)
    const { timeMs, proposerAddress } = block.header
    const content = { txs: [], evidence, dataHash: dataHash([]), timeMs, proposerAddress, lastCommit: block.lastCommit }
    return makeBlock(state, content)
  }

  it.each<[string, () => readonly Evidence[], RegExp]>([
    ['is invalid', () => [good(), withSignature('voteB')], /evidence 1 is invalid: a signature is wrong/],
    ['is expired', () => [made(4, 0)], /evidence 0 is expired/],
    ['is committed', () => [made(10, 1)], /evidence 0 is committed/],
    [
      'is of this block',
      () => [equivocation(CHAIN_ID, states[HEIGHTS]!.validators, { height: HEIGHTS + 1, index: 0 })],
      /evidence 0 is early/,
    ],
    ['is there twice', () => [good(), good()], /evidence 1 accuses a validator that earlier evidence accuses/],
    [
      'is of a validator that is there already',
      () => [good(), made(8, 0)],
      /evidence 1 accuses a validator that earlier evidence accuses/,
    ],
  ])('that %s makes a proposal invalid, and halts a node that is told it was decided', async (_, make, reason) => {
    const block = await blockWith(make())
    const { application } = node.executor
    expect(await application.processProposal(block)).toEqual({ accepted: false, reason: expect.stringMatching(reason) })
    const decided = decide(block, states.at(-1)!)
    await expect(application.finalizeBlock(decided)).rejects.toThrow(reason)
    await expect(application.finalizeBlock({ ...decided, catchingUp: true })).rejects.toThrow(
      /its evidence does not match/,
    )
    expect((await application.info()).height).toBe(HEIGHTS)
  })

  it('is chosen by a proposer in order, one piece for a validator, without what is not valid, as far as it fits', async () => {
    const state = states.at(-1)!
    const pending = [
      made(4, 0),
      made(6, 0),
      good(),
      made(9, 0, { round: 1 }),
      withSignature('voteA'),
      made(7, 1),
      made(7, 2),
      made(10, 1),
    ]
    const { block } = await proposeBlock(node, state, { evidence: pending })
    // Validator 1 is tombstoned.
    const chosen = [pending[1], pending[6]] as Evidence[]
    expect(block.evidence).toEqual(chosen)
    expect(block.header.evidenceHash).toEqual(evidenceHash(chosen))
    expect(await node.executor.application.processProposal(block)).toEqual({ accepted: true })

    const small = await openNetworkNode(networkGenesis(4), {
      maxEvidenceBytes: Math.floor(evidenceSize([made(9, 1)]) * 1.5),
    })
    try {
      let at = await small.state()
      for (const _ of [1, 2]) {
        const decided = await proposeBlock(small, at)
        at = advanceState(at, decided, await small.executor.application.finalizeBlock(decided))
      }
      const [first, second] = [1, 2].map((index) => equivocation(CHAIN_ID, at.validators, { height: 1, index })) as [
        Evidence,
        Evidence,
      ]
      const proposed = await proposeBlock(small, at, { evidence: [first, second] })
      expect(proposed.block.evidence).toEqual([first])
      const content = { ...proposed.block, ...proposed.block.header, evidence: [first, second] }
      const over = await small.executor.application.processProposal(makeBlock(at, content))
      expect(over).toEqual({ accepted: false, reason: expect.stringMatching(/evidence has \d+ bytes, the maximum/) })
    } finally {
      await small.close()
    }
  })

  it('is part of what is executed: the block with it has another state than the one without', async () => {
    const genesis = networkGenesis(4)
    const hashes = []
    for (const isReported of [false, true]) {
      const copy = await openNetworkNode(genesis)
      let at = await copy.state()
      const evidence = equivocation(CHAIN_ID, at.validators, { height: 1, index: 2 })
      for (const pending of [[], isReported ? [evidence] : []]) {
        // Both are built before one is decided: the execution of the one must not be taken for the other's.
        await proposeBlock(copy, at, { evidence: isReported ? [] : [evidence] })
        const decided = await proposeBlock(copy, at, { evidence: pending })
        at = advanceState(at, decided, await copy.executor.application.finalizeBlock(decided))
      }
      hashes.push(bytesToHex(copy.executor.head().header.stateRoot))
      await copy.close()
    }
    expect(hashes[0]).not.toBe(hashes[1])
  })
})

describe('evidence of a block below the base of the chain', () => {
  it('is neither proposed nor voted for, and in a decided block it is taken as judged, once', async () => {
    const genesis = networkGenesis(4)
    const whole = await openNetworkNode(genesis)
    const restored = await openNetworkNode(genesis)
    try {
      let state = await whole.state()
      const advance = async (evidence: readonly Evidence[] = []) => {
        const decided = await proposeBlock(whole, state, { evidence })
        const result = await whole.executor.application.finalizeBlock(decided)
        return { decided, result, after: advanceState(state, decided, result) }
      }
      for (let height = 1; height <= 8; height++) {
        const { decided, after } = await advance()
        await restored.executor.application.finalizeBlock(decided)
        state = after
      }
      const database = await Database.open(restored.location)
      const batch = new WriteBatch()
      writeOldestBlocks(batch, { base: 6, oldestBlock: 8 })
      await database.write(batch, { sync: true })
      await database.close()

      const [below, above] = [5, 6].map((height) =>
        equivocation(CHAIN_ID, state.validators, { height, index: height - 5 }),
      ) as [Evidence, Evidence]
      const { application } = restored.executor
      expect(await application.checkEvidence(below)).toEqual({ verdict: 'early' })
      expect(await application.checkEvidence(above)).toEqual({ verdict: 'valid' })
      const own = await proposeBlock(restored, state, { evidence: [below, above] })
      expect(own.block.evidence).toEqual([above])

      const { decided, result, after } = await advance([below])
      expect(decided.block.evidence).toEqual([below])
      // Without a verdict: a node that refused it would halt when the others decide it.
      expect(await application.processProposal(decided.block)).toBeUndefined()
      expect(await application.finalizeBlock(decided)).toEqual(result)
      // The fault is known now: another block may not report it again.
      const again = makeBlock(after, { ...decided.block, ...decided.block.header, evidence: [below] })
      await expect(application.finalizeBlock(decide(again, after))).rejects.toThrow(/evidence 0 is committed/)
    } finally {
      await whole.close()
      await restored.close()
    }
  })
})

describe('the work for evidence', () => {
  /** A chain that counts what is read; the validator of `index` can be punished unless it is in `tombstoned`. */
  function countedChain(base = 0) {
    const reads = { sets: 0, times: [] as number[] }
    const native = new Journal(new MemoryStateReader()).native
    for (let index = 0; index < 4; index++) makePunishable(native, validatorsAt(9).validators[index]!)
    const reader = {
      base,
      blockTimeMs: (height: number) => {
        reads.times.push(height)
        return height < base ? undefined : blockTimeMs(height)
      },
      validatorSetAt: (height: number) => {
        reads.sets++
        return height < base ? undefined : validatorsAt(height)
      },
    }
    const chain = { chainId: CHAIN_ID, genesisTimeMs: GENESIS_TIME_MS, evidence: { ...MAX_AGE, maxBytes: 1 << 20 } }
    const head = { height: HEIGHTS, timeMs: blockTimeMs(HEIGHTS) }
    return { from: { chain, head, reader, native, known: new KnownEvidence() }, reads }
  }

  it('ends before a block is read for votes that no validator has signed, and before anything for what has expired', () => {
    const { from, reads } = countedChain()
    for (let height = 5; height <= HEIGHTS; height++) {
      const evidence = made(height, 1)
      const forged = { ...evidence, voteB: { ...evidence.voteB, signature: new Uint8Array(64).fill(7) } }
      expect(verifyEvidence(forged, from)).toEqual(invalid(/signature is wrong/))
    }
    expect(reads.times).toEqual([])
    reads.sets = 0
    expect(verifyEvidence(made(4, 1), from)).toEqual({ verdict: 'expired' })
    expect(reads).toEqual({ sets: 0, times: [] })
  })

  it('is some records for a validator that cannot be punished: tombstoned, unbonded or unknown', () => {
    const { from, reads } = countedChain()
    makePunishable(from.native, validatorsAt(9).validators[0]!, { tombstoned: true })
    makePunishable(from.native, validatorsAt(9).validators[1]!, { status: 'unbonded' })
    for (const index of [0, 1]) expect(verifyEvidence(made(9, index), from)).toEqual({ verdict: 'unpunishable' })
    const stranger = { ...good(), voteA: { ...good().voteA, validatorAddress: new Uint8Array(20).fill(9) } }
    expect(verifyEvidence(stranger, from)).toEqual({ verdict: 'unpunishable' })
    expect(reads).toEqual({ sets: 0, times: [] })
  })

  it('is done once for a piece, however often it is proposed', () => {
    const { from, reads } = countedChain()
    for (let round = 0; round < 10; round++) expect(checkBlockEvidence([good()], from)).toBe('valid')
    expect(reads).toEqual({ sets: 1, times: [9] })
    expect(verifyEvidence({ ...good(), timestampMs: blockTimeMs(9) + 1 }, from)).toEqual(invalid(/the time differs/))
    // What was wrong is not remembered.
    expect(verifyEvidence({ ...good(), timestampMs: blockTimeMs(9) + 1 }, from)).toEqual(invalid(/the time differs/))
  })

  it('is bounded in a block: few pieces, one for a validator', () => {
    const { from, reads } = countedChain()
    const pieces = [6, 7, 8, 9, 10].flatMap((height) => [1, 2, 3].map((index) => made(height, index)))
    expect(checkBlockEvidence(pieces, from)).toEqual({
      refused: 'the block has 15 pieces of evidence, the maximum is 4',
    })
    expect(reads).toEqual({ sets: 0, times: [] })
    expect(chooseEvidence(pieces, from)).toEqual(pieces.slice(0, 3))
    expect(checkBlockEvidence(pieces.slice(0, 3), from)).toBe('valid')
    expect(checkBlockEvidence([pieces[0]!, pieces[3]!], from)).toEqual({
      refused: 'evidence 1 accuses a validator that earlier evidence accuses',
    })
  })

  it('is none for a block below the base but the time of the base', () => {
    // Of 400 ms: block 4 is 3,200 ms old and 8 blocks below the head, block 5 2,800 ms.
    const { from, reads } = countedChain(5)
    const below = { ...made(4, 0), timestampMs: blockTimeMs(12) }
    expect(verifyEvidence(below, from)).toEqual({ verdict: 'early' })
    expect(reads).toEqual({ sets: 0, times: [5] })
    expect(checkBlockEvidence([below], from)).toBe('unknown')
    expect(checkBlockEvidence([below, below], from)).toEqual({
      refused: 'evidence 1 accuses a validator that earlier evidence accuses',
    })
  })
})

describe('order of block IDs', () => {
  it.each([
    ['nil before any block', blockIdKey(voteFor(undefined, at()).blockId), new Uint8Array()],
    [
      'the hash, then the encoded part set header',
      blockIdKey({ hash: new Uint8Array(32).fill(9), partSetHeader: { total: 300, hash: new Uint8Array(32).fill(8) } }),
      Uint8Array.of(...new Uint8Array(32).fill(9), 0x08, 0xac, 0x02, 0x12, 32, ...new Uint8Array(32).fill(8)),
    ],
  ])('is %s', (_, key, expected) => {
    expect(key).toEqual(expected)
  })

  function at() {
    const { key, address } = testValidator(0)
    const validators = { validators: [{ address, publicKey: key.publicKey, power: 1n }], totalPower: 1n }
    return { chainId: CHAIN_ID, validators, height: 1, index: 0, timestampMs: 0 }
  }
})
