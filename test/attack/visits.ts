import { setTimeout as sleep } from 'node:timers/promises'
import type { PeerAddress } from '../../src/p2p/peerAddress.ts'
import { topicName } from '../../src/p2p/topicGossip.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { type Visit, type VisitOptions, visitNode } from '../e2e/network/hostileVisit.ts'
import type { Run } from './attack.ts'

const PAUSE_MS = 20

interface Visitors {
  /** the address that the next visitor announces as its own; by default none */
  readonly claim?: () => string
  /** that visitors claim to have */
  readonly height?: number
  /** whom they visit; by default the attacked node */
  readonly target?: PeerAddress
}

/** Visits a node again and again, as another peer from another address each time. */
export async function keepVisiting(
  run: Run,
  attack: (visit: Visit) => Promise<void>,
  visitors: Visitors = {},
): Promise<void> {
  while (!run.signal.aborted) {
    let isIn = false
    await visitNode(visitOptions(run, visitors), async (visit) => {
      isIn = true
      run.count('sessions')
      await attack(visit)
    })
    if (!isIn) run.count('refused')
    await sleep(PAUSE_MS)
  }
}

/** Options of a visit by a new peer from a new address. */
export function visitOptions(run: Run, { claim, height = 1, target }: Visitors = {}): VisitOptions {
  const { peerHost, peerPort, chainId, genesisHash } = run.target
  return {
    target: target ?? { host: peerHost, port: peerPort },
    chain: { id: chainId, genesisHash: hexToBytes(`0x${genesisHash}`) },
    height,
    topic: topicOf(run),
    externalAddress: claim?.() ?? '',
    from: run.freshAddress(),
  }
}

/** Topic of gossiped transactions. */
export function topicOf({ target }: Run): string {
  return topicName('transactions', hexToBytes(`0x${target.genesisHash}`))
}
