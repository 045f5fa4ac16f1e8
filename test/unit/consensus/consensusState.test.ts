import { afterAll, describe, expect, it } from 'vitest'
import type { ConsensusBlock, ConsensusHeader } from '../../../src/chain/consensus/block.ts'
import { dataHash } from '../../../src/chain/consensus/blockCodec.ts'
import { commitHash } from '../../../src/chain/consensus/commitCodec.ts'
import { EMPTY_COMMIT, NIL_BLOCK_ID } from '../../../src/chain/consensus/types.ts'
import { type ConsensusState, checkBlock, makeBlock, stateFromInfo } from '../../../src/consensus/consensusState.ts'
import { FakeApplication } from './fakeApplication.ts'
import { CHAIN, KEY, removeDirectories, runUntil, temporaryDirectory } from './soloHarness.ts'

afterAll(removeDirectories)

const application = new FakeApplication()
await runUntil(3, { directory: temporaryDirectory(), application })
const state: ConsensusState = stateFromInfo(CHAIN, await application.info(), CHAIN.validators)
const good = makeBlock(state, {
  txs: [Uint8Array.of(1)],
  dataHash: dataHash([Uint8Array.of(1)]),
  timeMs: state.lastBlockTimeMs + 1,
  proposerAddress: KEY.address,
})

const withHeader = (change: Partial<ConsensusHeader>): ConsensusBlock => ({
  ...good,
  header: { ...good.header, ...change },
})
const hash = new Uint8Array(32).fill(7)

function withForgedCommit(): ConsensusBlock {
  const [sig] = good.lastCommit.signatures
  const lastCommit = { ...good.lastCommit, signatures: [{ ...sig!, signature: new Uint8Array(64) }] }
  return { ...withHeader({ lastCommitHash: commitHash(lastCommit) }), lastCommit }
}

describe('a block', () => {
  it('made from the state fits it', () => {
    expect(checkBlock(state, good)).toBeUndefined()
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
    { what: 'other transactions', block: { ...good, txs: [] }, reason: /^dataHash/ },
    { what: 'other validators', block: withHeader({ validatorsHash: hash }), reason: /^validatorsHash/ },
    { what: 'other next validators', block: withHeader({ nextValidatorsHash: hash }), reason: /^nextValidatorsHash/ },
    { what: 'other parameters', block: withHeader({ consensusHash: hash }), reason: /^consensusHash/ },
    { what: 'another state', block: withHeader({ appHash: hash }), reason: /^appHash is 0x0707/ },
    { what: 'other results', block: withHeader({ lastResultsHash: hash }), reason: /^lastResultsHash/ },
    { what: 'other evidence', block: withHeader({ evidenceHash: hash }), reason: /^evidenceHash/ },
    { what: 'an unknown proposer', block: withHeader({ proposerAddress: hash.subarray(12) }), reason: /^proposer/ },
  ])('with $what does not', ({ block, reason }) => {
    expect(checkBlock(state, block)).toMatch(reason)
  })

  it('at height 1 has no last commit', async () => {
    const genesis = stateFromInfo(CHAIN, await new FakeApplication().info(), CHAIN.validators)
    const first = makeBlock(genesis, {
      txs: [],
      dataHash: dataHash([]),
      timeMs: genesis.lastBlockTimeMs + 1,
      proposerAddress: KEY.address,
    })
    expect(checkBlock(genesis, first)).toBeUndefined()
    const { lastCommit } = good
    const header = { ...first.header, lastCommitHash: commitHash(lastCommit) }
    expect(checkBlock(genesis, { ...first, header, lastCommit })).toBe('the first block has a last commit')
  })

  it('cannot be built on an application that lost the commit', async () => {
    const info = { ...(await application.info()), lastSeenCommit: undefined }
    expect(() => stateFromInfo(CHAIN, info, CHAIN.validators)).toThrow(/not its ID and commit/)
  })
})
