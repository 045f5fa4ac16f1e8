import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { encodeBlock } from '../../../../../src/chain/comet/block.ts'
import { encodeCommit } from '../../../../../src/chain/comet/commit.ts'
import type { Evidence, Vote } from '../../../../../src/chain/comet/types.ts'
import type { ConsensusMessage } from '../../../../../src/consensus/messages.ts'
import type { PeerDescription, TransportEvents } from '../../../../../src/consensus/transport.ts'
import { unpackTransactions } from '../../../../../src/mempool/packedMessages.ts'
import { createNetworkTransport, type NetworkTransport } from '../../../../../src/node/roles/main/networkTransport.ts'
import type { NetworkData, NetworkService } from '../../../../../src/node/roles/network/networkThread.ts'
import { createNodeCopies } from '../../../../../src/node/roles/socket/cometNode.ts'
import { channel, spawnThread } from '../../../../../src/node/start/spawn.ts'
import { readCopies } from '../../../../../src/node/wire/copyOnRequest.ts'
import { type PackedBytes, unpackBytes } from '../../../../../src/node/wire/packedBytes.ts'
import { connect, notify, type Remote, serve } from '../../../../../src/node/wire/port.ts'
import {
  createGate,
  createPublishedHeight,
  openGate,
  raisePublishedHeight,
} from '../../../../../src/node/wire/sharedMemory.ts'
import { createValidatorProof } from '../../../../../src/p2p/hello.ts'
import { peerCounts } from '../../../../../src/p2p/limits.ts'
import type { NetInfo } from '../../../../../src/p2p/netInfo.ts'
import { nodeId } from '../../../../../src/p2p/nodeKey.ts'
import { encodeBatch } from '../../../../../src/p2p/transactionGossip.ts'
import { ed25519Address } from '../../../../../src/primitives/ed25519.ts'
import { keccak256 } from '../../../../../src/primitives/hash.ts'
import { createTestChain, type TestChain } from '../../../../support/execution/testChain.ts'
import { policyWith, randomKey, until } from '../../../../support/p2p/testNode.ts'

/** A node's main thread beside its real network thread; pool and view threads are played by the test. */
interface ThreadedNode {
  readonly id: string
  readonly remote: Remote<NetworkService>
  /** as socket threads read it */
  readonly netInfo: () => Promise<NetInfo>
  readonly transport: NetworkTransport
  readonly joined: PeerDescription[]
  readonly left: string[]
  readonly messages: { readonly from: string; readonly message: ConsensusMessage }[]
  readonly evidence: Evidence[]
  /** transactions that were offered to the pool */
  readonly offered: { readonly raw: Uint8Array; readonly sender: Uint8Array; readonly hash: Uint8Array }[]
  readonly fromPool: MessagePort
  peers: number
}

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

const VALIDATOR = randomKey()
const SENDER = new Uint8Array(20).fill(3)

interface Setting {
  readonly seedPeer?: { readonly id: string; readonly port: number }
  readonly listen?: NetworkData['listen']
  /** whether the path of the address book is a directory */
  readonly isBookUnreadable?: true
}

async function startThreadedNode(chain: TestChain, setting: Setting = {}): Promise<ThreadedNode> {
  const { seedPeer, listen = { host: '127.0.0.1', port: 0 } } = setting
  const key = randomKey()
  const directory = mkdtempSync(join(tmpdir(), 'coind-network-'))
  undo.push(() => rmSync(directory, { recursive: true, force: true }))
  if (setting.isBookUnreadable) mkdirSync(join(directory, 'peers.json'))
  const [reports, evidencePort, admissions, announcements, view] = [
    channel(),
    channel(),
    channel(),
    channel(),
    channel(),
  ]
  const databaseGate = createGate()
  openGate(databaseGate)
  const publishedHeight = createPublishedHeight()
  const copies = createNodeCopies(1)
  const peers = readCopies<NetInfo>(copies.network)
  raisePublishedHeight(publishedHeight, 3)
  const data: NetworkData = {
    location: chain.location,
    databaseGate,
    chain: chain.chain,
    publishedHeight,
    seed: key.seed,
    validator: createValidatorProof(VALIDATOR, key.publicKey, chain.chain.genesisHash),
    moniker: 'threaded',
    listen,
    externalAddress: undefined,
    rpcAddress: undefined,
    policy: policyWith({
      persistent: seedPeer ? [{ id: seedPeer.id, address: { host: '127.0.0.1', port: seedPeer.port } }] : [],
    }),
    counts: peerCounts(64),
    addressBookPath: join(directory, 'peers.json'),
    snapshotsPath: join(directory, 'snapshots'),
    log: { level: 'silent', format: 'json' },
    reports: reports.left,
    evidence: evidencePort.left,
    pool: { admissions: admissions.left, announcements: announcements.left },
    viewThreads: 1,
    tracing: undefined,
    copies,
  }
  const ports = [data.reports, data.evidence, data.pool.admissions, data.pool.announcements]
  const thread = spawnThread(
    'network',
    new URL('../../../../../src/node/roles/network/networkThread.ts', import.meta.url),
    data,
    ports,
  )
  const remote = connect<NetworkService>(thread.control)
  notify<NetworkService, 'connectView'>(thread.control, 'connectView', 0, view.left)

  const offered: ThreadedNode['offered'] = []
  admissions.right.on('message', (packed: Uint8Array) => {
    const transactions = unpackTransactions(packed)
    offered.push(...transactions)
    admissions.right.postMessage(transactions.length)
  })
  serve(view.right, {
    recoverSenders: (packed: PackedBytes) => {
      const senders = new Uint8Array(unpackBytes(packed).length * 20)
      for (let at = 0; at < senders.length; at += 20) senders.set(SENDER, at)
      return senders
    },
  })
  const node: ThreadedNode = {
    id: nodeId(key.publicKey),
    remote,
    netInfo: peers.read,
    transport: createNetworkTransport({
      service: remote,
      control: thread.control,
      reports: reports.right,
      evidence: evidencePort.right,
      ownAddress: SENDER,
      onPeerCount: (count) => {
        node.peers = count
      },
    }),
    joined: [],
    left: [],
    messages: [],
    evidence: [],
    offered,
    fromPool: announcements.right,
    peers: 0,
  }
  const events: TransportEvents = {
    peerJoined: (peer) => node.joined.push(peer),
    peerLeft: (peer) => node.left.push(peer),
    message: (from, message) => node.messages.push({ from, message }),
    evidence: async (_, piece) => {
      node.evidence.push(piece)
      return 'accept'
    },
  }
  node.transport.listen(events)
  undo.push(async () => {
    // A thread that has died answers nothing.
    await remote.close().catch(() => undefined)
    await thread.stop()
    node.transport.close()
    peers.close()
    for (const { right } of [admissions, announcements, view]) right.close()
  })
  // The port of a thread that died closes before its reason comes.
  await Promise.race([remote.metrics().catch(() => thread.died), thread.died])
  return node
}

