import { describe, expect, it } from 'vitest'
import { decodeEvidence, encodeEvidence } from '../../../../src/chain/comet/evidence.ts'
import { ABSENT_COMMIT_SIG } from '../../../../src/chain/comet/types.ts'
import { canonicalJson } from '../../../../src/chain/genesis/genesis.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import { commitJson } from '../../../../src/rpc/comet/json/block.ts'
import { evidenceJson, readEvidenceJson } from '../../../../src/rpc/comet/json/evidence.ts'
import { formatTime, parseTime } from '../../../../src/rpc/comet/json/values.ts'
import { CometParamError } from '../../../../src/rpc/comet/method.ts'
import { COMETBFT } from '../../../support/rpc/comet/cometbftVectors.ts'
import { createCometTest } from '../../../support/rpc/comet/cometNode.ts'
import { roundState } from '../../../support/rpc/comet/roundState.ts'
import { createSignedChain } from '../../../support/rpc/comet/signedChain.ts'

const {
  evidence: [EVIDENCE],
  evidenceBytes,
  absentCommitSig,
} = COMETBFT.values

/** The names and JSON types of a value, in order; of a list those of its first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? ['?'] : [shapeOf(value[0])]
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.entries(value).map(([name, member]) => [name, shapeOf(member)])
}

function sortedShape(value: unknown): unknown {
  return shapeOf(JSON.parse(canonicalJson(value as Json)))
}

describe("the shapes of CometBFT's answers", () => {
  const chain = createSignedChain([{}, { txs: [Uint8Array.of(1, 2, 3)] }, {}])
  const peer = {
    node: {
      id: 'ab'.repeat(20),
      listenAddress: '192.0.2.7:26656',
      network: 'c',
      version: '1',
      moniker: 'm',
      rpcAddress: '',
    },
    isOutbound: true,
    remoteIp: '192.0.2.7',
    connectedMs: 60_000,
    receivedBytes: 600,
    sentBytes: 1200,
    queuedBytes: 0,
    validatorAddress: undefined,
  }
  const { get } = createCometTest(chain, {
    node: {
      roundState: async () => roundState(chain),
      network: async () => ({ listening: true, listeners: ['0.0.0.0:26656'], peers: [peer] }),
      addEvidence: () => undefined,
    },
  })

  it.each([
    ['status', 'status'],
    ['health', 'health'],
    ['net_info', 'net_info'],
    ['genesis_chunked', 'genesis_chunked'],
    ['block', 'block?height=2'],
    ['header', 'header?height=2'],
    ['commit', 'commit?height=2'],
    ['validators', 'validators?height=2'],
    ['consensus_params', 'consensus_params'],
    ['consensus_state', 'consensus_state'],
    ['blockchain', 'blockchain?minHeight=2&maxHeight=2'],
    ['block_by_hash', 'block_by_hash'],
    ['header_by_hash', 'header_by_hash'],
  ])('%s', async (name, path) => {
    const ours = JSON.stringify(shapeOf(await get(path)))
    // One member more: the version of this software.
    const plain = ours.replaceAll(',["coind_version","string"]', '')
    const theirs = JSON.stringify(shapeOf(COMETBFT.answers[name]))
    // CometBFT's channels have counters that streams do not.
    expect(plain.replace('["Channels",["?"]]', 'CHANNELS')).toBe(
      theirs.replace(/\["Channels",\[.*?\]\]\]\]/, 'CHANNELS'),
    )
  })

  it('genesis: the members that CometBFT has', async () => {
    const ours = (await get('genesis')).genesis
    const theirs = (COMETBFT.answers.genesis as { genesis: Record<string, unknown> }).genesis
    // Its canonical form has its own order.
    for (const name of Object.keys(theirs))
      expect([name, sortedShape(ours[name])]).toEqual([name, sortedShape(theirs[name])])
  })
})

describe('values that CometBFT wrote', () => {
  it('evidence: JSON, protobuf and back', () => {
    const evidence = readEvidenceJson(EVIDENCE)
    expect(evidenceJson(evidence)).toEqual(EVIDENCE)
    expect(Buffer.from(encodeEvidence(evidence)).toString('base64')).toBe(evidenceBytes)
    expect(decodeEvidence(new Uint8Array(Buffer.from(evidenceBytes, 'base64')))).toEqual(evidence)
  })

  it('an absent signature', () => {
    const blockId = { hash: new Uint8Array(32), partSetHeader: { total: 1, hash: new Uint8Array(32) } }
    const commit = commitJson({ height: 1, round: 0, blockId, signatures: [ABSENT_COMMIT_SIG] })
    expect(commit.signatures).toEqual([absentCommitSig])
  })

  it.each([
    [0, '1970-01-01T00:00:00Z'],
    [1_767_225_600_120, '2026-01-01T00:00:00.12Z'],
    [1_767_225_600_100, '2026-01-01T00:00:00.1Z'],
    [1_767_225_600_001, '2026-01-01T00:00:00.001Z'],
    [-62_135_596_800_000, '0001-01-01T00:00:00Z'],
  ])('time %d', (timeMs, text) => {
    expect(formatTime(timeMs)).toBe(text)
    expect(parseTime(text)).toBe(timeMs)
  })

  it.each(['', '2026-01-01', '2026-01-01T00:00:00', '2026-01-01T00:00:00.0001Z', '2026-13-01T00:00:00Z', 'x'])(
    'no time: %j',
    (text) => {
      expect(parseTime(text)).toBeUndefined()
    },
  )
})

describe('readEvidenceJson', () => {
  const value = (EVIDENCE as { value: Record<string, unknown> }).value
  const voteA = value.vote_a as Record<string, unknown>
  it.each([
    ['nothing', 5],
    ['another kind', { type: 'tendermint/LightClientAttackEvidence', value: {} }],
    ['one vote', { type: 'tendermint/DuplicateVoteEvidence', value: { ...value, vote_b: undefined } }],
    ['a proposal', { type: 'tendermint/DuplicateVoteEvidence', value: { ...value, vote_a: { ...voteA, type: 32 } } }],
    ['height 0', { type: 'tendermint/DuplicateVoteEvidence', value: { ...value, vote_a: { ...voteA, height: '0' } } }],
    [
      'half a byte',
      { type: 'tendermint/DuplicateVoteEvidence', value: { ...value, vote_a: { ...voteA, validator_address: 'A' } } },
    ],
    [
      'nanoseconds',
      { type: 'tendermint/DuplicateVoteEvidence', value: { ...value, Timestamp: '2026-01-01T00:00:00.120000001Z' } },
    ],
  ])('refuses %s', (_, json) => {
    expect(() => readEvidenceJson(json)).toThrow(CometParamError)
  })
})
