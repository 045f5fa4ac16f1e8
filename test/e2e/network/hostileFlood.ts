/**
 * A process that attacks nodes with all that it can send them: `node hostileFlood.ts <JSON of FloodOptions>`. It prints a line when
 * it has begun, and ends with the standard input; then it prints what it did ({@link FloodCounts}) as JSON.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Vote } from '../../../src/chain/comet/types.ts'
import { encodeConsensusMessage } from '../../../src/consensus/messages.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { type PeerAddress, parsePeerAddress } from '../../../src/p2p/peerAddress.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { topicName } from '../../../src/p2p/topicGossip.ts'
import { encodeBatch } from '../../../src/p2p/transactionGossip.ts'
import { concatBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import { rpc } from '../rpc.ts'
import { type Visit, visitNode } from './hostileVisit.ts'
import { signTransfer } from './transfers.ts'

export interface FloodOptions {
  /** host:port each */
  readonly targets: readonly string[]
  readonly chainId: string
  /** 64 hex digits */
  readonly genesisHash: string
  readonly rpcUrl: string
}

const KINDS = ['offHeightMessages', 'badSignatures', 'garbage', 'oversized', 'refused', 'invalid'] as const

/** What was sent, and how often somebody new had to. */
export type FloodCounts = Record<(typeof KINDS)[number] | 'identities' | 'connections', number>

const BURST_MS = 20
/** Messages in one burst to one node: with the time that new peers need, more than 10,000 a second in all. */
const BURSTS = { offHeightMessages: 200, badSignatures: 200, gossip: 6 } as const
/** Milliseconds until a banned peer comes back under another name. */
const RETURN_MS = 150
/** Milliseconds until everything ends after the standard input has ended. */
const END_MS = 1_000
const SOCKETS_PER_TARGET = 40
const SOCKET_MS = 50
const PENNILESS = 100
const FORGERY_VISITS = 4

const options = JSON.parse(process.argv[2]!) as FloodOptions
const genesisHash = hexToBytes(`0x${options.genesisHash}`)
const topic = topicName('transactions', genesisHash)
const counts = Object.fromEntries([...KINDS, 'identities', 'connections'].map((name) => [name, 0])) as FloodCounts
const stopping = new AbortController()
const isOver = (): boolean => stopping.signal.aborted

/** Known to the chain, so that only the signatures of their votes are wrong. */
const validators = await readValidators()
const penniless = await Promise.all(
  Array.from({ length: PENNILESS }, async () => {
    const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
    return hexToBytes(await signTransfer(account, 0))
  }),
)
/** A transaction that nobody has signed, by target; sent by a few peers, one after the other, and never to another node. */
const forgeries = new Map<PeerAddress, { readonly transaction: Uint8Array; visits: number }>()
let height = 0

async function readValidators(): Promise<readonly Uint8Array[]> {
  const answer = await fetch(`${options.rpcUrl}/rpc/validators`)
  const { result } = (await answer.json()) as { result: { validators: readonly { address: string }[] } }
  return result.validators.map(({ address }) => hexToBytes(`0x${address.toLowerCase()}` as Hex))
}

async function followHeight(): Promise<void> {
  while (!isOver()) {
    height = Number(await rpc<string>(`${options.rpcUrl}/`, 'eth_blockNumber'))
    await sleep(500)
  }
}

/** Connects as a new peer and attacks until it is banned. */
async function visit(target: PeerAddress, attack: (visit: Visit) => Promise<void>): Promise<void> {
  await visitNode({ target, chain: { id: options.chainId, genesisHash }, height, topic }, async (visit) => {
    counts.identities++
    await attack(visit)
  })
}

const isOpen = ({ connection }: Visit): boolean => !isOver() && connection.status === 'open'

function frameOf(vote: Pick<Vote, 'height' | 'round'>): Uint8Array {
  const validatorIndex = randomInt(validators.length)
  const blockId = { hash: randomBytes(32), partSetHeader: { total: 1, hash: randomBytes(32) } }
  return encodeFrame(
    encodeConsensusMessage({
      kind: 'vote',
      vote: {
        ...vote,
        type: 1,
        blockId,
        timestampMs: Date.now(),
        validatorAddress: validators[validatorIndex]!,
        validatorIndex,
        signature: randomBytes(64),
      },
    }),
  )
}

