import { type ConsensusBlock, decodeBlock, headerHash } from '../../src/chain/comet/block.ts'
import { decodeCommit } from '../../src/chain/comet/commit.ts'
import type { Commit } from '../../src/chain/comet/types.ts'
import type { ConsensusEnvironment } from '../../src/consensus/environment.ts'
import type { ConsensusMessage } from '../../src/consensus/messages.ts'
import type { PeerId } from '../../src/consensus/transport.ts'
import { checkSent } from './checkSent.ts'
import { describeMessage } from './describeMessage.ts'
import type { EngineLike } from './engineLike.ts'
import type { SimProcess } from './simProcess.ts'

/** Without an answer by then a fetch has failed. */
const FETCH_TIMEOUT_MS = 3_000

/** Reading a clock or reporting on it changes nothing, so the process is not killed at such a call. */
const READINGS: readonly string[] = ['nowMs', 'monotonicMs', 'onTimedProposal']

/** The virtual world as an engine sees it. The process may be killed at every call; after that, calls do nothing. */
export function createEnvironment(process: SimProcess): ConsensusEnvironment {
  const guarded = Object.entries(livingEnvironment(process)).map(([name, run]) => {
    if (typeof run !== 'function' || READINGS.includes(name)) return [name, run]
    const call = (...args: never[]): unknown => {
      if (process.dies()) return () => undefined
      return (run as (...args: never[]) => unknown)(...args)
    }
    return [name, call]
  })
  return Object.fromEntries(guarded) as ConsensusEnvironment
}

function livingEnvironment(process: SimProcess): ConsensusEnvironment {
  const { node } = process
  const { simulation, work, application } = node
  const answer = (delayMs: number, run: (engine: EngineLike) => void): void => {
    process.later(delayMs, () => {
      if (process.engine !== undefined) run(process.engine)
    })
  }
  return {
    wal: process.loggedLog,
    nowMs: () => node.nowMs(),
    monotonicMs: () => simulation.queue.nowMs,
    setTimer: (delayMs, run) => process.later(delayMs, run),
    send: (to, message) => send(process, to, message),
    fetchDecided: (from, height) => fetchDecided(process, from, height),
    punish: (peer, what, reason) => simulation.punished(node, peer, what, reason),
    onRoundBegan: () => undefined,
    onRefused: () => undefined,
    build: (request, round) => {
      const data = application.prepareProposal(request)
      answer(work.buildMs, (engine) => engine.built(request.height, round, data))
    },
    validate: (block) => {
      const reason = application.processProposal(block)
      const hash = headerHash(block.header)
      answer(work.validateMs, (engine) => engine.validated(block.header.height, hash, reason))
    },
    finalize: (decided) => process.finalize(decided),
    publishEvidence: (evidence) => process.publish(evidence),
    onUnknownSignature: (vote) => process.onUnknownSignature(vote),
    onTimedProposal: (timestampMs, receivedMs) => node.watchClock(timestampMs, receivedMs),
    onDecided: () => undefined,
    onBehind: (height, peerHeight) => {
      simulation.trace(node.index, `is at ${height}, behind ${peerHeight}`)
      process.onBehind(peerHeight)
    },
    onHalt: (error) => node.halt(error),
    log: (message, fields) => {
      if (simulation.traces) simulation.trace(node.index, `log: ${message} ${JSON.stringify(fields)}`)
    },
  }
}

function send(process: SimProcess, to: readonly PeerId[], message: ConsensusMessage): void {
  const { node } = process
  const { simulation, byzantine } = node
  const peers = to.map((peer) => simulation.peerIndex(peer))
  if (simulation.traces) simulation.trace(node.index, `-> ${to.join(',')} ${describeMessage(message)}`)
  if (byzantine === undefined) checkSent(process, message)
  if (byzantine?.send === undefined) node.transmit(peers, message)
  else byzantine.send(node, peers, message)
}

function fetchDecided(process: SimProcess, from: PeerId, height: number): void {
  const { node } = process
  const { simulation } = node
  if (simulation.traces) simulation.trace(node.index, `asks ${from} for block ${height}`)
  let isOpen = true
  const fail = (): void => {
    if (!isOpen) return
    isOpen = false
    process.engine?.fetchFailed(from, height)
  }
  process.later(FETCH_TIMEOUT_MS, fail)
  node.request(simulation.peerIndex(from), height, (served) => {
    if (!isOpen) return
    let block: ConsensusBlock | undefined
    let commit: Commit | undefined
    try {
      block = served && decodeBlock(served.block)
      commit = served && decodeCommit(served.commit)
    } catch {
      // An answer that cannot be read counts as none.
    }
    if (block?.header.height !== height || commit === undefined) {
      fail()
      return
    }
    isOpen = false
    process.engine?.receiveDecided(from, block, commit)
  })
}
