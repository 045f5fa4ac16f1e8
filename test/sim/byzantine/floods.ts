import type { ConsensusMessage } from '../../../src/consensus/messages.ts'
import type { SimNode } from '../simNode.ts'
import type { Byzantine, ServedBlock } from './byzantine.ts'
import { forgeVote, inventedBlockId, NIL, ownIndex, PRECOMMIT, PREVOTE, variantOf } from './forge.ts'

interface FloodOptions {
  /** messages a second to each peer */
  readonly rate: number
  /** milliseconds between bursts */
  readonly everyMs?: number
}

/** Votes for future heights, huge rounds, unknown indices, other validators, or with wrong signatures. */
export function flooder({ rate, everyMs = 20 }: FloodOptions): Byzantine {
  return {
    name: 'flooder',
    onStart(node) {
      const burst = (): void => {
        node.later(everyMs, burst)
        if (node.engine === undefined) return
        const peers = node.simulation.network.peersOf(node.index)
        for (let i = 0; i < (rate * everyMs) / 1000; i++) node.transmit(peers, nonsense(node))
      }
      node.later(everyMs, burst)
    },
  }
}

function nonsense(node: SimNode): ConsensusMessage {
  const { random } = node
  const { height, round, validators, proposal, parts } = node.engine!.roundState
  const own = ownIndex(node) ?? 0
  const base = {
    type: random.pick([PREVOTE, PRECOMMIT]),
    height,
    round,
    blockId: random.pick([NIL, inventedBlockId(node), proposal?.blockId ?? NIL]),
    timestampMs: node.nowMs(),
    validatorAddress: node.key?.address ?? random.bytes(20),
    validatorIndex: own,
  }
  const victim = random.below(validators.validators.length)
  switch (random.below(9)) {
    case 0:
      return { kind: 'vote', vote: forgeVote(node, { ...base, height: height + 1 + random.below(1_000_000) }) }
    case 1:
      return { kind: 'vote', vote: forgeVote(node, { ...base, round: random.below(2 ** 31) }) }
    case 2:
      return { kind: 'vote', vote: forgeVote(node, { ...base, validatorIndex: random.below(2 ** 31) }) }
    case 3:
      return { kind: 'vote', vote: { ...base, signature: random.bytes(64) } }
    case 4: {
      const { address } = validators.validators[victim]!
      const vote = { ...base, validatorAddress: address, validatorIndex: victim, signature: random.bytes(64) }
      return { kind: 'vote', vote }
    }
    case 5:
      return { kind: 'vote', vote: forgeVote(node, { ...base, height: height + 1, round: random.below(5) }) }
    case 6:
      return { kind: 'vote', vote: forgeVote(node, { ...base, round: round + random.below(4) }) }
    case 7: {
      const part = parts?.part(0)
      if (part === undefined) return { kind: 'vote', vote: { ...base, signature: random.bytes(64) } }
      const forged = { ...part, bytes: random.bytes(part.bytes.length) }
      return { kind: 'part', height: height + random.below(3), round: random.below(2 ** 31), part: forged }
    }
    default: {
      const unsigned = { height, round: random.below(50), polRound: -1, blockId: inventedBlockId(node) }
      const proposal = { ...unsigned, timestampMs: node.nowMs(), signature: random.bytes(64) }
      return { kind: 'proposal', proposal }
    }
  }
}

/** Votes of a chain with another ID, else right. */
export function wrongChain(): Byzantine {
  return {
    name: 'wrongChain',
    send(node, to, message) {
      if (message.kind !== 'vote' || node.random.oneIn(2)) {
        node.transmit(to, message)
        return
      }
      node.transmit(to, { kind: 'vote', vote: forgeVote(node, message.vote, 'sim_76287-2') })
    },
  }
}

/** Keeps the messages that it receives and sends them again, much later, to everybody. */
export function replayer(): Byzantine {
  const heard: ConsensusMessage[] = []
  return {
    name: 'replayer',
    onReceive(node, _from, message) {
      if (heard.length < 500) heard.push(message)
      else heard[node.random.below(500)] = message
    },
    onStart(node) {
      const repeat = (): void => {
        node.later(30, repeat)
        const peers = node.simulation.network.peersOf(node.index)
        for (let i = 0; i < 5 && heard.length > 0; i++) node.transmit(peers, node.random.pick(heard))
      }
      node.later(30, repeat)
    },
  }
}

/** Claims to be far ahead or to have what it does not have, and answers requests with wrong data or not at all. */
export function liar(): Byzantine {
  return {
    name: 'liar',
    send(node, to, message) {
      if (message.kind !== 'status') {
        node.transmit(to, message)
        return
      }
      const { random } = node
      const full = (size: number): { size: number; bytes: Uint8Array } => {
        const bytes = new Uint8Array(Math.ceil(size / 8)).fill(0xff)
        if (size % 8 !== 0) bytes[bytes.length - 1] = (1 << (size % 8)) - 1
        return { size, bytes }
      }
      switch (random.below(4)) {
        case 0:
          node.transmit(to, { ...message, height: message.height + 1 + random.below(1000) })
          break
        case 1:
          node.transmit(to, {
            ...message,
            hasProposal: true,
            prevotes: full(message.prevotes.size),
            precommits: full(message.precommits.size),
            directValidators: full(message.directValidators.size),
          })
          break
        case 2:
          node.transmit(to, { ...message, round: message.round + random.below(1000), hasProposal: true })
          break
        default:
          node.transmit(to, message)
      }
    },
    claims: (height) => (height % 3 === 0 ? height : height + 5_000),
    serve: (node, _from, height) => lie(node, height),
  }
}

function lie(node: SimNode, height: number): ServedBlock | 'silent' | undefined {
  const { random, application } = node
  const known = application.block(random.oneIn(3) ? Math.max(1, height - 1) : height)
  if (known === undefined) return 'silent'
  const { block, seenCommit: commit } = known
  switch (random.below(5)) {
    case 0:
      return { block: variantOf(block, 55), commit }
    case 1:
      return { block, commit: { ...commit, signatures: commit.signatures.slice(1) } }
    case 2: {
      const signatures = commit.signatures.map((sig) =>
        sig.signature.length > 0 ? { ...sig, signature: random.bytes(64) } : sig,
      )
      return { block, commit: { ...commit, signatures } }
    }
    case 3:
      return 'silent'
    default:
      return undefined
  }
}
