import { randomBytes, randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { accountOf, sign } from '../../bench/load/sign.ts'
import { encodeBlock, headerHash } from '../../src/chain/comet/block.ts'
import { encodeCommit } from '../../src/chain/comet/commit.ts'
import { createPartSet } from '../../src/chain/comet/partSet.ts'
import { BLOCK_ID_FLAGS, type CommitSig, EMPTY_COMMIT, NIL_BLOCK_ID } from '../../src/chain/comet/types.ts'
import { createBitSet } from '../../src/consensus/bitSet.ts'
import { encodeConsensusMessage } from '../../src/consensus/messages.ts'
import { STEPS } from '../../src/consensus/roundStateView.ts'
import { decodeBlockRequest, encodeBlockFrame, encodeBlockRequest } from '../../src/p2p/blockExchange.ts'
import { encodeFrame, readFrame } from '../../src/p2p/frames.ts'
import { LIMITS, REQUEST_LIMITS } from '../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../src/p2p/protocols.ts'
import { encodeBatch } from '../../src/p2p/transactionGossip.ts'
import { toAddress } from '../../src/primitives/address.ts'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import type { Visit } from '../e2e/network/hostileVisit.ts'
import { rpc } from '../e2e/rpc.ts'
import type { Attack, Run } from './attack.ts'
import { openSocket } from './load.ts'
import { urlOf } from './repeatedCall.ts'
import { attackerAccount, senderRange } from './transactionAttacks.ts'
import { keepVisiting, topicOf } from './visits.ts'

const RECEIVER = toAddress(new Uint8Array(20).fill(0xdd))
const BURST_MS = 20
/** Addresses of the flood of connections. */
const FLOOD_ADDRESSES = 29
const CHUNK = 60 << 10
const STATUSES = 39
const PEERS = 4
const BATCH = 50
/** A peer with more refused transactions is not read any more; the attacker comes back under another name. */
const PER_VISIT = 5_000
/** Every so manieth batch has a transaction that nobody has signed. */
const FORGED_EVERY = 40

/** The negotiation of the noise protocol, and the first bytes of its first message. */
const NOISE_START = concatBytes(
  multistream('/multistream/1.0.0\n'),
  multistream('/noise\n'),
  Uint8Array.of(0x00, 0x20),
  randomBytes(16),
)

/** A line of multistream-select: its length and itself. */
function multistream(line: string): Uint8Array {
  return concatBytes(Uint8Array.of(line.length), new TextEncoder().encode(line))
}

/** What peers can send to port 26656. */
export const PEER_ATTACKS: readonly Attack[] = [
  {
    name: 'half handshakes',
    what: '# raw sockets on the peer port that begin a noise handshake, again and again',
    size: 3_000,
    needs: { connections: 100 },
    isCostly: true,
    prepare: async (run) => async () => {
      const { peerHost: host, peerPort: port } = run.target
      const knock = async (): Promise<void> => {
        const localAddress = run.freshAddress()
        while (!run.signal.aborted) {
          const socket = await openSocket(run, { host, port, localAddress })
          if (socket === undefined) continue
          run.count('connections')
          socket.resume()
          // All that a handshake of the protocol needs to begin, and for every second one garbage in place of the rest.
          socket.write(randomInt(2) === 0 ? NOISE_START : concatBytes(NOISE_START, randomBytes(16), randomBytes(100)))
          await new Promise((resolve) => socket.once('close', resolve))
          await sleep(BURST_MS)
        }
      }
      await Promise.all(Array.from({ length: run.size }, knock))
    },
  },
  {
    name: 'invalid transactions',
    what: `${PEERS} peers at a time that send # invalid transactions a second`,
    size: 10_000,
    needs: { sessions: 4, transactions: 1_000 },
    prepare: async (run) => {
      const penniless = await pennilessTransactions(run, 60_000)
      return () => sendInvalid(run, penniless)
    },
  },
  {
    name: 'garbage streams',
    what: '# peers at a time that send garbage on every protocol until they are banned',
    size: 8,
    needs: { sessions: 8, messages: 8 },
    prepare: async (run) => async () => {
      const protocols = [PROTOCOLS.consensus, PROTOCOLS.parts, PROTOCOLS.blocks]
      const attack = async ({ connection }: Visit): Promise<void> => {
        const stream = await connection.newStream(protocols[randomInt(protocols.length)]!)
        while (!run.signal.aborted && connection.status === 'open') {
          stream.send(encodeFrame(randomBytes(randomInt(1, 1_000))))
          run.count('messages')
          await sleep(BURST_MS)
        }
      }
      await Promise.all(Array.from({ length: run.size }, () => keepVisiting(run, attack)))
    },
  },
  {
    name: 'false addresses',
    what: '# peers at a time that announce the address of another node, and leave',
    size: 8,
    needs: { claims: 8 },
    prepare: async (run) => async () => {
      const { otherPeers } = run.target
      const attack = async (): Promise<void> => {
        run.count('claims')
        await sleep(BURST_MS)
      }
      const claim = () => otherPeers[randomInt(otherPeers.length)]!
      await Promise.all(Array.from({ length: run.size }, () => keepVisiting(run, attack, { claim })))
    },
  },
  {
    name: 'connection flood',
    what: `# connections a second from ${FLOOD_ADDRESSES} addresses, each with half a handshake`,
    size: 300,
    needs: { connections: 100 },
    prepare: async (run) => () => floodConnections(run),
  },
  {
    name: 'unread answers',
    what: '# peers that ask for blocks and do not read them',
    size: 5,
    needs: { sessions: 5, requests: 5 },
    prepare: async (run) => async () => {
      await Promise.all(Array.from({ length: run.size }, () => keepVisiting(run, (visit) => holdAnswers(run, visit))))
    },
  },
  {
    name: 'small parts',
    what: '# peers that send parts of a few bytes, for a height that is far away',
    size: 4,
    prepare: async (run) => () => sendSmall(run, PROTOCOLS.parts, () => smallPart(FAR_HEIGHT)),
  },
  {
    name: 'small parts of the height',
    what: '# peers that send parts of a byte for the height that is being decided',
    size: 4,
    prepare: async (run) => async () => {
      let part = smallPart(FAR_HEIGHT)
      const follow = async (): Promise<void> => {
        while (!run.signal.aborted) {
          part = smallPart(1 + Number(await rpc<string>(urlOf(run), 'eth_blockNumber').catch(() => '0x0')))
          await sleep(100)
        }
      }
      await Promise.all([follow(), sendSmall(run, PROTOCOLS.parts, () => part)])
    },
  },
  {
    name: 'statuses',
    what: '# peers that send statuses just below their rate, of a node that has nothing',
    size: 40,
    prepare: async (run) => () => sendStatuses(run),
  },
  {
    name: 'false proofs',
    what: '# peers at a time that claim a great height and prove it with a commit of 40,000 false signatures',
    size: 8,
    needs: { sessions: 8, proofs: 8 },
    prepare: async (run) => {
      const answer = await fetch(`${urlOf(run)}rpc/validators`)
      const { validators } = ((await answer.json()) as { result: { validators: { address: string }[] } }).result
      const address = hexToBytes(`0x${validators[0]!.address.toLowerCase()}`)
      return async () => {
        const prove = async ({ host, connection }: Visit): Promise<void> => {
          await host.handle(PROTOCOLS.blocks, async (stream) => {
            const { from } = decodeBlockRequest(await readFrame(stream, LIMITS.requestBytes, LIMITS.requestMs))
            for (const body of falseProof(run, from, address)) stream.send(encodeFrame(body))
            run.count('proofs')
          })
          for (let waitedMs = 0; waitedMs < 4_000 && connection.status === 'open'; waitedMs += 100) await sleep(100)
        }
        await Promise.all(Array.from({ length: run.size }, () => keepVisiting(run, prove, { height: 1e9 })))
      }
    },
  },
  {
    name: 'single messages',
    what: `${PEERS} peers that send # messages a second, each with one valid transaction`,
    size: 1_130,
    needs: { sessions: 4, messages: 1_000 },
    prepare: async (run) => {
      const transactions: Uint8Array[] = []
      const { from, to } = senderRange(run, 'single messages')
      for (let index = from; index < to && !run.signal.aborted; index++) {
        const { raw } = sign(attackerAccount(index), { nonce: 0n, to: RECEIVER, value: 1n })
        transactions.push(hexToBytes(raw))
        if (index % 1_000 === 0) await sleep(0)
      }
      return () => sendSingly(run, transactions)
    },
  },
]

/** The answer to a request for a block: one that is encoded correctly, with a commit that names one validator again and again. */
function falseProof({ target }: Run, from: number, validatorAddress: Uint8Array): readonly Uint8Array[] {
  const hash = new Uint8Array(32).fill(1)
  const hashes = {
    lastCommitHash: hash,
    dataHash: hash,
    validatorsHash: hash,
    nextValidatorsHash: hash,
    evidenceHash: hash,
  }
  const header = {
    version: { block: 11, app: 1 },
    chainId: target.chainId,
    height: Math.max(1, from),
    timeMs: Date.now(),
    lastBlockId: NIL_BLOCK_ID,
    ...hashes,
    consensusHash: hash,
    appHash: hash,
    lastResultsHash: hash,
    proposerAddress: validatorAddress,
  }
  const block = encodeBlock({ header, txs: [], evidence: [], lastCommit: EMPTY_COMMIT })
  const blockId = { hash: headerHash(header), partSetHeader: createPartSet(block).header }
  const signature = { flag: BLOCK_ID_FLAGS.commit, validatorAddress, timestampMs: 1, signature: new Uint8Array(64) }
  const signatures = Array<CommitSig>(from === 0 ? 1 : 40_000).fill(signature)
  const commit = encodeCommit({ height: header.height, round: 0, blockId, signatures })
  const standing = encodeBlockFrame({ kind: 'standing', base: 1, height: 1e9 })
  const given = encodeBlockFrame({ kind: 'block', block: { block, commit } })
  return [standing, ...(from === 0 ? [] : [given]), encodeBlockFrame({ kind: 'end' })]
}

/** Raw connections from many addresses. */
async function floodConnections({ target, signal, size, count, freshAddress }: Run): Promise<void> {
  const addresses = Array.from({ length: FLOOD_ADDRESSES }, freshAddress)
  for (let opened = 0; !signal.aborted; opened++) {
    const localAddress = addresses[opened % FLOOD_ADDRESSES]!
    const socket = connect({ host: target.peerHost, port: target.peerPort, localAddress })
    socket.on('error', () => count('broken'))
    socket.on('connect', () => {
      count('connections')
      socket.write(NOISE_START)
    })
    socket.resume()
    await sleep(1_000 / size)
  }
}

const FAR_HEIGHT = 2 ** 40

/** A part that a node can decode, of the least length. */
function smallPart(height: number): Uint8Array {
  const proof = { total: 1, index: 0, leafHash: new Uint8Array(32), aunts: [] }
  const part = { index: 0, bytes: Uint8Array.of(1), proof }
  return encodeFrame(encodeConsensusMessage({ kind: 'part', height, round: 0, part }))
}

/** Sends as many frames as are taken, many of them in each message of the connection. */
async function sendSmall(run: Run, protocol: string, next: () => Uint8Array): Promise<void> {
  const attack = async ({ connection }: Visit): Promise<void> => {
    run.count('peers')
    const stream = await connection.newStream(protocol)
    while (!run.signal.aborted && connection.status === 'open') {
      const one = next()
      const many = Buffer.concat(Array<Uint8Array>(Math.floor(CHUNK / one.length)).fill(one))
      run.count('frames', Math.floor(CHUNK / one.length))
      if (!stream.send(many)) await stream.onDrain({ signal: run.signal })
      await sleep(0)
    }
  }
  await Promise.all(Array.from({ length: run.size }, () => keepVisiting(run, attack)))
}

async function sendStatuses(run: Run): Promise<void> {
  const none = createBitSet(4)
  let height = 1
  const follow = async (): Promise<void> => {
    while (!run.signal.aborted) {
      height = 1 + Number(await rpc<string>(urlOf(run), 'eth_blockNumber').catch(() => '0x0'))
      await sleep(100)
    }
  }
  const attack = async ({ connection }: Visit): Promise<void> => {
    run.count('peers')
    const stream = await connection.newStream(PROTOCOLS.consensus)
    const beginMs = performance.now()
    for (let sent = 0; !run.signal.aborted && connection.status === 'open'; ) {
      const status = encodeConsensusMessage({
        kind: 'status',
        height,
        round: 0,
        step: STEPS.propose,
        hasProposal: false,
        parts: undefined,
        prevotes: none,
        precommits: none,
        pol: undefined,
        lastCommit: undefined,
        directValidators: none,
      })
      const frames = Buffer.concat(Array<Uint8Array>(STATUSES).fill(encodeFrame(status)))
      if (!stream.send(frames)) await stream.onDrain({ signal: run.signal })
      sent += STATUSES
      run.count('statuses', STATUSES)
      const aheadMs = (sent * 1_000) / (LIMITS.messages.perSecond - 10) - (performance.now() - beginMs)
      if (aheadMs > 1) await sleep(aheadMs)
    }
  }
  await Promise.all([follow(), ...Array.from({ length: run.size }, () => keepVisiting(run, attack))])
}

/** Asks for blocks on as many streams as a peer may have, and reads nothing. */
export async function holdAnswers(run: Run, { connection }: Visit): Promise<void> {
  const hold = async (): Promise<void> => {
    while (!run.signal.aborted && connection.status === 'open') {
      const stream = await connection.newStream(PROTOCOLS.blocks)
      stream.pause()
      stream.send(encodeFrame(encodeBlockRequest({ from: 1, count: 512, maxBytes: LIMITS.bytesPerAnswer })))
      run.count('requests')
      while (stream.status === 'open' && !run.signal.aborted) await sleep(BURST_MS)
    }
  }
  await Promise.all(Array.from({ length: REQUEST_LIMITS.blocks.inFlight }, hold))
}

/** Each message has one transaction that the pool accepts. */
async function sendSingly(run: Run, transactions: readonly Uint8Array[]): Promise<void> {
  const topic = topicOf(run)
  let next = 0
  const attack = async ({ host }: Visit): Promise<void> => {
    const { pubsub } = host.services
    while (!run.signal.aborted && pubsub.getSubscribers(topic).length === 0) await sleep(BURST_MS)
    const beginMs = performance.now()
    for (let sent = 0; !run.signal.aborted && pubsub.getSubscribers(topic).length > 0; sent++) {
      const transaction = transactions[next++ % transactions.length]!
      const data = encodeBatch({ isRepeated: false, number: randomInt(2 ** 32), transactions: [transaction] })
      await pubsub.publish(topic, data)
      run.count('messages')
      const aheadMs = (sent * 1_000 * PEERS) / run.size - (performance.now() - beginMs)
      if (aheadMs > 1) await sleep(aheadMs)
    }
  }
  await Promise.all(Array.from({ length: PEERS }, () => keepVisiting(run, attack)))
}

/** Signed rightly by accounts that have nothing: a node must recover each sender before it knows. */
async function pennilessTransactions(run: Run, count: number): Promise<readonly Uint8Array[]> {
  const made: Uint8Array[] = []
  while (made.length < count && !run.signal.aborted) {
    const { raw } = sign(accountOf(`penniless ${made.length}`), { nonce: 0n, to: RECEIVER, value: 1n })
    made.push(hexToBytes(raw))
    if (made.length % 1_000 === 0) await sleep(0)
  }
  return made
}

async function sendInvalid(run: Run, penniless: readonly Uint8Array[]): Promise<void> {
  const perSecondEach = run.size / PEERS
  let next = 0
  const attack = async ({ host }: Visit): Promise<void> => {
    const { pubsub } = host.services
    const topic = topicOf(run)
    while (!run.signal.aborted && pubsub.getSubscribers(topic).length === 0) await sleep(BURST_MS)
    const beginMs = performance.now()
    for (let sent = 0; sent < PER_VISIT && !run.signal.aborted && pubsub.getSubscribers(topic).length > 0; ) {
      const transactions = Array.from({ length: BATCH }, () => penniless[next++ % penniless.length]!)
      if (randomInt(FORGED_EVERY) === 0) transactions[0] = randomBytes(120)
      await pubsub.publish(topic, encodeBatch({ isRepeated: false, number: randomInt(2 ** 32), transactions }))
      sent += BATCH
      run.count('transactions', BATCH)
      const aheadMs = (sent / perSecondEach) * 1_000 - (performance.now() - beginMs)
      if (aheadMs > 1) await sleep(aheadMs)
    }
  }
  await Promise.all(Array.from({ length: PEERS }, () => keepVisiting(run, attack)))
}
