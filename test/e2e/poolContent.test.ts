import { afterAll, beforeAll, expect, it } from 'vitest'
import { ACCOUNTS, CHAIN_ID, GWEI } from './devChain.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import { rpc } from './rpc.ts'
import type { TestNode } from './startNode.ts'

/** With these more than an answer may hold, in hexadecimal digits, and less than the pool. */
const LARGE = 130
const DATA_BYTES = 100_000

const [ATTACKER, USER] = [ACCOUNTS[1]!, ACCOUNTS[2]!]
/** Nothing before it ever comes. */
const GAP = 1_000

let node: TestNode
beforeAll(async () => {
  node = await startQuickDevnet()
})
afterAll(async () => {
  await node.stop()
})

async function sign(account: typeof ATTACKER, nonce: number, data: `0x${string}`) {
  return account.signTransaction({
    chainId: CHAIN_ID,
    nonce,
    gas: data === '0x' ? 21_000n : 5_000_000n,
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: GWEI,
    to: USER.address,
    data,
  })
}

it('what fills the pool behind a gap is not copied for whoever asks for it', async () => {
  const data = `0x${'00'.repeat(DATA_BYTES)}` as const
  for (let i = 0; i < LARGE; i++) {
    await rpc(node.url, 'eth_sendRawTransaction', await sign(ATTACKER, GAP + i, data))
  }
  await rpc(node.url, 'eth_sendRawTransaction', await sign(USER, GAP, '0x'))

  const refused = {
    code: -32003,
    message: expect.stringMatching(/^response too large: 13\d transactions of 130\d{5} bytes in all; ask/),
  }
  const calls = Array.from({ length: 16 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: id % 2 ? 'txpool_content' : 'txpool_contentFrom',
    params: id % 2 ? [] : [ATTACKER.address],
  }))
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(node.url, { method: 'POST', headers, body: JSON.stringify(calls) })
  const answers = (await answer.json()) as readonly unknown[]
  expect(answers).toHaveLength(16)
  for (const one of answers) expect(one).toMatchObject({ error: refused })

  // What is small is answered all the same.
  expect(await rpc(node.url, 'txpool_status')).toEqual({ pending: '0x0', queued: '0x83' })
  expect(await rpc(node.url, 'eth_pendingTransactions')).toEqual([])
  expect(await rpc(node.url, 'txpool_contentFrom', USER.address)).toMatchObject({
    queued: { [GAP]: { to: USER.address.toLowerCase() } },
  })
  const inspected = (await rpc(node.url, 'txpool_inspect')) as { readonly queued: Record<string, object> }
  expect(Object.keys(inspected.queued[ATTACKER.address]!)).toHaveLength(LARGE)
  const unconfirmed = await fetch(new URL('/rpc/unconfirmed_txs?limit=100', node.url))
  expect(await unconfirmed.json()).toMatchObject({ result: { n_txs: '3', total: '131' } })
})
