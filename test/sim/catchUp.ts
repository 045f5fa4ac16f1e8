import { decodeBlock, headerHash } from '../../src/chain/comet/block.ts'
import { decodeCommit, verifyCommit } from '../../src/chain/comet/commit.ts'
import { createPartSet } from '../../src/chain/comet/partSet.ts'
import { checkBlock } from '../../src/consensus/consensusState.ts'
import type { SimProcess } from './simProcess.ts'

const PAUSE_MS = 100
const ANSWER_MS = 2_000

/**
 * A plain stand-in for block sync, for simulations of consensus: takes block after block from any peer that has the next
 * one, checks it with production's functions, and starts the engine again when no peer has more.
 */
export class CatchUp {
  readonly #process: SimProcess
  isRunning = false
  #asked = 0

  constructor(process: SimProcess) {
    this.#process = process
  }

  start(): void {
    if (this.isRunning) return
    this.isRunning = true
    this.#asked++
    this.#process.stopEngine()
    this.#next()
  }

  stop(): void {
    this.isRunning = false
    this.#asked++
  }

  #next(): void {
    const process = this.#process
    const { node } = process
    const asked = ++this.#asked
    if (process.isClosing) {
      process.later(1, () => {
        if (this.isRunning && this.#asked === asked) this.#next()
      })
      return
    }
    const { network, nodes } = node.simulation
    const height = node.application.height + 1
    const peers = network.peersOf(node.index)
    const ahead = peers.filter((peer) => nodes[peer]!.isUp && nodes[peer]!.application.height >= height)
    if (ahead.length === 0 && peers.length > 0) {
      this.isRunning = false
      process.startEngine()
      return
    }
    const again = (): void => {
      if (this.isRunning && this.#asked === asked) this.#next()
    }
    if (ahead.length === 0) {
      process.later(PAUSE_MS, again)
      return
    }
    const peer = node.random.pick(ahead)
    process.later(ANSWER_MS, again)
    node.request(peer, height, (served) => {
      if (!this.isRunning || this.#asked !== asked) return
      if (served !== undefined && this.#apply(served.block, served.commit)) this.#next()
      else process.later(PAUSE_MS, again)
    })
  }

  #apply(blockBytes: Uint8Array, commitBytes: Uint8Array): boolean {
    const process = this.#process
    const { node } = process
    const { chain, scheme } = node.simulation
    const block = decodeBlock(blockBytes)
    const commit = decodeCommit(commitBytes)
    const state = process.stateNow()
    const { header } = createPartSet(blockBytes)
    const blockId = { hash: headerHash(block.header), partSetHeader: header }
    const target = { chainId: chain.chainId, height: state.lastHeight + 1, blockId, validators: state.validators }
    if (!verifyCommit(target, commit, scheme.verify).valid) return false
    if (checkBlock(state, block, scheme.verify) !== undefined) return false
    process.execute({ block, blockId, seenCommit: commit })
    return true
  }
}
