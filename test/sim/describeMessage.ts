import type { BlockId } from '../../src/chain/comet/types.ts'
import type { ConsensusMessage } from '../../src/consensus/messages.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { describeVote } from './monitor.ts'

export function shortHash({ hash }: BlockId): string {
  return hash.length === 0 ? 'nil' : bytesToHex(hash).slice(2, 8)
}

/** One line for traces. */
export function describeMessage(message: ConsensusMessage): string {
  switch (message.kind) {
    case 'vote':
      return describeVote(message.vote)
    case 'proposal': {
      const { height, round, polRound, blockId } = message.proposal
      return `proposal ${height}/${round} pol ${polRound} ${shortHash(blockId)}`
    }
    case 'part':
      return `part ${message.height}/${message.round} ${message.part.index}`
    case 'status':
      return `status ${message.height}/${message.round}/${message.step}`
  }
}
