import { afterEach, expect, test } from 'vitest'
import { PRIORITIES } from '../../../src/p2p/sendQueue.ts'
import { encodeBatch } from '../../../src/p2p/transactionGossip.ts'
import { ed25519Address } from '../../../src/primitives/ed25519.ts'
import { encodedVote } from '../../support/p2p/messages.ts'
import { closeNodes, randomKey, startNode, until } from '../../support/p2p/testNode.ts'

afterEach(closeNodes)

const NODES = 16

test('16 validators behind one address find one another through a single seed, and all hear all', async () => {
  const keys = Array.from({ length: NODES }, randomKey)
  const seed = await startNode({ validatorKey: keys[0]! })
  const others = await Promise.all(
    keys.slice(1).map((validatorKey) => startNode({ validatorKey, persistentPeers: [seed.peer] })),
  )
  const nodes = [seed, ...others]
  for (const { network } of nodes) network.setValidators(keys.map(({ publicKey }) => ed25519Address(publicKey)))
  await until('everybody knows everybody', () => nodes.every(({ sessions }) => sessions.size === NODES - 1), 90_000)
  await until('the mesh stands', () => nodes.every(({ network }) => network.neighbours('transactions') === NODES - 1))

  for (const [index, { network, sessions }] of nodes.entries()) {
    const handles = [...sessions.values()].map(({ handle }) => handle)
    network.send(handles, encodedVote(11, index), PRIORITIES.ownVote)
  }
  await until('all votes are everywhere', () => nodes.every(({ messages }) => messages.length === NODES - 1))

  for (const [index, { network }] of nodes.entries()) {
    const transactions = [Uint8Array.of(index, 1), Uint8Array.of(index, 2)]
    await network.publishTransactions(encodeBatch({ isRepeated: false, number: index, transactions }))
  }
  await until('all transactions are everywhere', () =>
    nodes.every(({ transactions }) => transactions.length === 2 * (NODES - 1)),
  )
  // Each came once, from whomever.
  for (const { transactions } of nodes) expect(new Set(transactions.map(String)).size).toBe(2 * (NODES - 1))
}, 120_000)
