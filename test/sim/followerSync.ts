import type { DecidedRun } from '../../src/consensus/application.ts'
import { checkBlock } from '../../src/consensus/consensusState.ts'
import type { ConsensusMessage } from '../../src/consensus/messages.ts'
import type { BlockRequest, FetchedBlock, FetchedBlocks } from '../../src/consensus/transport.ts'
import { checkCommits } from '../../src/sync/blocks/commitChecks.ts'
import { Follower, type FollowerEnvironment } from '../../src/sync/blocks/follower.ts'
import { encodeServed } from './encodedBlock.ts'
import type { SimNode } from './simNode.ts'
import type { SimProcess } from './simProcess.ts'

const REQUEST_MS = 10_000
const VERIFY_MS = 1

/** Block sync as production runs it, over the simulator's network and application. */
export class FollowerSync {
  readonly #process: SimProcess
  readonly #node: SimNode
  readonly #follower: Follower

  constructor(process: SimProcess) {
    const { node } = process
    this.#process = process
    this.#node = node
    this.#follower = new Follower({
      environment: this.#environment(),
      state: process.stateNow(),
      get ownAddress() {
        return node.process?.ownAddress
      },
      verify: node.simulation.scheme.verify,
    })
  }

  get isRunning(): boolean {
    return this.#follower.status.mode !== 'consensus'
  }

  start(): void {
    this.#follower.start()
    for (const peer of this.#node.simulation.network.peersOf(this.#node.index)) this.joined(peer)
  }

  stop(): void {
    this.#follower.stop()
  }

  joined(peer: number): void {
    const { id, key, application, byzantine } = this.#node.simulation.nodes[peer]!
    const height = byzantine?.claims?.(application.height) ?? application.height
    this.#follower.peerJoined({ id, base: 1, height, validatorAddress: key?.address })
  }

  left(peer: number): void {
    this.#follower.peerLeft(this.#node.simulation.peerId(peer))
  }

  message(from: number, message: ConsensusMessage): void {
    if (message.kind === 'status') this.#follower.peerAt(this.#node.simulation.peerId(from), message.height - 1)
  }

  decided(): void {
    this.#follower.decided(this.#process.stateNow())
  }

  onBehind(peerHeight: number): void {
    this.#follower.onBehind(peerHeight)
  }

  #environment(): FollowerEnvironment {
    const process = this.#process
    const { node } = process
    const { simulation } = node
    return {
      nowMs: () => simulation.queue.nowMs,
      setTimer: (delayMs, run) => process.later(delayMs, run),
      request: (id, peer, request) => this.#request(id, simulation.peerIndex(peer), request),
      verify: (id, checks) => {
        const reasons = checkCommits(checks, simulation.scheme.verify)
        process.later(VERIFY_MS, () => this.#follower.verified(id, reasons))
      },
      prepare: () => undefined,
      apply: (run) => this.#apply(run),
      startEngine: () => process.startEngine(),
      stopEngine: () => {
        node.syncs++
        process.stopEngine()
        const wait = (): void => {
          if (process.isClosing) process.later(1, wait)
          else this.#follower.engineStopped(process.stateNow())
        }
        process.later(0, wait)
      },
      punish: (peer, what, reason) => simulation.punished(node, peer, what, reason),
      publish: () => undefined,
      halt: (reason) => node.halt(new Error(reason)),
      log: (_level, message, fields) => {
        if (simulation.traces) simulation.trace(node.index, `sync: ${message} ${JSON.stringify(fields)}`)
      },
    }
  }

  /** Executes a run, or its first blocks, one at a time: the process may crash in the middle of it. */
  #apply({ blocks }: Pick<DecidedRun, 'blocks'>, index = 0): void {
    const process = this.#process
    process.later(process.node.work.finalizeMs, () => {
      process.execute(blocks[index]!)
      const next = blocks[index + 1]
      const state = process.stateNow()
      if (next !== undefined && checkBlock(state, next.block, 'verified') === undefined) {
        this.#apply({ blocks }, index + 1)
        return
      }
      const executed = blocks.slice(0, index + 1)
      this.#follower.applied(
        state,
        executed.reduce((sum, { block }) => sum + block.txs.length, 0),
      )
    })
  }

  #request(id: number, peer: number, request: BlockRequest): void {
    const process = this.#process
    const { node } = process
    let isOpen = true
    const close = (): boolean => {
      const wasOpen = isOpen
      isOpen = false
      return wasOpen
    }
    process.later(REQUEST_MS, () => {
      if (close()) this.#follower.failed(id)
    })
    node.ask(
      peer,
      () => serve(node.simulation.nodes[peer]!, node.index, request),
      (answer) => {
        if (close()) this.#follower.answered(id, answer)
      },
    )
  }
}

/** What a node answers to a request; undefined: nothing. */
function serve(
  node: SimNode,
  from: number,
  request: BlockRequest,
): { answer: FetchedBlocks; bytes: number } | undefined {
  const { application, byzantine } = node
  const blocks: FetchedBlock[] = []
  let bytes = 0
  for (let height = request.from; blocks.length < request.count && bytes <= request.maxBytes; height++) {
    const lie = byzantine?.serve?.(node, from, height)
    if (lie === 'silent') return undefined
    const known = application.block(height)
    if (lie === undefined && known === undefined) break
    // Peers serve the commit that the next block holds, where there is one.
    const commit = application.block(height + 1)?.block.lastCommit ?? known?.seenCommit
    const encoded = encodeServed(lie ?? { block: known!.block, commit: commit! })
    blocks.push(encoded)
    bytes += encoded.block.length + encoded.commit.length
  }
  const height = byzantine?.claims?.(application.height) ?? application.height
  return { answer: { base: 1, height, blocks }, bytes: bytes + 50 }
}
