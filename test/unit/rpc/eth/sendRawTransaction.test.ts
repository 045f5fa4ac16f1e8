import { parseTransaction } from 'viem'
import { beforeEach, describe, expect, test } from 'vitest'
import { buildTransaction } from '../../../../src/chain/block/transaction.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { fillTransaction } from '../../../../src/rpc/eth/fillTransaction.ts'
import { sendRawTransaction, sendRawTransactionSync } from '../../../../src/rpc/eth/sendRawTransaction.ts'
import { getTransactionReceipt } from '../../../../src/rpc/eth/transactions.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { signEvmTransaction } from '../../../signEvmTransaction.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTER, REVERTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const counter = `0x${'c1'.repeat(20)}`
const reverter = `0x${'c2'.repeat(20)}`

let node: MemoryNode

beforeEach(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 18n },
      { address: hexToBytes(counter), nonce: 1n, code: COUNTER },
      { address: hexToBytes(reverter), nonce: 1n, code: REVERTER },
    ],
  })
})

const raw = (fields: Parameters<typeof alice.sign>[0]): string => bytesToHex(alice.sign(fields).transaction.raw)

describe('eth_sendRawTransaction', () => {
  test('gives the hash, then the pool’s refusals', async () => {
    const { transaction } = alice.sign({ nonce: 0n, to: alice.address })
    expect(await invoke(sendRawTransaction, node.context(), bytesToHex(transaction.raw))).toBe(
      bytesToHex(transaction.hash),
    )
    expect((await node.pool.get(transaction.hash))?.sender).toEqual(alice.address)
    expect(await invokeError(sendRawTransaction, node.context(), bytesToHex(transaction.raw))).toEqual({
      code: -32000,
      message: 'already known',
    })
  })

  test.each([
    ['0x', 'typed transaction too short'],
    ['0x02', 'typed transaction too short'],
    ['0x05c0', 'transaction type not supported'],
    ['0xc0', 'rlp: too few elements for types.LegacyTx'],
    [
      raw({ type: 3, chainId: 7628n, to: alice.address, blobVersionedHashes: [new Uint8Array(32)] }),
      'transaction type not supported',
    ],
    [raw({ chainId: 1n, to: alice.address }), 'invalid sender: invalid chain id for signer: have 1 want 7628'],
    [
      raw({ to: alice.address, maxFeePerGas: 1_234_567_890_000n }),
      'tx fee (1.23 ether) exceeds the configured cap (1.00 ether)',
    ],
    [
      bytesToHex(signEvmTransaction(buildTransaction({ type: 0, gasPrice: 1n }), alice.privateKey).raw),
      'only replay-protected (EIP-155) transactions allowed over RPC',
    ],
  ])('%# is refused', async (bytes, message) => {
    expect(await invokeError(sendRawTransaction, node.context(), bytes)).toEqual({ code: -32000, message })
  })

  test('without a chain ID, where both operator and chain take that', async () => {
    const sent = signEvmTransaction(
      buildTransaction({ type: 0, gasPrice: 10n ** 9n, gasLimit: 21_000n, to: alice.address }),
      alice.privateKey,
    )
    const outcome = async (acceptsUnprotected: boolean, allowsUnprotected: boolean): Promise<unknown> => {
      const { chain } = node.context()
      const limits = { ...TEST_LIMITS, acceptsUnprotected }
      const context = node.context({ limits, chain: { ...chain, allowsUnprotected } })
      const answer = sendRawTransaction.run(context, [sent.raw])
      return Promise.resolve(answer).catch(({ message }: Error) => message)
    }
    const refusal = 'only replay-protected (EIP-155) transactions allowed over RPC'
    expect(await outcome(false, true)).toBe(refusal)
    expect(await outcome(true, false)).toBe(refusal)
    expect(await outcome(true, true)).toBe(bytesToHex(sent.hash))
  })

  test('the fee cap can be off', async () => {
    const context = node.context({ limits: { ...TEST_LIMITS, feeCapAcoin: 0n } })
    const bytes = raw({ to: alice.address, maxFeePerGas: 10n ** 15n })
    expect(await invoke(sendRawTransaction, context, bytes)).toMatch(/^0x[0-9a-f]{64}$/)
  })
})

