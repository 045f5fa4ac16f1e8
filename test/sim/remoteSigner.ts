import type { ConsensusKey, RemoteSignature, SigningRequest } from '../../src/consensus/consensusKey.ts'
import { bytesKey } from '../../src/primitives/bytes.ts'
import { createRandom, type Random } from '../fuzz/random.ts'
import type { SimNode } from './simNode.ts'
import type { SimProcess } from './simProcess.ts'

interface Signed extends RemoteSignature {
  readonly height: number
  readonly round: number
  readonly step: number
  /** what was signed, but its time */
  readonly what: string
}

/** Of an answer; now and then it takes rounds and heights. */
const LATENCY_MS = { least: 1, most: 30, mostOfSlow: 3_000 }

/**
 * A signer on a machine of its own, whose memory survives every crash of its node: CometBFT's rules (privval/file.go). Its connection is lost
 * now and then, with or without what it has just signed.
 */
export class SimRemoteSigner {
  readonly #node: SimNode
  readonly #random: Random
  #last: Signed | undefined
  #isConnected = true

  constructor(node: SimNode) {
    this.#node = node
    this.#random = createRandom(node.simulation.options.seed, 1000 + node.index)
  }

  /** The key for one life of the node's process. */
  keyFor(process: SimProcess): ConsensusKey {
    const { address, publicKey } = this.#node.key!
    /** who wanted the answer last */
    const waiting = new Map<string, (answer: RemoteSignature) => void>()
    return {
      address,
      publicKey,
      sign: (request) => {
        const bytes = bytesKey(request.signBytes)
        if (!this.#isConnected) return undefined
        return {
          signer: publicKey,
          send: (done) => {
            const isAsked = waiting.has(bytes)
            waiting.set(bytes, done)
            if (isAsked) return
            this.#ask(process, request, (answer) => {
              const last = waiting.get(bytes)
              waiting.delete(bytes)
              if (answer !== undefined) last?.(answer)
            })
          },
        }
      },
    }
  }

  /** @param done called with nothing when the connection is lost */
  #ask(process: SimProcess, request: SigningRequest, done: (answer: RemoteSignature | undefined) => void): void {
    const random = this.#random
    const { between, oneIn } = random
    const isLost = !this.#node.simulation.isCalm && oneIn(30)
    const answer = isLost && oneIn(2) ? undefined : this.#sign(request)
    if (!isLost) {
      const isSlow = !this.#node.simulation.isCalm && oneIn(20)
      const most = isSlow ? LATENCY_MS.mostOfSlow : LATENCY_MS.most
      if (answer !== undefined) process.later(between(LATENCY_MS.least, most), () => done(answer))
      return
    }
    this.#isConnected = false
    done(undefined)
    this.#node.simulation.queue.after(between(1, 1500), () => {
      this.#isConnected = true
      this.#node.process?.guard(() => this.#node.engine?.resumeSigning())
    })
  }

  #sign(request: SigningRequest): RemoteSignature | undefined {
    const asked = describe(request)
    const last = this.#last
    const order =
      last === undefined ? 1 : asked.height - last.height || asked.round - last.round || asked.step - last.step
    if (order < 0) return undefined
    if (order === 0) {
      if (asked.what === last!.what) return last
      const { simulation, index, isRestored } = this.#node
      if (!isRestored) simulation.monitor.report('a signer is asked for two messages', `node ${index} ${asked.what}`)
      return undefined
    }
    this.#last = { ...asked, signature: this.#node.key!.sign(request.signBytes) }
    return this.#last
  }
}

function describe(request: SigningRequest): Omit<Signed, 'signature'> {
  const message = request.kind === 'proposal' ? request.proposal : request.vote
  const { height, round, timestampMs, blockId } = message
  const step = request.kind === 'proposal' ? 1 : request.vote.type === 1 ? 2 : 3
  return { height, round, step, timestampMs, what: `${height}/${round}/${step} ${bytesKey(blockId.hash)}` }
}