function vote(height: number, round: number, hash = 1): Vote {
  return {
    type: 1,
    height,
    round,
    blockId: { hash: new Uint8Array(32).fill(hash), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } },
    timestampMs: 1_700_000_000_000,
    validatorAddress: new Uint8Array(20).fill(4),
    validatorIndex: 1,
    signature: new Uint8Array(64).fill(5),
  }
}

test('two nodes exchange messages, blocks, evidence and transactions through their network threads', async () => {
  const chain = await createTestChain()
  undo.push(() => chain.close())
  const decided = [await chain.produce(), await chain.produce(), await chain.produce()]
  const a = await startThreadedNode(chain)
  const { listeners } = await a.netInfo()
  const b = await startThreadedNode(chain, { seedPeer: { id: a.id, port: Number(listeners[0]!.split(':')[1]) } })
  await until('both have a peer', () => a.peers === 1 && b.peers === 1)
  expect(b.joined).toEqual([{ id: a.id, validatorAddress: ed25519Address(VALIDATOR.publicKey), base: 1, height: 3 }])

  const sent: ConsensusMessage[] = Array.from({ length: 200 }, (_, round) => ({ kind: 'vote', vote: vote(4, round) }))
  for (const message of sent) a.transport.send([b.id, 'f'.repeat(40)], message)
  await until('the votes arrive', () => b.messages.length === sent.length)
  expect(b.messages).toEqual(sent.map((message) => ({ from: a.id, message })))
  // A vote that is kept for long must not keep the votes that came with it.
  const first = b.messages[0]!.message
  expect(first.kind === 'vote' && first.vote.signature.buffer.byteLength).toBeLessThan(1_000)

  const fetched = await b.transport.fetchBlocks(a.id, { from: 2, count: 10, maxBytes: 1e6 })
  expect({ base: fetched.base, height: fetched.height }).toEqual({ base: 1, height: 3 })
  expect(fetched.blocks).toEqual(
    decided.slice(1).map(({ block, seenCommit }) => ({ block: encodeBlock(block), commit: encodeCommit(seenCommit) })),
  )
  await expect(b.transport.fetchBlocks('0'.repeat(40), { from: 1, count: 1, maxBytes: 1 })).rejects.toThrow(
    'not connected',
  )

  const evidence: Evidence = {
    kind: 'duplicateVote',
    voteA: vote(2, 0, 1),
    voteB: vote(2, 0, 2),
    totalVotingPower: 10n,
    validatorPower: 1n,
    timestampMs: 1_700_000_000_000,
  }
  const raws = [new Uint8Array(100).fill(1), new Uint8Array(200).fill(2)]
  // Gossip finds its way in a moment of its own; until then it reaches nobody, so it is told again.
  let number = 0
  const tell = setInterval(() => {
    a.transport.publishEvidence(evidence)
    a.fromPool.postMessage(encodeBatch({ isRepeated: false, number: ++number, transactions: raws }))
  }, 100)
  await until('gossip arrives', () => b.evidence.length > 0 && b.offered.length > 0)
  clearInterval(tell)
  expect(b.evidence).toEqual([evidence])
  expect(b.offered).toEqual(raws.map((raw) => ({ raw, sender: SENDER, hash: keccak256(raw) })))

  const info = await b.netInfo()
  expect(info.peers.map(({ node, isOutbound }) => [node.id, node.moniker, isOutbound])).toEqual([
    [a.id, 'threaded', true],
  ])

  b.transport.punish(a.id, 'bad signature', 'a test')
  await until('the peer is gone', () => b.peers === 0 && a.peers === 0)
  expect([a.left, b.left]).toEqual([[b.id], [a.id]])
})

test('a network thread whose start fails ends with the reason, and no peer is blamed', async () => {
  const chain = await createTestChain()
  undo.push(() => chain.close())
  const other = createServer().listen(0, '127.0.0.1')
  undo.push(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(startThreadedNode(chain, { listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
    message: 'the network thread failed',
    cause: { name: 'ListenError', message: expect.stringMatching(/^P2P_PORT is \d+: another program listens on 127/) },
  })
  await expect(startThreadedNode(chain, { listen: { host: '192.0.2.1', port } })).rejects.toMatchObject({
    cause: { name: 'ListenError', message: expect.stringMatching(/^P2P_HOST is 192\.0\.2\.1: /) },
  })
  await expect(startThreadedNode(chain, { isBookUnreadable: true })).rejects.toMatchObject({
    cause: { code: 'EISDIR', path: expect.stringMatching(/peers\.json$/) },
  })
})
