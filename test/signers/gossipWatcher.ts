import { proposalSignBytes, voteSignBytes } from '../../src/chain/comet/vote.ts'
import { decodeConsensusMessage } from '../../src/consensus/messages.ts'
import type { PersistentPeer } from '../../src/p2p/peerPolicy.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { startNode } from '../support/p2p/testNode.ts'

/** A peer of all validators that takes no part: it keeps every signature that leaves them. */
export interface GossipWatcher {
  /** signed messages, each counted once however often it came */
  readonly count: number
  /** steps for which one validator has made two different signatures */
  readonly contradictions: readonly string[]
  /** heights of which a vote of the validator has left it. @param address of its key, 20 bytes */
  heightsOf(address: Uint8Array): ReadonlySet<number>
  close(): Promise<void>
}

export async function watchGossip(
  chainId: string,
  genesisHash: string,
  validators: readonly PersistentPeer[],
): Promise<GossipWatcher> {
  /** by validator, height, round and step: sign bytes and signature */
  const seen = new Map<string, string>()
  const contradictions: string[] = []
  const heights = new Map<string, Set<number>>()
  const record = (step: string, signBytes: Uint8Array, signature: Uint8Array): void => {
    const text = `${bytesToHex(signBytes)} ${bytesToHex(signature)}`
    const known = seen.get(step)
    if (known === undefined) seen.set(step, text)
    else if (known !== text) contradictions.push(`${step}: ${known} and ${text}`)
  }
  const node = await startNode({
    chainId,
    genesisHash: hexToBytes(`0x${genesisHash}`),
    persistentPeers: validators,
    height: 0,
    base: 0,
    events: {
      message: (_, body) => {
        const message = decodeConsensusMessage(body)
        if (message.kind === 'vote') {
          const { vote } = message
          const validator = bytesToHex(vote.validatorAddress)
          const step = `${validator} ${vote.height}/${vote.round}/${vote.type}`
          record(step, voteSignBytes(chainId, vote), vote.signature)
          const known = heights.get(validator) ?? new Set()
          heights.set(validator, known.add(vote.height))
        } else if (message.kind === 'proposal') {
          const { proposal } = message
          const step = `proposal ${proposal.height}/${proposal.round}`
          record(step, proposalSignBytes(chainId, proposal), proposal.signature)
        }
      },
    },
  })
  return {
    get count() {
      return seen.size
    },
    contradictions,
    heightsOf: (address) => heights.get(bytesToHex(address)) ?? new Set(),
    close: () => node.close(),
  }
}
