import { encodeConsensusMessage } from '../../../src/consensus/messages.ts'

export function encodedVote(height: number, round = 0): Uint8Array {
  return encodeConsensusMessage({
    kind: 'vote',
    vote: {
      type: 1,
      height,
      round,
      blockId: { hash: new Uint8Array(32).fill(1), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } },
      timestampMs: 1_700_000_000_000,
      validatorAddress: new Uint8Array(20).fill(3),
      validatorIndex: 1,
      signature: new Uint8Array(64).fill(4),
    },
  })
}

export function encodedPart(height: number, length: number): Uint8Array {
  return encodeConsensusMessage({
    kind: 'part',
    height,
    round: 0,
    part: {
      index: 0,
      bytes: new Uint8Array(length).fill(5),
      proof: { total: 1, index: 0, leafHash: new Uint8Array(32), aunts: [] },
    },
  })
}
