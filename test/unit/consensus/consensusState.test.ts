import { describe, expect, it } from 'vitest'
import { type ConsensusBlock, type ConsensusHeader, dataHash } from '../../../src/chain/comet/block.ts'
import { commitHash } from '../../../src/chain/comet/commit.ts'
import { createDuplicateVoteEvidence, evidenceHash, evidenceSize } from '../../../src/chain/comet/evidence.ts'
import { type Commit, EMPTY_COMMIT, type Evidence, NIL_BLOCK_ID } from '../../../src/chain/comet/types.ts'
import { incrementPriorities } from '../../../src/chain/comet/validatorSet.ts'
import type { ApplicationInfo } from '../../../src/consensus/application.ts'
import {
  advanceState,
  type ConsensusState,
  checkBlock,
  makeBlock,
  stateFromInfo,
} from '../../../src/consensus/consensusState.ts'
import {
  CHAIN,
  finalizeResult,
  genesisState,
  PREVOTE,
  publicKeyOf,
  Scene,
  verifyMessage,
} from '../../support/consensus/reducerHarness.ts'

const scene = new Scene({ me: 3 })
for (let height = 1; height <= 3; height++) scene.decideHeight()
const { state } = scene.rs
const good = scene.block({ proposer: 0 })

function infoOf(of: ConsensusState): ApplicationInfo {
  const { lastHeight: height, lastBlockId, lastSeenCommit, ...rest } = of
  return height === 0
    ? { ...rest, height, lastBlockId: undefined, lastSeenCommit: undefined }
    : { ...rest, height, lastBlockId, lastSeenCommit }
}

const withHeader = (change: Partial<ConsensusHeader>): ConsensusBlock => ({
  ...good,
  header: { ...good.header, ...change },
})

function withCommit(change: Partial<Commit>): ConsensusBlock {
  const lastCommit = { ...good.lastCommit, ...change }
  return { ...withHeader({ lastCommitHash: commitHash(lastCommit) }), lastCommit }
}

function withForgedCommit(): ConsensusBlock {
  const [first, ...rest] = good.lastCommit.signatures
  return withCommit({ signatures: [{ ...first!, signature: new Uint8Array(64) }, ...rest] })
}

function evidenceOf(index: number): Evidence {
  const other = { hash: new Uint8Array(32), partSetHeader: { total: 1, hash: new Uint8Array(32) } }
  const votes = [scene.vote(index, PREVOTE, 0, undefined, 2), scene.vote(index, PREVOTE, 0, other, 2)] as const
  return createDuplicateVoteEvidence(...votes, { validators: state.validators, timeMs: state.lastBlockTimeMs })
}

function withEvidence(evidence: readonly Evidence[]): ConsensusBlock {
  return { ...withHeader({ evidenceHash: evidenceHash(evidence) }), evidence }
}

const hash = new Uint8Array(32).fill(7)
const blockId = { hash, partSetHeader: { total: 1, hash } }

