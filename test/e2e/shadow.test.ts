import { createPublicClient, createWalletClient, http } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deployWrappedCoin } from '../../scripts/deployWrappedCoin.ts'
import { ACCOUNTS, COIN, freshAddress, KEYS, viemChain } from './devChain.ts'
import { startNode, type TestNode } from './startNode.ts'

const wallet = ACCOUNTS[0]!
let node: TestNode

beforeAll(async () => {
  // What other threads execute beforehand is compared too.
  node = await startNode({ environment: { EVM_SHADOW: 'true', EXECUTION_THREADS: '3' } })
})
afterAll(async () => {
  await node?.stop()
})

it('a node that executes each block on both engines commits what they agree on', async () => {
  const chain = viemChain(node.url)
  const reader = createPublicClient({ chain, transport: http(node.url), pollingInterval: 100 })
  const writer = createWalletClient({ chain, transport: http(node.url), account: wallet })
  const address = await deployWrappedCoin(node.url, KEYS[0]!)
  expect((await reader.getCode({ address }))!.length).toBeGreaterThan(1_000)
  const to = freshAddress()
  const hash = await writer.sendTransaction({ to, value: COIN })
  expect((await reader.waitForTransactionReceipt({ hash })).status).toBe('success')
  expect(await reader.getBalance({ address: to })).toBe(COIN)

  // All of them at once, so that they are in few blocks.
  const deposits = await Promise.all(
    ACCOUNTS.slice(1).map((account) =>
      createWalletClient({ chain, transport: http(node.url), account }).sendTransaction({
        to: address,
        value: COIN,
        gas: 100_000n,
      }),
    ),
  )
  for (const deposit of deposits) {
    expect((await reader.waitForTransactionReceipt({ hash: deposit })).status).toBe('success')
  }
  expect(await reader.getBalance({ address })).toBe(COIN * BigInt(deposits.length))
})
