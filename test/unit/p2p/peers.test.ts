import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { formatPeerAddress, writeKnownPeer } from '../../../src/p2p/peerAddress.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { closeAttackers, startAttacker } from '../../support/p2p/attacker.ts'
import {
  closeNodes,
  connectedPair,
  counter,
  randomKey,
  startNode,
  type TestNode,
  until,
} from '../../support/p2p/testNode.ts'

const directories: string[] = []

afterEach(async () => {
  await closeAttackers()
  await closeNodes()
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

test('a node finds its peers again after a restart, without those it was told of by its operator', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-peers-'))
  directories.push(directory)
  const a = await startNode()
  const key = randomKey()
  const b = await startNode({ key, directory, persistentPeers: [a.peer] })
  await until('connected', () => b.sessions.has(a.network.id) && a.sessions.has(b.network.id))
  await b.close()
  await until('gone', () => a.sessions.size === 0)
  // It lets nodes with lower IDs dial first; either way they are connected by what the address books hold.
  const again = await startNode({ key, directory })
  await until('connected again', () => again.sessions.has(a.network.id))
  expect([...again.sessions.keys()]).toEqual([a.network.id])
})

test('peers tell of their peers, and a node stays within the number that it wants', async () => {
  const seed = await startNode()
  const counts = { wanted: 2, inbound: 10, outbound: 5 }
  const nodes: TestNode[] = []
  for (let i = 0; i < 5; i++) nodes.push(await startNode({ persistentPeers: [seed.peer], counts }))
  await until('everybody has as many as it wants', () => nodes.every(({ sessions }) => sessions.size >= 2))
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  for (const { sessions } of nodes) {
    expect([...sessions.values()].filter(({ isOutbound }) => isOutbound).length).toBeLessThanOrEqual(2 + 1)
  }
})

test('a peer that has gone silent is given up', async () => {
  const [a, b] = await connectedPair()
  const attacker = await startAttacker()
  await attacker.join(a)
  await until('it is given up', () => {
    // Time flies for this node, so whatever the other sends is rare.
    a.clockMs += LIMITS.silentMs
    return !a.sessions.has(attacker.id)
  })
  expect(a.log.some(({ peer, reason }) => peer === attacker.id && reason === 'it is silent')).toBe(true)
  // The clock's jump hits all peers; an honest one is back at once.
  await until('the honest peer is connected', () => a.sessions.has(b.network.id))
})

test('a peer that tells of more peers than it may, or of what is none, is banned', async () => {
  const peers = Array.from({ length: 65 }, (_, i) => ({
    id: i.toString(16).padStart(40, '0'),
    address: `127.0.0.1:${i + 1}`,
    isValidator: true,
  }))
  const answers = [
    new ProtobufWriter().varint(1, 1).repeatedMessage(2, writeKnownPeer, peers).finish(),
    new ProtobufWriter().repeatedMessage(2, writeKnownPeer, [{ ...peers[0]!, address: 'nonsense' }]).finish(),
    new Uint8Array(50).fill(255),
  ]
  for (const answer of answers) {
    const attacker = await startAttacker()
    await attacker.host.handle(PROTOCOLS.peers, (stream) => {
      stream.send(encodeFrame(answer))
    })
    const a = await startNode()
    await attacker.join(a)
    await until('it is banned', () => !a.sessions.has(attacker.id))
    expect(await counter(a, 'coind_p2p_bans_total', {})).toBe(1)
  }
})

test('requests that go unanswered cost a peer its place only when there are many', async () => {
  const [a, b] = await connectedPair()
  for (let i = 0; i < 5; i++) a.network.punish(b.network.id, 'unresponsive', 'late')
  expect(a.sessions.has(b.network.id)).toBe(true)
  a.network.punish(b.network.id, 'unresponsive', 'late')
  await until(
    'it is disconnected',
    () => !a.sessions.has(b.network.id) || a.log.some(({ reason }) => reason === 'late'),
  )
  // It was not banned: it is back soon.
  await until('it is back', () => a.sessions.has(b.network.id))
  a.network.punish(b.network.id, 'invalid block', 'a lie')
  await until('it is banned', () => !a.sessions.has(b.network.id))
  expect(await counter(a, 'coind_p2p_bans_total', {})).toBe(1)
})

test('peers that connect do not keep a node from dialling others', async () => {
  const [key, directory] = [randomKey(), mkdtempSync(join(tmpdir(), 'coind-p2p-'))]
  directories.push(directory)
  const other = await startNode({ key })
  const { id, address } = other.peer
  const known = { id, address: formatPeerAddress(address), isValidator: false, reachedMs: 1, failures: 0 }
  writeFileSync(join(directory, 'addrbook.json'), JSON.stringify({ version: 1, peers: [known] }))
  const node = await startNode({ directory, counts: { wanted: 2, inbound: 8, outbound: 4 } })
  await until('the known node is dialled', () => node.sessions.has(id))
  await other.close()
  await until('it is gone', () => !node.sessions.has(id))

  for (let count = 0; count < 3; count++) await (await startAttacker()).join(node)
  await startNode({ key, port: address.port })
  // Longer than the wait after a dial that failed.
  node.clockMs += 10_000
  await until('the known node is dialled again', () => node.sessions.get(id)?.isOutbound === true)
})