async function sendVotes(
  visit: Visit,
  kind: 'offHeightMessages' | 'badSignatures',
  next: () => Pick<Vote, 'height' | 'round'>,
): Promise<void> {
  const stream = await visit.connection.newStream(PROTOCOLS.consensus)
  // Made once: making the messages costs more than sending them.
  const burst = concatBytes(...Array.from({ length: BURSTS[kind] }, () => frameOf(next())))
  while (isOpen(visit) && stream.status === 'open') {
    const hasRoom = stream.send(burst)
    counts[kind] += BURSTS[kind]
    await sleep(BURST_MS)
    // Its budget is spent; that of a new peer is not.
    if (!hasRoom) return
  }
}

/** One message that no honest node sends. */
async function sendOnce(visit: Visit, kind: 'garbage' | 'oversized', bytes: Uint8Array): Promise<void> {
  const protocols = [PROTOCOLS.consensus, PROTOCOLS.parts, PROTOCOLS.blocks]
  const stream = await visit.connection.newStream(protocols[randomInt(protocols.length)]!)
  stream.send(bytes)
  counts[kind]++
  while (isOpen(visit)) await sleep(BURST_MS)
}

async function gossip(visit: Visit, kind: 'refused' | 'invalid', next: () => readonly Uint8Array[]): Promise<void> {
  const { pubsub } = visit.host.services
  while (isOpen(visit) && pubsub.getSubscribers(topic).length === 0) await sleep(BURST_MS)
  while (isOpen(visit)) {
    for (let i = 0; i < BURSTS.gossip; i++) {
      const batch = { isRepeated: randomInt(2) === 0, number: randomInt(2 ** 32), transactions: next() }
      await pubsub.publish(topic, encodeBatch(batch))
      counts[kind]++
    }
    await sleep(BURST_MS)
  }
}

/** A node that only passes it on because it has seen it before is taken for its author. */
function forge(target: PeerAddress): Uint8Array {
  let forgery = forgeries.get(target)
  if (forgery === undefined || forgery.visits === FORGERY_VISITS) {
    forgery = { transaction: randomBytes(200), visits: 0 }
    forgeries.set(target, forgery)
  }
  forgery.visits++
  return forgery.transaction
}

const someTransaction = (): Uint8Array => penniless[randomInt(penniless.length)]!

const ATTACKS: readonly ((visit: Visit) => Promise<void>)[] = [
  (visit) => sendVotes(visit, 'offHeightMessages', () => ({ height: height + randomInt(10, 1_000_000), round: 0 })),
  (visit) => sendVotes(visit, 'badSignatures', () => ({ height: height + 1, round: randomInt(2) })),
  (visit) => sendOnce(visit, 'garbage', encodeFrame(randomBytes(randomInt(1, 1_000)))),
  (visit) => sendOnce(visit, 'oversized', concatBytes(Uint8Array.of(0x7f, 0xff, 0xff, 0xff), randomBytes(100_000))),
  (visit) => gossip(visit, 'refused', () => [someTransaction(), someTransaction()]),
  (visit) => {
    const forged = forge(visit.target)
    return gossip(visit, 'invalid', () => (randomInt(2) === 0 ? [forged] : [forged, someTransaction()]))
  },
]

/** Connections that never send anything, and connections of another protocol. */
async function openSockets({ host, port }: PeerAddress): Promise<void> {
  let open = 0
  while (!isOver()) {
    if (open < SOCKETS_PER_TARGET) {
      const socket = connect({ host, port })
      open++
      counts.connections++
      socket.on('error', () => undefined)
      socket.on('close', () => open--)
      if (randomInt(2) === 0) socket.write(randomBytes(5_000))
      stopping.signal.addEventListener('abort', () => socket.destroy(), { once: true })
    }
    await sleep(SOCKET_MS)
  }
}

// The streams of connections that break throw from timers, as they do in a node.
process.on('uncaughtException', () => undefined)
process.on('unhandledRejection', () => undefined)
process.stdin.on('end', () => stopping.abort())
process.stdin.resume()

const targets = options.targets.map((target) => parsePeerAddress(target)!)
const attacks = targets.flatMap((target) =>
  ATTACKS.map(async (attack) => {
    while (!isOver()) {
      await visit(target, attack)
      await sleep(RETURN_MS)
    }
  }),
)
console.log('begun')
await Promise.race([
  Promise.all([followHeight(), ...attacks, ...targets.map(openSockets)]),
  new Promise((resolve) => stopping.signal.addEventListener('abort', () => setTimeout(resolve, END_MS))),
])
console.log(JSON.stringify(counts))
process.exit()
