import { describe, expect, it } from 'vitest'
import { signEd25519 } from '../../../../src/chain/consensus/ed25519.ts'
import { createDuplicateVoteEvidence, encodeEvidence } from '../../../../src/chain/consensus/evidence.ts'
import { type Evidence, SIGNED_MESSAGE_TYPES, type Vote } from '../../../../src/chain/consensus/types.ts'
import { voteSignBytes } from '../../../../src/chain/consensus/vote.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import type { EvidenceReport } from '../../../../src/rpc/comet/env.ts'
import { type BlockEventsContext, blockEventsOf } from '../../../../src/rpc/comet/eventHub.ts'
import { evidenceJson } from '../../../../src/rpc/comet/json/evidence.ts'
import { createCometTest, IDLE_NODE } from './cometNode.ts'
import { CHAIN_ID, createSignedChain, testKey } from './signedChain.ts'

const chain = createSignedChain([{}, {}, {}])

function vote(fill: number): Vote {
  const unsigned = {
    type: SIGNED_MESSAGE_TYPES.prevote,
    height: 2,
    round: 0,
    blockId: { hash: new Uint8Array(32).fill(fill), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(fill) } },
    timestampMs: 1_767_225_600_900,
  }
  return {
    ...unsigned,
    validatorAddress: chain.validatorsAt(2)!.validators[0]!.address,
    validatorIndex: 0,
    signature: signEd25519(testKey(0), voteSignBytes(CHAIN_ID, unsigned)),
  }
}

const EVIDENCE = createDuplicateVoteEvidence(vote(9), vote(3), {
  validators: chain.validatorsAt(2)!,
  timeMs: chain.consensusBlock(2)!.header.timeMs,
})
const HASH = Buffer.from(sha256(encodeEvidence(EVIDENCE))).toString('base64')

function setUp(report: EvidenceReport = { accepted: true }) {
  const submitted: Uint8Array[] = []
  const submitEvidence = async (bytes: Uint8Array) => {
    submitted.push(bytes)
    return report
  }
  const { get, post } = createCometTest(chain, { node: { ...IDLE_NODE, submitEvidence } })
  const submit = async (evidence: unknown) =>
    JSON.parse((await post({ id: 1, method: 'broadcast_evidence', params: { evidence } })).json)
  return { submitted, get, submit }
}

describe('NewEvidence', () => {
  it('is told for each evidence in a block', () => {
    const guilty = createSignedChain([{}, {}, { evidence: [EVIDENCE] }])
    const context = { view: { chain: guilty } } as unknown as BlockEventsContext
    const told = [...blockEventsOf(context, 3, 'NewEvidence')]
    expect(told.map(({ values, data }) => [Object.fromEntries(values), data()])).toEqual([
      [
        { 'tm.event': ['NewEvidence'] },
        { type: 'tendermint/event/NewEvidence', value: { height: '3', evidence: evidenceJson(EVIDENCE) } },
      ],
    ])
    expect([...blockEventsOf(context, 2, 'NewEvidence')]).toEqual([])
  })
})

describe('broadcast_evidence', () => {
  const json = evidenceJson(EVIDENCE)
  const base64 = Buffer.from(encodeEvidence(EVIDENCE)).toString('base64')

  it.each([
    ['JSON', json],
    ['protobuf', base64],
  ])('takes %s and gives the hash', async (_, evidence) => {
    const { submitted, submit } = setUp()
    expect(await submit(evidence)).toEqual({ jsonrpc: '2.0', id: 1, result: { hash: HASH } })
    expect(submitted.map((bytes) => Buffer.from(bytes).toString('base64'))).toEqual([base64])
  })

  it.each([
    ['JSON', JSON.stringify(json)],
    ['quoted protobuf', `"${base64}"`],
    ['protobuf', base64],
  ])('takes %s in a query', async (_, text) => {
    const { get, submitted } = setUp()
    expect(await get(`broadcast_evidence?evidence=${encodeURIComponent(text)}`)).toEqual({ hash: HASH })
    expect(submitted).toHaveLength(1)
  })

  it('says why the node does not take it', async () => {
    const { submit } = setUp({ accepted: false, reason: 'evidence from height 2 is too old' })
    expect((await submit(json)).error.data).toBe(
      'failed to add evidence: Invalid evidence: evidence from height 2 is too old',
    )
  })

  it.each<[string, Partial<Evidence>, RegExp]>([
    ['one vote twice', { voteA: EVIDENCE.voteB }, /same block/],
    ['votes in the wrong order', { voteA: EVIDENCE.voteB, voteB: EVIDENCE.voteA }, /wrong order/],
    [
      'a forged signature',
      { voteB: { ...EVIDENCE.voteB, signature: new Uint8Array(64).fill(1) } },
      /signature is wrong/,
    ],
    ['a stranger', { voteA: { ...EVIDENCE.voteA, validatorAddress: new Uint8Array(20) } }, /two validators/],
    ['a height to come', { voteA: { ...EVIDENCE.voteA, height: 4 } }, /don't have header #4/],
    ['another time', { timestampMs: 1 }, /time is not that of the block/],
    ['another power', { validatorPower: 41n }, /power is 41/],
  ])('does not bother consensus with %s', async (_, change, problem) => {
    const { submit, submitted } = setUp()
    expect((await submit(evidenceJson({ ...EVIDENCE, ...change }))).error.data).toMatch(problem)
    expect(submitted).toHaveLength(0)
  })

  it.each([
    ['half a message', base64.slice(0, 40)],
    ['no base64', '!!'],
    ['a number', 5],
  ])('refuses %s', async (_, evidence) => {
    expect((await setUp().submit(evidence)).error.code).toBe(-32602)
  })
})
