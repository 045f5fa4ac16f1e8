import { afterEach, expect, test } from 'vitest'
import { encodeHandshakeMessage } from '../../../src/p2p/hello.ts'
import { formatPeerAddress } from '../../../src/p2p/peerAddress.ts'
import { ADDRESS_PROOF_MS, ProvenAddresses } from '../../../src/p2p/provenAddresses.ts'
import { closeAttackers, startAttacker } from '../../support/p2p/attacker.ts'
import { closeNodes, counter, startNode, type TestNode, until } from '../../support/p2p/testNode.ts'

afterEach(async () => {
  await closeAttackers()
  await closeNodes()
})

/** An attacker becomes a peer of `target`, announces the address of `honest` as its own, and leaves. @returns its ID */
async function claimAddress(target: TestNode, honest: TestNode): Promise<string> {
  const attacker = await startAttacker()
  const hello = { ...attacker.hello, externalAddress: formatPeerAddress(honest.peer.address) }
  const { connection } = await attacker.greet(target, encodeHandshakeMessage({ kind: 'hello', hello }))
  await until('the attacker is a peer', () => target.sessions.has(attacker.id))
  await connection.close()
  await until('it has left', () => !target.sessions.has(attacker.id))
  return attacker.id
}

const disconnections = ({ log }: TestNode, id: string): number =>
  log.filter(({ msg, peer }) => msg === 'peer disconnected' && peer === id).length

test('a node that announces the address of a connected peer costs that peer neither its session nor a dial', async () => {
  const honest = await startNode()
  const node = await startNode({ persistentPeers: [honest.peer] })
  await until('they are connected', () => node.sessions.has(honest.network.id))
  const connections = () => counter(honest, 'coind_p2p_inbound_connections_total', { result: 'admitted' })
  const before = await connections()
  for (let claims = 0; claims < 3; claims++) await claimAddress(node, honest)
  // Longer than a node waits before it dials an address for the first time.
  await new Promise((resolve) => setTimeout(resolve, 3_500))
  expect(disconnections(node, honest.network.id)).toBe(0)
  expect(disconnections(honest, node.network.id)).toBe(0)
  expect(await connections()).toBe(before)
})

test('a false claim is dialled once, whoever repeats it, where the peer has dialled this node', async () => {
  const node = await startNode()
  // It announces no address, so its own claim is not in the way of the false one.
  const honest = await startNode({ persistentPeers: [node.peer], policy: { exchangesPeers: false } })
  await until('they are connected', () => node.sessions.has(honest.network.id))
  const dialled = () => counter(honest, 'coind_p2p_inbound_connections_total', { result: 'admitted' })
  await claimAddress(node, honest)
  const end = performance.now() + 20_000
  while ((await dialled()) === 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await dialled()).toBe(1)
  for (let claims = 0; claims < 3; claims++) await claimAddress(node, honest)
  await new Promise((resolve) => setTimeout(resolve, 3_500))
  expect(await dialled()).toBe(1)
  expect(disconnections(node, honest.network.id)).toBe(0)
  expect(disconnections(honest, node.network.id)).toBe(0)
})

test('two configured peers with one address: one dial does not end the other one', async () => {
  const honest = await startNode()
  const wrong = { id: 'ab'.repeat(20), address: honest.peer.address }
  const node = await startNode({ persistentPeers: [wrong, honest.peer] })
  await until('the right one is connected', () => node.sessions.has(honest.network.id))
  await until('the wrong one was dialled', () =>
    node.log.some(({ peer, failures }) => peer === wrong.id && failures === 3),
  )
  expect(disconnections(node, honest.network.id)).toBe(0)
})

test('what was proved at an address is believed for a while, until that node is not there any more', () => {
  let nowMs = 0
  const proven = new ProvenAddresses(() => nowMs)
  const address = { host: '192.0.2.1', port: 26_656 }
  expect(proven.contradicts(address, 'b')).toBe(false)
  proven.proved(address, 'a')
  expect([proven.contradicts(address, 'a'), proven.contradicts(address, 'b')]).toEqual([false, true])
  expect(proven.contradicts({ ...address, port: 1 }, 'b')).toBe(false)
  proven.failed(address, 'b')
  expect(proven.contradicts(address, 'b')).toBe(true)
  proven.failed(address, 'a')
  expect(proven.contradicts(address, 'b')).toBe(false)
  proven.proved(address, 'a')
  nowMs += ADDRESS_PROOF_MS
  expect(proven.contradicts(address, 'b')).toBe(false)
  for (let port = 1; port < 10_000; port++) proven.proved({ host: '192.0.2.2', port }, 'c')
  expect(proven.size).toBeLessThanOrEqual(4_096)
})
