import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sign } from '../../bench/load/sign.ts'
import { type PeerAddress, parsePeerAddress } from '../../src/p2p/peerAddress.ts'
import { encodeBatch } from '../../src/p2p/transactionGossip.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { greet, type Visit, visitNode } from '../e2e/network/hostileVisit.ts'
import { rpc } from '../e2e/rpc.ts'
import type { Attack, Run } from './attack.ts'
import { RECEIVER } from './outsiders.ts'
import { urlOf } from './repeatedCall.ts'
import { attackerAccount, senderRange } from './transactionAttacks.ts'
import { keepVisiting, topicOf, visitOptions } from './visits.ts'

const PAUSE_MS = 20
const BATCH = 20
const PAIRS_PER_SECOND = 500
const TRANSACTIONS_PER_SECOND = 300

/** Peer ports of all nodes, the attacked one first. */
export function peersOf({ target }: Run): readonly PeerAddress[] {
  const { peerHost, peerPort, otherPeers } = target
  return [{ host: peerHost, port: peerPort }, ...otherPeers.map((peer) => parsePeerAddress(peer)!)]
}

/** Transfers of accounts that have sent nothing yet. */
function transfersOf(run: Run, attack: Parameters<typeof senderRange>[1], value: bigint): readonly Uint8Array[] {
  const { from, to } = senderRange(run, attack)
  return Array.from({ length: to - from }, (_, index) =>
    hexToBytes(sign(attackerAccount(from + index), { nonce: 0n, to: RECEIVER, value }).raw),
  )
}

/** Gossips a list in batches of its own order, at the same pace as others. */
async function gossip(run: Run, { host }: Visit, transactions: readonly Uint8Array[]): Promise<void> {
  const { pubsub } = host.services
  const topic = topicOf(run)
  while (!run.signal.aborted && pubsub.getSubscribers(topic).length === 0) await sleep(PAUSE_MS)
  const beginMs = performance.now()
  for (let at = 0; !run.signal.aborted && pubsub.getSubscribers(topic).length > 0; at += BATCH) {
    const first = at % transactions.length
    const batch = transactions.slice(first, first + BATCH)
    await pubsub.publish(topic, encodeBatch({ isRepeated: false, number: randomInt(2 ** 32), transactions: batch }))
    run.count('transactions', batch.length)
    const aheadMs = (at * 1_000) / PAIRS_PER_SECOND - (performance.now() - beginMs)
    if (aheadMs > 1) await sleep(aheadMs)
  }
}

/** Connects a peer to all nodes, which relays what it hears until the attack ends. */
async function relay(run: Run): Promise<void> {
  const [first, ...others] = peersOf(run)
  while (!run.signal.aborted) {
    await visitNode(visitOptions(run, { target: first! }), async ({ host, connection }) => {
      run.count('relayers')
      for (const target of others) {
        const joined = await greet(host, visitOptions(run, { target })).catch(() => undefined)
        if (joined !== undefined) run.count('further sessions')
      }
      while (!run.signal.aborted && connection.status === 'open') await sleep(PAUSE_MS)
      if (!run.signal.aborted) run.count('cut off')
    })
    await sleep(PAUSE_MS)
  }
}

/** What makes honest nodes send one another more than their budgets. */
export const GOSSIP_ATTACKS: readonly Attack[] = [
  {
    name: '14 conflicting transactions',
    what: `${PAIRS_PER_SECOND} pairs of transactions a second with the same nonce, one to # of the nodes and the other to the rest`,
    size: 2,
    needs: { sessions: 4, transactions: 2_000 },
    prepare: async (run) => {
      const halves = [
        transfersOf(run, 'conflicting transactions', 1n),
        transfersOf(run, 'conflicting transactions', 2n),
      ]
      const peers = peersOf(run)
      return async () => {
        await Promise.all(
          peers.map((target, index) =>
            keepVisiting(run, (visit) => gossip(run, visit, halves[index < run.size ? 0 : 1]!), { target }),
          ),
        )
      }
    },
  },
  {
    name: '14 busy relayers',
    what: `# peers connected to all nodes that relay ${TRANSACTIONS_PER_SECOND} transactions a second`,
    size: 12,
    needs: { relayers: 12, transactions: 500 },
    prepare: async (run) => {
      const { from, to } = senderRange(run, 'busy relayers')
      const transactions = Array.from({ length: to - from }, (_, index) =>
        sign(attackerAccount(from + index), { nonce: 0n, to: RECEIVER, value: 1n }),
      )
      const send = async (): Promise<void> => {
        const beginMs = performance.now()
        for (let sent = 0; !run.signal.aborted && sent < transactions.length; sent++) {
          await rpc(urlOf(run), 'eth_sendRawTransaction', transactions[sent]!.raw).then(
            () => run.count('transactions'),
            () => run.count('refused'),
          )
          const aheadMs = (sent * 1_000) / TRANSACTIONS_PER_SECOND - (performance.now() - beginMs)
          if (aheadMs > 1) await sleep(aheadMs)
        }
      }
      return async () => {
        await Promise.all([send(), ...Array.from({ length: run.size }, () => relay(run))])
      }
    },
  },
]