describe('eth_sendRawTransactionSync', () => {
  test('answers with the receipt', async () => {
    const { transaction } = alice.sign({ nonce: 0n, to: hexToBytes(counter) })
    const answer = invoke(sendRawTransactionSync, node.context(), bytesToHex(transaction.raw))
    while ((await node.pool.get(transaction.hash)) === undefined) await new Promise(setImmediate)
    await node.produce([])
    await node.produce()
    expect(await answer).toEqual(await invoke(getTransactionReceipt, node.context(), bytesToHex(transaction.hash)))
  })

  test.each([
    [20, '20ms'],
    ['0x14', '20ms'],
  ])('times out after %j', async (timeout, shown) => {
    const { transaction } = alice.sign({ nonce: 0n, to: alice.address })
    expect(await invokeError(sendRawTransactionSync, node.context(), bytesToHex(transaction.raw), timeout)).toEqual({
      code: 4,
      message: `The transaction was added to the transaction pool but wasn't processed in ${shown}`,
      data: bytesToHex(transaction.hash),
    })
  })

  test('refuses a nonce above the next one, which the error has, and does not pool the transaction', async () => {
    const pooled = alice.sign({ nonce: 0n, to: alice.address }).transaction
    await node.pool.add({ raw: pooled.raw, sender: alice.address, hash: pooled.hash, authorizations: 0 }, '')
    const { transaction } = alice.sign({ nonce: 2n, to: alice.address })
    const context = { ...node.context(), nextView: async () => undefined }
    expect(await invokeError(sendRawTransactionSync, context, bytesToHex(transaction.raw))).toEqual({
      code: 6,
      message:
        "nonce gap: the transaction has nonce 2 and was not added to the transaction pool, the account's next nonce is 1",
      data: '0x1',
    })
    expect(await node.pool.get(transaction.hash)).toBeUndefined()
  })

  test('takes a transaction that is sent together with the one before it', async () => {
    const [first, second] = [0n, 1n].map((nonce) => alice.sign({ nonce, to: alice.address }).transaction)
    const answers = [second!, first!].map(({ raw }) => invoke(sendRawTransactionSync, node.context(), bytesToHex(raw)))
    while ((await node.pool.get(first!.hash)) === undefined) await new Promise(setImmediate)
    await node.produce()
    while ((await node.pool.get(second!.hash)) === undefined) await new Promise(setImmediate)
    await node.produce()
    expect(await Promise.all(answers)).toMatchObject([{ status: '0x1' }, { status: '0x1' }])
  })

  test('says that a transaction which is still not executable is not ready', async () => {
    const { transaction } = alice.sign({ nonce: 0n, to: alice.address })
    const pool = { ...node.pool, pendingNonce: async () => 0n }
    const context = { ...node.context({ txs: pool }), nextView: async () => undefined }
    expect(await invokeError(sendRawTransactionSync, context, bytesToHex(transaction.raw))).toMatchObject({
      code: 5,
      data: bytesToHex(transaction.hash),
    })
  })

  test('ends with the next block when its client is gone', async () => {
    const { transaction } = alice.sign({ nonce: 0n, to: alice.address })
    const leaving = new AbortController()
    const context = node.context({ scope: { ...OWN_SCOPE, signal: leaving.signal } })
    const answer = invokeError(sendRawTransactionSync, context, bytesToHex(transaction.raw))
    while ((await node.pool.get(transaction.hash)) === undefined) await new Promise(setImmediate)
    leaving.abort()
    await node.produce([])
    expect(await answer).toEqual({ code: -32002, message: 'request cancelled' })
    expect(await node.pool.get(transaction.hash)).toBeDefined()
  })

  test.each([
    ['nothing', [], '2s'],
    ['more than a request may take', [60_000], '25s'],
  ])('waits for a bounded time when asked for %s', async (_, timeout, shown) => {
    const { transaction } = alice.sign({ nonce: 0n, to: alice.address })
    const context = { ...node.context(), nextView: async () => undefined }
    const answer = await invokeError(sendRawTransactionSync, context, bytesToHex(transaction.raw), ...timeout)
    expect(answer).toMatchObject({ code: 4, message: expect.stringContaining(`processed in ${shown}`) })
  })
})

describe('eth_fillTransaction', () => {
  test('fills what a wallet would ask for one by one', async () => {
    const { raw: first, hash } = alice.sign({ nonce: 0n, to: alice.address }).transaction
    await node.pool.add({ raw: first, sender: alice.address, hash, authorizations: 0 }, '')
    const { raw: envelope, tx } = (await invoke(fillTransaction, node.context(), {
      from: alice.hex,
      to: counter,
      data: '0x',
      input: '0x',
      type: '0x2',
    })) as { raw: `0x02${string}`; tx: Record<string, unknown> }
    expect(tx).toMatchObject({
      type: '0x2',
      nonce: '0x1',
      to: counter,
      gasPrice: null,
      maxPriorityFeePerGas: '0x5f5e100',
      maxFeePerGas: '0x7d2b7500',
      value: '0x0',
      input: '0x',
      accessList: [],
      chainId: '0x1dcc',
      v: '0x0',
      r: '0x0',
      s: '0x0',
      yParity: '0x0',
    })
    const gas = BigInt(tx.gas as string)
    expect(gas).toBeGreaterThan(40_000n)
    const parsed = parseTransaction(envelope)
    expect(parsed).toMatchObject({ chainId: 7628, nonce: 1, gas, maxFeePerGas: 2_100_000_000n, to: counter })
  })

  test('keeps what is given, and legacy stays legacy', async () => {
    const given = { to: alice.hex, nonce: '0x7', gas: '0x5208', gasPrice: '0x77359400', value: '0x5' }
    const { tx } = (await invoke(fillTransaction, node.context(), { from: alice.hex, ...given })) as {
      tx: Record<string, unknown>
    }
    expect(tx).toMatchObject({ ...given, type: '0x0', maxFeePerGas: null, chainId: '0x1dcc' })
    expect(tx).not.toHaveProperty('yParity')
  })

  test.each<[object, number, string]>([
    [{}, -32000, 'contract creation without any data provided'],
    [
      { to: counter, data: '0x01', input: '0x02' },
      -32000,
      'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
    ],
    [
      { to: counter, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' },
      -32000,
      'maxFeePerGas (1) < maxPriorityFeePerGas (2)',
    ],
    [{ to: counter, maxFeePerGas: '0x0' }, -32000, 'maxFeePerGas must be non-zero'],
    [{ to: counter, chainId: '0x1' }, -32000, "chainId does not match node's (have=1, want=7628)"],
    [{ from: alice.hex, to: reverter }, 3, 'execution reverted'],
    [{ to: counter, value: '0x1' }, -32000, 'insufficient funds for transfer'],
    [{ from: `0x${'99'.repeat(20)}`, to: counter }, -32000, 'insufficient funds for transfer'],
  ])('%j is refused', async (request, code, message) => {
    expect(await invokeError(fillTransaction, node.context(), request)).toMatchObject({ code, message })
  })
})
