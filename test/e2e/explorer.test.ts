import { createPublicClient, createWalletClient, encodeFunctionData, type Hex, http, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACCOUNTS, freshAddress, GWEI, NATIVE_TOKEN, VAULT_ABI, vaultBytecode, viemChain } from './devChain.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import { mined, post, type RpcReceipt, rpc } from './rpc.ts'
import type { TestNode } from './startNode.ts'

interface Frame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly gasUsed: string
  readonly input: string
  readonly output?: string
  readonly error?: string
  readonly revertReason?: string
  readonly calls?: readonly Frame[]
  readonly logs?: readonly { readonly address: string; readonly topics: readonly string[]; readonly index: string }[]
}

interface AccountState {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

type States = Readonly<Record<string, AccountState>>

interface StructTrace {
  readonly gas: number
  readonly failed: boolean
  readonly returnValue: string
  readonly structLogs: readonly {
    readonly op: string
    readonly depth: number
    readonly gas: number
    readonly stack?: readonly string[]
    readonly memory?: readonly string[]
    readonly storage?: Readonly<Record<string, string>>
  }[]
}

const account = ACCOUNTS[1]!
const sender = account.address.toLowerCase()
let node: TestNode
let vault: Hex
const receipts: Record<'creation' | 'deposit' | 'withdrawal' | 'refusal' | 'transfer', RpcReceipt & { hash: Hex }> =
  {} as never

const ask = <T = unknown>(method: string, ...params: readonly unknown[]): Promise<T> =>
  rpc<T>(node.url, method, ...params)

beforeAll(async () => {
  node = await startQuickDevnet({ environment: { PRUNING: 'archive' } })
  const chain = viemChain(node.url)
  const writer = createWalletClient({ chain, transport: http(node.url), account })
  const reader = createPublicClient({ chain, transport: http(node.url), pollingInterval: 100 })
  const settle = async (hash: Hex) => ({ ...(await mined(node.url, hash)), hash })
  receipts.creation = await settle(
    await writer.deployContract({ abi: VAULT_ABI, bytecode: vaultBytecode(), args: [7n], value: 3n }),
  )
  vault = receipts.creation.contractAddress!
  const nonce = await reader.getTransactionCount({ address: account.address })
  const common = { gas: 200_000n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
  const write = { address: vault, abi: VAULT_ABI, ...common } as const
  const hashes = {
    deposit: await writer.writeContract({ ...write, nonce, functionName: 'deposit', args: ['note'], value: 50n }),
    withdrawal: await writer.writeContract({ ...write, nonce: nonce + 1, functionName: 'withdraw', args: [20n] }),
    refusal: await writer.writeContract({ ...write, nonce: nonce + 2, functionName: 'withdraw', args: [1_000n] }),
    transfer: await writer.sendTransaction({ ...common, nonce: nonce + 3, to: freshAddress(), value: 9n }),
  }
  for (const [name, hash] of Object.entries(hashes)) receipts[name as keyof typeof hashes] = await settle(hash)
})
afterAll(() => node?.stop())

describe('callTracer', () => {
  const trace = (hash: Hex, tracerConfig?: object) =>
    ask<Frame>('debug_traceTransaction', hash, { tracer: 'callTracer', timeout: '5s', tracerConfig })

  it('shows each call with its receipt’s gas', async () => {
    const { creation, deposit, withdrawal, transfer } = receipts
    expect(await trace(creation.hash)).toMatchObject({
      type: 'CREATE',
      from: sender,
      to: vault,
      value: '0x3',
      gasUsed: creation.gasUsed,
    })
    const withLogs = await trace(deposit.hash, { withLog: true })
    expect(withLogs).toMatchObject({ type: 'CALL', from: sender, to: vault, value: '0x32', gasUsed: deposit.gasUsed })
    expect(withLogs.logs).toHaveLength(1)
    expect(withLogs.logs![0]!.topics).toEqual(deposit.logs[0]!.topics)
    const nested = await trace(withdrawal.hash)
    expect(nested.gasUsed).toBe(withdrawal.gasUsed)
    expect(nested.calls).toHaveLength(1)
    expect(nested.calls![0]).toMatchObject({ type: 'CALL', from: vault, to: sender, value: '0x14', input: '0x' })
    expect((await trace(withdrawal.hash, { onlyTopCall: true })).calls).toBeUndefined()
    expect(await trace(transfer.hash)).toMatchObject({ type: 'CALL', gasUsed: '0x5208', input: '0x' })
  })

  it('shows why a transaction failed', async () => {
    const frame = await trace(receipts.refusal.hash)
    expect(receipts.refusal.status).toBe('0x0')
    expect(frame).toMatchObject({ error: 'execution reverted', gasUsed: receipts.refusal.gasUsed })
    expect(frame.output).toMatch(/^0x2fc28c53/)
  })

  it('traces whole blocks by number and by hash', async () => {
    const { blockNumber, blockHash } = receipts.refusal
    const config = { tracer: 'callTracer' }
    const byNumber = await ask<{ txHash: string; result: Frame }[]>('debug_traceBlockByNumber', blockNumber, config)
    const block = await ask<{ transactions: string[] }>('eth_getBlockByNumber', blockNumber, false)
    expect(byNumber.map(({ txHash }) => txHash)).toEqual(block.transactions)
    expect(await ask('debug_traceBlockByHash', blockHash, config)).toEqual(byNumber)
    const blockReceipts = await ask<RpcReceipt[]>('eth_getBlockReceipts', blockNumber)
    expect(byNumber.map(({ result }) => result.gasUsed)).toEqual(blockReceipts.map(({ gasUsed }) => gasUsed))
  })

  it('traces a call that nobody sent', async () => {
    const data = encodeFunctionData({ abi: VAULT_ABI, functionName: 'withdraw', args: [20n] })
    const call = { from: account.address, to: vault, data }
    const frame = await ask<Frame>('debug_traceCall', call, 'latest', { tracer: 'callTracer' })
    expect(frame.calls).toHaveLength(1)
    const before = numberToHex(BigInt(receipts.creation.blockNumber))
    const early = await ask<Frame>('debug_traceCall', call, before, { tracer: 'callTracer' })
    expect(early.error).toBe('execution reverted')
    const token = await ask<Frame>('debug_traceCall', { to: NATIVE_TOKEN, data: '0x313ce567' }, 'latest', {
      tracer: 'callTracer',
    })
    expect(BigInt(token.output!)).toBe(18n)
  })
})

describe('prestateTracer', () => {
  it('gives what a transaction read', async () => {
    const { deposit } = receipts
    const states = await ask<States>('debug_traceTransaction', deposit.hash, { tracer: 'prestateTracer' })
    const parent = numberToHex(BigInt(deposit.blockNumber) - 1n)
    expect(states[vault]).toMatchObject({ balance: await ask('eth_getBalance', vault, parent), nonce: 1 })
    expect(states[vault]!.code).toBe(await ask('eth_getCode', vault, 'latest'))
    expect(states[vault]!.storage).toMatchObject({ [`0x${'01'.padStart(64, '0')}`]: `0x${'07'.padStart(64, '0')}` })
    expect(states[sender]).toBeDefined()
  })

  it('gives what a transaction changed, as the state after its block has it', async () => {
    const { deposit, transfer } = receipts
    const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
    const diff = await ask<{ pre: States; post: States }>('debug_traceTransaction', deposit.hash, config)
    const slot = `0x${'01'.padStart(64, '0')}`
    expect(diff.pre[vault]!.storage![slot]).toBe(`0x${'07'.padStart(64, '0')}`)
    expect(diff.post[vault]!.storage![slot]).toBe(`0x${'08'.padStart(64, '0')}`)
    expect(BigInt(diff.post[vault]!.balance!) - BigInt(diff.pre[vault]!.balance!)).toBe(50n)
    const last = await ask<{ pre: States; post: States }>('debug_traceTransaction', transfer.hash, config)
    expect(last.post[sender]).toMatchObject({
      balance: await ask('eth_getBalance', sender, transfer.blockNumber),
      nonce: Number(await ask('eth_getTransactionCount', sender, transfer.blockNumber)),
    })
  })
})

describe('struct logger', () => {
  it('lists the steps', async () => {
    const { deposit } = receipts
    const trace = await ask<StructTrace>('debug_traceTransaction', deposit.hash, {
      enableMemory: true,
      enableReturnData: true,
    })
    expect(trace).toMatchObject({ gas: Number(deposit.gasUsed), failed: false })
    expect(trace.structLogs.length).toBeGreaterThan(100)
    expect(trace.structLogs[0]).toMatchObject({ op: 'PUSH1', depth: 1, stack: [] })
    expect(trace.structLogs.at(-1)!.op).toMatch(/^(STOP|RETURN)$/)
    expect(trace.structLogs.some(({ memory }) => (memory?.length ?? 0) > 0)).toBe(true)
    const store = trace.structLogs.findLast(({ op }) => op === 'SSTORE')
    expect(Object.keys(store!.storage!).length).toBeGreaterThan(0)
    const small = await ask<StructTrace>('debug_traceTransaction', deposit.hash, {
      disableStack: true,
      disableStorage: true,
    })
    expect(small.structLogs.every(({ stack, memory, storage }) => !stack && !memory && !storage)).toBe(true)
    const failed = await ask<StructTrace>('debug_traceTransaction', receipts.refusal.hash, {})
    expect(failed).toMatchObject({ failed: true, gas: Number(receipts.refusal.gasUsed) })
  })
})

it('says what cannot be traced', async () => {
  const problem = async (method: string, ...params: unknown[]) => (await post(node.url, { method, params })).error
  const unknown = `0x${'12'.repeat(32)}`
  expect(await problem('debug_traceTransaction', unknown)).toEqual({ code: -32000, message: 'transaction not found' })
  expect(await problem('debug_traceBlockByNumber', '0x0')).toEqual({
    code: -32000,
    message: 'genesis is not traceable',
  })
  expect(await problem('debug_traceBlockByNumber', '0xffffff')).toEqual({
    code: -32000,
    message: 'block #16777215 not found',
  })
  expect(await problem('debug_traceBlockByHash', unknown)).toEqual({
    code: -32000,
    message: `block ${unknown} not found`,
  })
  expect(
    (await problem('debug_traceTransaction', receipts.deposit.hash, { tracer: 'noSuchTracer' }))?.code,
  ).toBeLessThan(0)
})

it('serves the raw forms', async () => {
  const { blockNumber, hash } = receipts.deposit
  expect(await ask('debug_getRawTransaction', hash)).toBe(await ask('eth_getRawTransactionByHash', hash))
  expect(await ask<string>('debug_getRawHeader', blockNumber)).toMatch(/^0xf9/)
  expect(await ask<string[]>('debug_getRawReceipts', blockNumber)).toHaveLength(
    (await ask<unknown[]>('eth_getBlockReceipts', blockNumber)).length,
  )
})
