import type { ConsensusState } from '../../consensus/consensusState.ts'
import { exceedsThird } from '../../consensus/quorum.ts'
import type { FetchedBlocks, Misbehaviour, PeerId } from '../../consensus/transport.ts'
import { type VerifySignature, verifyEd25519 } from '../../primitives/ed25519.ts'
import { checkCommits, trustedPower } from './commitChecks.ts'
import { misbehaviourIn } from './misbehaviourIn.ts'
import { readFetchedBlock } from './readFetchedBlock.ts'

/** A request for one block that would prove that this node is behind. */
interface ProofRequest {
  readonly id: number
  readonly peer: PeerId
  readonly height: number
  /** of the peer when it was asked */
  readonly claimedHeight: number
}

/**
 * What an answer to a request for a proof shows:
 * - a height that the network has reached,
 * - that the peer lied, or could not prove what it claims,
 * - nothing, because this node has the block meanwhile.
 */
type ProofFinding =
  | { readonly kind: 'ahead'; readonly height: number }
  | { readonly kind: 'fault'; readonly peer: PeerId; readonly what: Misbehaviour; readonly reason: string }
  | undefined

/** A peer that claims to have such a block. */
export interface ProofPeer {
  readonly id: PeerId
  readonly base: number
  readonly height: number
}

/** Distance of the proof that this node is behind: it requests the block this many heights after its own newest one. */
export const PROOF_DISTANCE = 10

/** When this node has decided nothing for this long, the next block from a peer proves that it is behind. */
const STUCK_MS = 5_000
const MAX_PEERS = 8

/** Asks peers that claim to be far ahead for a block that proves it ({@link isLagProof}). */
export class LagSearch {
  readonly #beganAt: ConsensusState
  readonly #isStuck: boolean
  readonly #verify: VerifySignature | undefined
  readonly #open = new Map<number, ProofRequest>()

  /** @param idleMs since this node decided a block */
  constructor(state: ConsensusState, idleMs: number, verify: VerifySignature | undefined) {
    this.#beganAt = state
    this.#isStuck = idleMs >= STUCK_MS
    this.#verify = verify
  }

  /** Whether every request was answered or has failed. */
  get isOver(): boolean {
    return this.#open.size === 0
  }

  isOpen(id: number): boolean {
    return this.#open.has(id)
  }

  /** @returns the requests to make, each once */
  begin(peers: readonly ProofPeer[], nextId: () => number): readonly ProofRequest[] {
    const { lastHeight } = this.#beganAt
    const far = lastHeight + PROOF_DISTANCE
    const ask = (peer: PeerId, height: number, claimedHeight: number): void => {
      const id = nextId()
      this.#open.set(id, { id, peer, height, claimedHeight })
    }
    for (const { id, base, height } of peers.filter(({ height }) => height >= far).slice(0, MAX_PEERS)) {
      ask(id, Math.max(base, far), height)
      // While this node decides blocks itself, the next block proves nothing, because others may have it only a moment earlier.
      if (this.#isStuck && base <= lastHeight + 1) ask(id, lastHeight + 1, height)
    }
    return [...this.#open.values()]
  }

  answered(id: number, answer: FetchedBlocks, state: ConsensusState): ProofFinding {
    const request = this.#open.get(id)
    this.#open.delete(id)
    if (request === undefined) return undefined
    const { peer, height, claimedHeight } = request
    const found = misbehaviourIn({ from: height, count: 1, claimedHeight }, answer)
    if (found !== undefined) return { kind: 'fault', peer, what: found[0], reason: found[1] }
    if (height <= state.lastHeight) return undefined
    const fault = faultOfProof(state, height, answer, this.#verify)
    return fault === undefined ? { kind: 'ahead', height } : { kind: 'fault', peer, what: fault[0], reason: fault[1] }
  }

  /** @returns the peer that did not answer; undefined when the request is not of this search */
  failed(id: number): PeerId | undefined {
    const request = this.#open.get(id)
    this.#open.delete(id)
    return request?.peer
  }
}

/**
 * Returns why a block that a peer sent does not prove that the network is ahead; the peer may have
 * invented the block. The next block is a proof when its validators decided it. A later block is a
 * proof when validators with more than a third of the power that this node knows signed it: then an
 * honest one is among them, whichever validators have joined meanwhile.
 *
 * A block that cannot be decoded, a next block that its validators did not decide and a false signature show that the peer lied. Without
 * any of these a peer may have told the truth, if other validators have most of the power now: it is only disconnected if that happens
 * often.
 * @param height the requested height
 * @returns undefined for a proof
 */
function faultOfProof(
  state: ConsensusState,
  height: number,
  { blocks: [fetched] }: FetchedBlocks,
  verify: VerifySignature = verifyEd25519,
): readonly [Misbehaviour, string] | undefined {
  if (fetched === undefined) return ['unresponsive', `no block ${height} as a proof`]
  const read = readFetchedBlock(fetched, height, state.params.maxBytes)
  if (typeof read === 'string') return ['malformed', read]
  const { chainId, validators, nextValidators } = state
  const { blockId, commit } = read
  if (height === state.lastHeight + 1) {
    const [problem] = checkCommits([{ chainId, height, blockId, validators, commit, known: undefined }], verify)
    return problem === undefined ? undefined : ['invalid block', `block ${height}: ${problem}`]
  }
  const power = trustedPower(chainId, commit, nextValidators, verify)
  if (power === 'false signature') return ['bad signature', `a false signature in the commit of block ${height}`]
  if (exceedsThird(power, nextValidators)) return undefined
  return ['unresponsive', `block ${height} proves no greater height`]
}