describe('a block', () => {
  it('made from the state fits it', () => {
    expect(checkBlock(state, good, verifyMessage)).toBeUndefined()
  })

  it.each([
    { what: 'another height', block: withHeader({ height: state.lastHeight + 2 }), reason: /^height is/ },
    { what: 'another block version', block: withHeader({ version: { block: 10, app: 0 } }), reason: /^version/ },
    { what: 'another application version', block: withHeader({ version: { block: 11, app: 1 } }), reason: /^version/ },
    { what: 'another chain ID', block: withHeader({ chainId: 'coin_7628-1' }), reason: /^chain ID/ },
    { what: 'another parent', block: withHeader({ lastBlockId: NIL_BLOCK_ID }), reason: /^last block ID/ },
    { what: "its parent's time", block: withHeader({ timeMs: state.lastBlockTimeMs }), reason: /^time/ },
    { what: 'another last commit', block: { ...good, lastCommit: EMPTY_COMMIT }, reason: /^lastCommitHash/ },
    { what: 'a forged last commit', block: withForgedCommit(), reason: /^last commit: signature 0 is wrong/ },
    { what: 'a last commit of another height', block: withCommit({ height: 1 }), reason: /^last commit: .* height 1/ },
    {
      what: 'a last commit of another block',
      block: withCommit({ blockId }),
      reason: /^last commit: .* another block/,
    },
    { what: 'a last commit of another round', block: withCommit({ round: 1 }), reason: /^last commit: .* is wrong/ },
    { what: 'other transactions', block: { ...good, txs: [] }, reason: /^dataHash/ },
    { what: 'other validators', block: withHeader({ validatorsHash: hash }), reason: /^validatorsHash/ },
    { what: 'other next validators', block: withHeader({ nextValidatorsHash: hash }), reason: /^nextValidatorsHash/ },
    { what: 'other parameters', block: withHeader({ consensusHash: hash }), reason: /^consensusHash/ },
    { what: 'another state', block: withHeader({ appHash: hash }), reason: /^appHash is 0x0707/ },
    { what: 'other results', block: withHeader({ lastResultsHash: hash }), reason: /^lastResultsHash/ },
    { what: 'other evidence', block: withHeader({ evidenceHash: hash }), reason: /^evidenceHash/ },
    { what: 'an unknown proposer', block: withHeader({ proposerAddress: hash.subarray(12) }), reason: /^proposer/ },
  ])('with $what does not', ({ block, reason }) => {
    const problem = checkBlock(state, block, verifyMessage)
    expect(problem).toMatch(reason)
    // Signatures that were verified before are all that is taken for granted.
    const isOfSignature = /signature \d+ is wrong/.test(problem!)
    expect(checkBlock(state, block, 'verified')).toBe(isOfSignature ? undefined : problem)
  })

  it('checks the signatures of its last commit with ed25519 unless told otherwise', () => {
    expect(checkBlock(state, good)).toBe('last commit: signature 0 is wrong')
  })

  it('may hold evidence up to the limit of the chain', () => {
    const evidence = [0, 1].map(evidenceOf)
    const limit = (maxBytes: number): ConsensusState => ({ ...state, evidence: { maxBytes } })
    const block = withEvidence(evidence)
    const size = evidenceSize(evidence)
    expect(checkBlock(limit(size), block, verifyMessage)).toBeUndefined()
    expect(checkBlock(limit(size - 1), block, verifyMessage)).toBe(
      `${size} bytes of evidence are more than ${size - 1}`,
    )
    expect(checkBlock(state, { ...block, evidence: [] }, verifyMessage)).toMatch(/^evidenceHash/)
  })

  it('at height 1 has no last commit', () => {
    const genesis = genesisState()
    const first = makeBlock(genesis, {
      txs: [],
      evidence: [],
      dataHash: dataHash([]),
      timeMs: genesis.lastBlockTimeMs + 1,
      proposerAddress: genesis.validators.validators[0]!.address,
      lastCommit: EMPTY_COMMIT,
    })
    expect(checkBlock(genesis, first, verifyMessage)).toBeUndefined()
    const { lastCommit } = good
    const header = { ...first.header, lastCommitHash: commitHash(lastCommit) }
    expect(checkBlock(genesis, { ...first, header, lastCommit }, verifyMessage)).toBe(
      'the first block has a last commit',
    )
  })
})

describe('the state', () => {
  it.each([
    { what: 'the last block', of: state },
    { what: 'the genesis', of: genesisState() },
  ])('comes back from what the application knows of $what', ({ of }) => {
    expect(stateFromInfo(CHAIN, infoOf(of))).toEqual({ ...of, evidence: CHAIN.evidence })
  })

  it('cannot be had from an application that lost the commit', () => {
    expect(() => stateFromInfo(CHAIN, { ...infoOf(state), lastSeenCommit: undefined })).toThrow(/not its ID and commit/)
  })

  it('passes the validators on, and takes changes in two heights later', () => {
    const decided = { block: good, blockId, seenCommit: good.lastCommit }
    const joining = { publicKey: publicKeyOf(9), power: 3n }
    const next = advanceState(state, decided, finalizeResult(state.lastHeight + 1, [joining]))
    expect(next.lastValidators).toBe(state.validators)
    expect(next.validators).toBe(state.nextValidators)
    expect(next.nextValidators.validators.at(-1)).toMatchObject(joining)
    const same = advanceState(state, decided, finalizeResult(state.lastHeight + 1))
    expect(same.nextValidators).toEqual(incrementPriorities(state.nextValidators, 1))
  })

  it('refuses changes that cannot be made', () => {
    const decided = { block: good, blockId, seenCommit: good.lastCommit }
    const result = finalizeResult(4, [{ publicKey: publicKeyOf(9), power: 0n }])
    expect(() => advanceState(state, decided, result)).toThrow(TypeError)
  })
})
