import { describe, expect, it } from 'vitest'
import { decodeEvidence, encodeEvidence } from '../../../../src/chain/comet/evidence.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type CommitSig,
  type Evidence,
  SIGNED_MESSAGE_TYPES,
} from '../../../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../../../src/chain/comet/vote.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { signEd25519 } from '../../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { type BlockEventsContext, blockEventsOf } from '../../../../src/rpc/comet/blockEvents.ts'
import { commitJson } from '../../../../src/rpc/comet/json/block.ts'
import { evidenceJson } from '../../../../src/rpc/comet/json/evidence.ts'
import { createCometTest, IDLE_NODE } from '../../../support/rpc/comet/cometNode.ts'
import { duplicateVote, evidenceViews } from '../../../support/rpc/comet/duplicateVote.ts'
import { CHAIN_ID, createSignedChain } from '../../../support/rpc/comet/signedChain.ts'

const chain = createSignedChain([{}, {}, {}])
const EVIDENCE = duplicateVote(chain, 2)
const HASH = Buffer.from(sha256(encodeEvidence(EVIDENCE))).toString('base64')

function setUp(reported: Evidence[] = [], shown = chain) {
  const added: Uint8Array[] = []
  let nowMs = 0
  const { get, post } = createCometTest(shown, {
    node: { ...IDLE_NODE, addEvidence: (bytes) => void added.push(bytes) },
    views: evidenceViews(shown, reported),
    monotonicMs: () => nowMs,
  })
  const submit = async (evidence: unknown) =>
    JSON.parse((await post({ id: 1, method: 'broadcast_evidence', params: { evidence } })).json)
  return {
    added,
    get,
    submit,
    wait: (milliseconds: number) => {
      nowMs += milliseconds
    },
  }
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
    const { added, submit } = setUp()
    expect(await submit(evidence)).toEqual({ jsonrpc: '2.0', id: 1, result: { hash: HASH } })
    expect(added.map((bytes) => Buffer.from(bytes).toString('base64'))).toEqual([base64])
  })

  it.each([
    ['JSON', JSON.stringify(json)],
    ['quoted protobuf', `"${base64}"`],
    ['protobuf', base64],
  ])('takes %s in a query', async (_, text) => {
    const { get, added } = setUp()
    expect(await get(`broadcast_evidence?evidence=${encodeURIComponent(text)}`)).toEqual({ hash: HASH })
    expect(added).toHaveLength(1)
  })

  it('a text that is longer than evidence is not read: a body may have megabytes of it', async () => {
    const { get, added, submit } = setUp()
    expect((await submit('A'.repeat(16_388))).error.data).toContain('the evidence is too long')
    const text = JSON.stringify(json)
    const answer = await get(`broadcast_evidence?evidence=${encodeURIComponent(text.padEnd(16_385))}`)
    expect(JSON.stringify(answer)).toContain('the evidence is too long')
    expect(added).toEqual([])
    expect(await get(`broadcast_evidence?evidence=${encodeURIComponent(text.padEnd(16_384))}`)).toEqual({ hash: HASH })
  })

  it('too old is refused, and what a block has reported is taken without keeping consensus busy', async () => {
    const long = createSignedChain(Array(8).fill({}))
    const old = setUp([], long)
    expect((await old.submit(evidenceJson(duplicateVote(long, 2)))).error.data).toBe(
      'failed to add evidence: Invalid evidence: evidence from height 2 is too old',
    )
    const reported = setUp([EVIDENCE])
    expect((await reported.submit(json)).result).toEqual({ hash: HASH })
    expect([old.added, reported.added]).toEqual([[], []])
  })

  describe('of an attack on light clients', () => {
    /** Another header of height 2, for which some of the block's signers have signed in the same round. */
    function attack(indices: readonly number[], round = 0) {
      const { validators } = chain.validatorSetAt(2)!
      const hash = new Uint8Array(32).fill(0xee)
      const blockId = { hash, partSetHeader: { total: 1, hash } }
      const { timeMs } = chain.consensusBlock(2)!.header
      const signatures = validators.map(({ address, publicKey }, index): CommitSig => {
        if (!indices.includes(index)) return ABSENT_COMMIT_SIG
        const key = chain.keys.find((one) => bytesKey(one.publicKey) === bytesKey(publicKey))!
        const vote = { type: SIGNED_MESSAGE_TYPES.precommit, height: 2, round, blockId, timestampMs: timeMs + 9 }
        const signature = signEd25519(key, voteSignBytes(CHAIN_ID, vote))
        return { flag: BLOCK_ID_FLAGS.commit, validatorAddress: address, timestampMs: timeMs + 9, signature }
      })
      const commit = commitJson({ height: 2, round, blockId, signatures })
      const ConflictingBlock = { signed_header: { header: {}, commit }, validator_set: {} }
      const value = { ConflictingBlock, CommonHeight: '1', ByzantineValidators: null, TotalVotingPower: '100' }
      return { type: 'tendermint/LightClientAttackEvidence', value }
    }

    it('is taken apart into the double signatures of all that signed both headers', async () => {
      const { added, submit } = setUp()
      const { result } = await submit(attack([0, 2, 3]))
      const found = added.map((bytes) => decodeEvidence(bytes))
      const { validators } = chain.validatorSetAt(2)!
      expect(found.map(({ voteA }) => voteA.validatorAddress)).toEqual([0, 2, 3].map((at) => validators[at]!.address))
      expect(result).toEqual({ hash: Buffer.from(sha256(added[0]!)).toString('base64') })
      // The same again is nothing new.
      await submit(attack([0, 2, 3]))
      expect(added).toHaveLength(3)
    })

    it('finds the signers in a set of other validators, in another order', async () => {
      const evidence = structuredClone(attack([0, 2]))
      const commit = evidence.value.ConflictingBlock.signed_header.commit as unknown as { signatures: object[] }
      const { address } = chain.validatorSetAt(2)!.validators[2]!
      const stranger = { ...commit.signatures[0]!, validator_address: 'AB'.repeat(20) }
      commit.signatures = [stranger, ...commit.signatures.reverse(), stranger]
      const { added, submit } = setUp()
      await submit(evidence)
      const found = added.map((bytes) => decodeEvidence(bytes).voteB)
      expect(found.map(({ validatorIndex }) => validatorIndex)).toEqual([0, 2])
      expect(found[1]!.validatorAddress).toEqual(address)
    })

    it.each([
      ['in another round, which proves nothing', attack([0, 1], 1)],
      ['without signatures', attack([])],
    ])('%s is refused', async (_, evidence) => {
      const { added, submit } = setUp()
      expect((await submit(evidence)).error.data).toMatch('no validator signed two precommits of one round')
      expect(added).toEqual([])
    })

    it('with a signature that is wrong accuses nobody', async () => {
      const evidence = structuredClone(attack([1]))
      const { signatures } = evidence.value.ConflictingBlock.signed_header.commit as unknown as {
        signatures: { signature: string | null }[]
      }
      signatures[1]!.signature = Buffer.alloc(64, 7).toString('base64')
      const { added, submit } = setUp()
      expect((await submit(evidence)).error).toBeDefined()
      expect(added).toEqual([])
    })

    it('with more signatures than any set has is not read', async () => {
      const { added, submit } = setUp()
      const evidence = structuredClone(attack([0]))
      const commit = evidence.value.ConflictingBlock.signed_header.commit as unknown as { signatures: object[] }
      const stranger = { ...commit.signatures[0]!, validator_address: 'AB'.repeat(20) }
      commit.signatures = [...commit.signatures, ...Array(1_001 - commit.signatures.length).fill(stranger)]
      expect((await submit(evidence)).error.data).toContain('1001 signatures, at most 1000 are read')
      expect(added).toEqual([])
      commit.signatures.pop()
      await submit(evidence)
      expect(added).toHaveLength(1)
    })

    it('that is malformed is refused', async () => {
      const { submit } = setUp()
      const short = structuredClone(attack([0]))
      short.value.ConflictingBlock.signed_header.commit.block_id.hash = 'EEEE'
      expect((await submit(short)).error.data).toMatch('commit')
      for (const value of [null, {}, { ConflictingBlock: { signed_header: { commit: { height: 'x' } } } }]) {
        expect((await submit({ type: 'tendermint/LightClientAttackEvidence', value })).error).toBeDefined()
      }
    })
  })

  it('hands on each fault once, and no more than the budget', async () => {
    const { added, submit } = setUp()
    const faults = [1, 2, 3].flatMap((height) => [0, 1, 2, 3].map((index) => duplicateVote(chain, height, index)))
    const send = () => Promise.all([...faults, ...faults].map((fault) => submit(evidenceJson(fault))))
    expect((await send()).filter(({ result }) => result !== undefined)).toHaveLength(24)
    expect(added).toHaveLength(12)
    // Other votes of a known fault are nothing new.
    await submit(evidenceJson(duplicateVote(chain, 2, 0, 7)))
    expect(added).toHaveLength(12)

    const more = createSignedChain(Array(6).fill({}))
    const flooded = setUp([], more)
    const answers = []
    for (let height = 2; height <= 6; height++) {
      for (let index = 0; index < 4; index++) {
        for (const name of [1, 2])
          answers.push(await flooded.submit(evidenceJson(duplicateVote(more, height, index, name))))
      }
    }
    expect(flooded.added.length).toBe(20)
    const late = evidenceJson(duplicateVote(more, 1, 3))
    expect((await flooded.submit(late)).error.data).toBe('failed to add evidence: too many pieces at once, try again')
    flooded.wait(500)
    expect((await flooded.submit(late)).error).toBeUndefined()
    expect(flooded.added.length).toBe(21)
  })

  it.each<[string, Partial<Evidence>, RegExp]>([
    ['one vote twice', { voteA: EVIDENCE.voteB }, /same block/],
    ['votes in the wrong order', { voteA: EVIDENCE.voteB, voteB: EVIDENCE.voteA }, /wrong order/],
    [
      'a forged signature',
      { voteB: { ...EVIDENCE.voteB, signature: new Uint8Array(64).fill(1) } },
      /signature is wrong/,
    ],
    ['a stranger', { voteA: { ...EVIDENCE.voteA, validatorAddress: new Uint8Array(20) } }, /nothing is left to punish/],
    ['a height to come', { voteA: { ...EVIDENCE.voteA, height: 4 } }, /don't have header #4/],
    ['another time', { timestampMs: EVIDENCE.timestampMs + 1 }, /the time differs from the time of the block/],
    ['another power', { validatorPower: 41n }, /power is 41/],
  ])('does not bother consensus with %s', async (_, change, problem) => {
    const { submit, added } = setUp()
    expect((await submit(evidenceJson({ ...EVIDENCE, ...change }))).error.data).toMatch(problem)
    expect(added).toHaveLength(0)
  })

  it.each([
    ['half a message', base64.slice(0, 40)],
    ['no base64', '!!'],
    ['a number', 5],
  ])('refuses %s', async (_, evidence) => {
    expect((await setUp().submit(evidence)).error.code).toBe(-32602)
  })
})
