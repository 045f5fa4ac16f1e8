import type { OlderBlocks, OlderBlocksStart, VerifiedBlock } from '../../chain/store/olderBlocks.ts'
import type { Misbehaviour, PeerId } from '../../consensus/transport.ts'
import type { MissingBlocks } from '../../execution/backfillBlocks.ts'

/** The network as the backfill uses it. A request rejects when the peer is gone, or does not answer in time. */
interface BackfillNetwork {
  /** Returns the connected peers, in any order. */
  peers(): Promise<readonly PeerId[]>
  fetchOlderBlocks(peer: PeerId, asked: { readonly highest: number; readonly count: number }): Promise<OlderBlocks>
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
}

export interface BackfillOptions {
  readonly chainId: string
  readonly network: BackfillNetwork
  /** the blocks that the executor lacks, and the place where they go */
  readonly chain: {
    missing(): Promise<MissingBlocks | 'complete' | 'wait'>
    add(blocks: readonly VerifiedBlock[]): Promise<void>
  }
  /** See `verifyOlderBlocks`. In a thread that has time. */
  readonly verify: (blocks: OlderBlocks, start: OlderBlocksStart) => Promise<string | readonly VerifiedBlock[]>
  /** whether the node takes part in consensus: that comes first */
  readonly isInStep: () => boolean
  /** milliseconds, monotonic */
  readonly nowMs: () => number
  /** @throws the signal's reason */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly log: (level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>) => void
  /** called with the lowest height that is there, and how many blocks were added just now */
  readonly onProgress: (lowest: number, added: number) => void
}

/** Pause between two checks for blocks to fetch and for peers to ask. */
const LOOK_MS = 500
/** Time for which a peer that has no such block, or did not answer, is not asked again. */
const PAUSE_MS = 30_000
const LINE_MS = 10_000

/**
 * Fetches the old blocks that are missing in a node that started from a snapshot, from the highest
 * down, one answer of one peer after another. A peer that sends false blocks is banned, and another
 * one is asked. Nothing waits for it: until a block is there, its evidence is not judged.
 * @throws the signal's reason; what the chain throws
 */
export async function backfill(options: BackfillOptions, signal: AbortSignal): Promise<void> {
  const { network, chain, log, nowMs, sleep } = options
  /** until when a peer is not asked */
  const paused = new Map<PeerId, number>()
  let hasBegun = false
  let isWaiting = false
  let lineMs = nowMs() + LINE_MS

  /** Chooses a connected peer that may be asked, each in turn; undefined when there is no such peer. */
  let turn = 0
  const choose = async (): Promise<PeerId | undefined> => {
    const peers = await network.peers()
    for (const peer of paused.keys()) if (!peers.includes(peer)) paused.delete(peer)
    const free = peers.filter((peer) => (paused.get(peer) ?? 0) <= nowMs())
    return free[turn++ % Math.max(1, free.length)]
  }
  /** @returns the valid part of a peer's answer; undefined when nothing in it was useful */
  const ask = async (peer: PeerId, missing: MissingBlocks): Promise<readonly VerifiedBlock[] | undefined> => {
    let answer: OlderBlocks
    try {
      answer = await network.fetchOlderBlocks(peer, { highest: missing.highest, count: missing.count })
    } catch {
      // The network has logged why it did not answer.
      return undefined
    }
    if (answer.blocks.length === 0) return undefined
    const { link, validators } = missing
    const verified = await options.verify(answer, { link, validators, chainId: options.chainId })
    if (typeof verified !== 'string') return verified.length === 0 ? undefined : verified
    log('warn', 'a peer gave false old blocks', { peer, reason: verified })
    network.punish(peer, 'malformed', verified)
    return undefined
  }

  for (;;) {
    signal.throwIfAborted()
    const missing = options.isInStep() ? await chain.missing() : 'wait'
    if (missing === 'complete') break
    if (missing === 'wait') {
      await sleep(LOOK_MS, signal)
      continue
    }
    if (!hasBegun) log('info', 'fetching old headers, by which evidence is judged', { from: missing.highest })
    hasBegun = true
    const peer = await choose()
    if (peer === undefined) {
      if (!isWaiting)
        log('info', 'no peer has the old headers that are missing: waiting for one', { from: missing.highest })
      isWaiting = true
      await sleep(LOOK_MS, signal)
      continue
    }
    const blocks = await ask(peer, missing)
    signal.throwIfAborted()
    const lowest = blocks?.at(-1)?.height
    if (blocks === undefined || lowest === undefined) {
      paused.set(peer, nowMs() + PAUSE_MS)
      continue
    }
    isWaiting = false
    await chain.add(blocks)
    options.onProgress(lowest, blocks.length)
    if (nowMs() < lineMs) continue
    lineMs = nowMs() + LINE_MS
    log('info', 'fetching old headers', { lowest })
  }
  if (hasBegun) log('info', 'all old headers that are needed are there', {})
}
