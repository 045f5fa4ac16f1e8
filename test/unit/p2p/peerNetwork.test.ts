import { afterEach, describe, expect, test } from 'vitest'
import { PRIORITIES } from '../../../src/p2p/sendQueue.ts'
import { encodeBatch } from '../../../src/p2p/transactionGossip.ts'
import { encodedPart, encodedVote } from '../../support/p2p/messages.ts'
import {
  closeNodes,
  connectedPair,
  counter,
  randomKey,
  startNode,
  type TestNode,
  until,
} from '../../support/p2p/testNode.ts'

afterEach(closeNodes)

const handlesOf = (node: TestNode): number[] => [...node.sessions.values()].map(({ handle }) => handle)

describe('two nodes', () => {
  test('cannot listen on one port: the error has the code and the port of the system', async () => {
    const { port } = (await startNode()).peer.address
    await expect(startNode({ port })).rejects.toMatchObject({ code: 'EADDRINUSE', address: '127.0.0.1', port })
  })

  test('say who they are', async () => {
    const validatorKey = randomKey()
    const [a, b] = await connectedPair(
      { validatorKey, height: 12, base: 3 },
      { externalAddress: 'node-b.example:26656' },
    )
    const seen = b.sessions.get(a.network.id)!
    expect(seen).toMatchObject({ isOutbound: true, isConfigured: true })
    expect(seen.hello).toMatchObject({ moniker: 'test', version: '1.2.3', height: 12, base: 3, chainId: 'coin_7-1' })
    expect(seen.validatorAddress).toHaveLength(20)
    expect(a.sessions.get(b.network.id)).toMatchObject({ isOutbound: false, validatorAddress: undefined })

    const info = a.network.netInfo()
    expect(info.listening).toBe(true)
    expect(info.listeners).toEqual([`127.0.0.1:${a.peer.address.port}`])
    expect(info.peers).toHaveLength(1)
    const { node, isOutbound, remoteIp, receivedBytes, sentBytes, connectedMs } = info.peers[0]!
    expect(node).toEqual({
      id: b.network.id,
      listenAddress: 'node-b.example:26656',
      network: 'coin_7-1',
      version: '1.2.3',
      moniker: 'test',
      rpcAddress: 'https://rpc.example',
    })
    expect({ isOutbound, remoteIp }).toEqual({ isOutbound: false, remoteIp: '127.0.0.1' })
    expect(Math.min(receivedBytes, sentBytes)).toBeGreaterThan(100)
    expect(connectedMs).toBeGreaterThan(0)
  })

  test('exchange votes and parts, each whole and in order', async () => {
    const [a, b] = await connectedPair()
    const votes = Array.from({ length: 300 }, (_, round) => encodedVote(11, round))
    for (const message of votes) a.network.send(handlesOf(a), message, PRIORITIES.ownVote)
    const block = encodedPart(11, 65_536)
    b.network.send(handlesOf(b), block, 'part')
    await until('votes and parts arrive', () => b.messages.length === 300 && a.messages.length === 1)
    expect(b.messages.map(({ body }) => body)).toEqual(votes)
    expect(b.messages.every(({ from }) => from === a.network.id)).toBe(true)
    expect(a.messages[0]!.body).toEqual(block)
  })

  test('fetch blocks, told where the other stands', async () => {
    const blocks = (height: number) => ({
      block: new Uint8Array(100_000).fill(height),
      commit: Uint8Array.of(height, 1, 2),
    })
    const [a, b] = await connectedPair({ blocks, height: 200, base: 50 })
    const some = await b.network.fetchBlocks(a.network.id, { from: 190, count: 20, maxBytes: 10_000_000 })
    expect({ base: some.base, height: some.height, count: some.blocks.length }).toEqual({
      base: 50,
      height: 200,
      count: 11,
    })
    expect(some.blocks.map(({ block, commit }) => [block[0], block.length, ...commit])).toEqual(
      Array.from({ length: 11 }, (_, i) => [190 + i, 100_000, 190 + i, 1, 2]),
    )
    const pruned = await b.network.fetchBlocks(a.network.id, { from: 49, count: 5, maxBytes: 1_000 })
    expect(pruned).toEqual({ base: 50, height: 200, blocks: [] })
    const cut = await b.network.fetchBlocks(a.network.id, { from: 50, count: 100, maxBytes: 250_000 })
    expect(cut.blocks).toHaveLength(3)
    const capped = await b.network.fetchBlocks(a.network.id, { from: 50, count: 1_000_000, maxBytes: 1e9 })
    expect(capped.blocks).toHaveLength(42)
    const standing = await b.network.fetchBlocks(a.network.id, { from: 0, count: 0, maxBytes: 0 })
    expect(standing).toEqual({ base: 50, height: 200, blocks: [] })
    await expect(b.network.fetchBlocks('0'.repeat(40), { from: 1, count: 1, maxBytes: 1 })).rejects.toThrow(
      'not connected',
    )
  })

  test('gossip transactions and evidence', async () => {
    const [a, b] = await connectedPair()
    const transactions = [Uint8Array.of(1, 2, 3), new Uint8Array(1000).fill(9)]
    await until('the mesh stands', () => neighbours(a) > 0)
    await a.network.publishTransactions(encodeBatch({ isRepeated: false, number: 1, transactions }))
    await a.network.publishEvidence(Uint8Array.of(1, 2))
    await until('gossip arrives', () => b.transactions.length === 2 && b.evidence.length === 1)
    expect(b.transactions).toEqual(transactions)
    expect(b.evidence).toEqual([Uint8Array.of(1, 2)])
    // Known transactions do not go to the pool again, in whatever batch they come.
    await a.network.publishTransactions(encodeBatch({ isRepeated: true, number: 2, transactions }))
    await a.network.publishTransactions(encodeBatch({ isRepeated: false, number: 3, transactions: [Uint8Array.of(5)] }))
    await until('the third batch arrives', () => b.transactions.length > 2)
    expect(b.transactions.slice(2)).toEqual([Uint8Array.of(5)])
    expect(await counter(b, 'coind_p2p_received_messages_total', { protocol: 'transactions' })).toBe(3)
  })
})

function neighbours(node: TestNode): number {
  return node.network.neighbours('transactions')
}

test('a node that comes back is a peer again', async () => {
  const a = await startNode()
  const key = randomKey()
  let b = await startNode({ key, persistentPeers: [a.peer] })
  await until('connected', () => a.sessions.size === 1 && b.sessions.size === 1)
  const first = a.sessions.get(b.network.id)!.handle
  await b.close()
  await until('gone', () => a.sessions.size === 0)
  b = await startNode({ key, persistentPeers: [a.peer] })
  await until('connected again', () => a.sessions.size === 1 && b.sessions.size === 1)
  expect(a.sessions.get(b.network.id)!.handle).not.toBe(first)
})
