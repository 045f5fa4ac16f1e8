import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { entryHash, isNativeEntry, type StoredEntry } from '../../../../src/chain/block/entries.ts'
import { decodeTransaction, type UnsignedTransaction } from '../../../../src/chain/block/transaction.ts'
import type { TransactionPool } from '../../../../src/mempool/pool.ts'
import type { MempoolPort, TxPort } from '../../../../src/mempool/types.ts'
import { AUTH_PARAMS, DEFAULT_AUTH_PARAMS } from '../../../../src/modules/auth/params.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { checkNativeState } from '../../../../src/modules/tx/applyNativeTransaction.ts'
import type { NativeTransaction } from '../../../../src/modules/tx/nativeTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { Tx, TxRaw } from '../../../../src/modules/tx/types.ts'
import { createSubmissionCheck } from '../../../../src/node/roles/socket/viewPool.ts'
import { bytesToHex, concatBytes, toBuffer } from '../../../../src/primitives/bytes.ts'
import { answerCometGet, answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import type { CometMempool } from '../../../../src/rpc/comet/env.ts'
import {
  createBroadcastTxMethods,
  createCheckTxMethod,
  createUnconfirmedTxsMethods,
} from '../../../../src/rpc/comet/mempool.ts'
import { type CometTable, createCometTable } from '../../../../src/rpc/comet/method.ts'
import { wrapEthereumTx } from '../../../../src/rpc/cosmos/ethereumTx.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { createSubmitPort } from '../../../../src/rpc/submit/submitPort.ts'
import { createEventLoopQuota } from '../../../../src/rpc/transport/eventLoopQuota.ts'
import { Journal } from '../../../../src/state/journal.ts'
import type { NodeView } from '../../../../src/state/view.ts'
import {
  anyOf,
  signTestTransaction,
  TEST_CHAIN,
  type TestTransaction,
  testAccount,
} from '../../../native/signTransaction.ts'
import { signEvmTransaction as signEvm } from '../../../signEvmTransaction.ts'
import { createPool, GWEI } from '../../../support/mempool/poolFixture.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const alice = testAccount(1)
const bob = testAccount(2)
const GAS = 100_000n
const decoder = createTransactionDecoder(TEST_CHAIN)

function native(sequence: bigint, fields: Partial<TestTransaction> = {}): Uint8Array {
  const send = anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(7n) })
  return signTestTransaction({
    messages: [send],
    signers: [{ ...alice, sequence }],
    gasLimit: GAS,
    feeAcoin: 10n * GWEI * GAS,
    ...fields,
  })
}

function evm(nonce: bigint, fields: Partial<UnsignedTransaction> = {}): Uint8Array {
  const prices = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
  const unsigned = {
    type: 2,
    chainId: TEST_CHAIN.evmChainId,
    nonce,
    gasLimit: 21_000n,
    ...prices,
    to: bob.address,
    value: 1n,
  }
  const rest = { data: new Uint8Array(0), accessList: [], authorizationList: [] }
  return signEvm({ ...rest, ...unsigned, ...fields } as UnsignedTransaction, alice.privateKey).raw
}

function decodeNative(raw: Uint8Array): NativeTransaction {
  const transaction = decoder.decodeVerified(raw)
  if (isSdkError(transaction)) throw new Error(transaction.message)
  return transaction
}

/** The pool as its thread serves it. */
function portOf(pool: TransactionPool): Pick<TxPort, 'add'> & MempoolPort {
  return {
    add: async ({ raw, sender, hash }) =>
      isNativeEntry(raw) ? pool.addNative(decodeNative(raw)) : pool.add(decodeTransaction(raw, hash), sender),
    check: async ({ raw, sender, hash }) =>
      isNativeEntry(raw) ? pool.checkNative(decodeNative(raw)) : pool.check(decodeTransaction(raw, hash), sender),
    unconfirmed: async (limit) => pool.unconfirmed(limit),
  }
}

interface Block {
  readonly txs: readonly Uint8Array[]
  readonly results: readonly StoredEntry[]
}

let table: CometTable
let pool: TransactionPool
let errors: unknown[]
let leases: number
/** published one after the other, whenever somebody waits for one; none: waiting takes all its time */
let coming: Block[]
let nowMs: number
let verifiedElsewhere: number
const SUBMIT_LIMITS = { feeCapAcoin: 10n ** 18n, acceptsUnprotected: false }
let signaturesPerTurn: number

function createNode() {
  const world = new Journal(new MemoryStateReader())
  AUTH_PARAMS.set(world.native, DEFAULT_AUTH_PARAMS)
  world.setBalance(alice.address, 1_000n * 10n ** 18n)
  pool = createPool({
    limits: { transactionBytes: 3_000 },
    readAccount: (address) => ({ nonce: world.getNonce(address), balance: world.getBalance(address), code: 'none' }),
    checkNativeState: (transaction, { height, baseFeePerGas }) =>
      checkNativeState(transaction, { world, block: { height: height + 1, timeMs: 0 }, baseFeePerGas }),
  }).pool
  const blocks: Block[] = []
  const chain = () => ({
    headHeight: blocks.length,
    consensusBlock: (height: number) => blocks[height - 1],
    entryResults: (height: number) => blocks[height - 1]?.results,
  })
  const context = {
    get view() {
      return { chain: chain() } as unknown as NodeView
    },
    monotonicMs: () => nowMs,
    nextView: async (timeoutMs: number) => {
      const next = coming.shift()
      if (next === undefined) {
        nowMs += timeoutMs
        return undefined
      }
      blocks.push(next)
      return { chain: chain() } as unknown as NodeView
    },
  } as unknown as RpcContext
  const mempool: CometMempool = {
    submissions: createSubmitPort({
      decoder,
      limits: SUBMIT_LIMITS,
      pool: portOf(pool),
      otherThreads: {
        quota: createEventLoopQuota(signaturesPerTurn),
        verify: createSubmissionCheck([
          {
            verifySubmission: async (...submission) => {
              verifiedElsewhere++
              return createSubmitPort({ decoder, limits: SUBMIT_LIMITS, pool: portOf(pool) }).verify(...submission)
            },
          },
        ]),
      },
    }),
    pool: portOf(pool),
    lease: () => {
      leases++
      return { context, release: () => void leases-- }
    },
    onError: (error) => void errors.push(error),
  }
  table = createCometTable([
    ...createBroadcastTxMethods(mempool),
    createCheckTxMethod(mempool),
    ...createUnconfirmedTxsMethods(mempool),
  ])
}

beforeEach(() => {
  errors = []
  leases = 0
  coming = []
  nowMs = 0
  verifiedElsewhere = 0
  signaturesPerTurn = 64
  createNode()
})

afterEach(() => {
  expect(errors).toEqual([])
  expect(leases).toBe(0)
})

const log = { error: (fields: unknown) => void errors.push(fields) }

async function post(method: string, params: unknown = {}, scope = OWN_SCOPE) {
  const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { json } = await answerCometPost(table, request, scope, { log, responseBytes: 1e6 })
  const { result, error } = JSON.parse(json)
  return result ?? { error }
}

async function get(name: string, query: Record<string, string>) {
  const { json } = await answerCometGet(table.get(name)!, query, OWN_SCOPE, { log })
  const { result, error } = JSON.parse(json)
  return result ?? { error }
}

const base64 = (raw: Uint8Array) => toBuffer(raw).toString('base64')
const hashText = (raw: Uint8Array) => toBuffer(entryHash(raw)).toString('hex').toUpperCase()
const submit = (method: string, raw: Uint8Array) => post(method, { tx: base64(raw) })

describe('broadcast_tx_sync', () => {
  it('takes both kinds of transactions of one account into one queue', async () => {
    const sent = [native(0n), evm(1n), native(2n), evm(3n), native(5n)]
    for (const raw of sent) {
      expect(await submit('broadcast_tx_sync', raw)).toEqual({
        code: 0,
        data: '',
        log: '',
        codespace: '',
        hash: hashText(raw),
      })
    }
    expect(pool.pendingNonce(alice.address)).toBe(4n)
    expect(pool.unconfirmed(9).transactions).toEqual(sent)
  })

  it('takes an EVM transaction in a native one for what it is', async () => {
    const raw = evm(0n)
    const answer = await submit('broadcast_tx_sync', Tx.encode(wrapEthereumTx(raw, alice.address)))
    expect(answer).toMatchObject({ code: 0, hash: hashText(raw) })
    expect(pool.unconfirmed(9).transactions).toEqual([raw])
  })

  it('takes a native transaction in another encoding as the chain accepts it, and answers with its hash', async () => {
    const raw = native(0n)
    const { signatures, ...rest } = TxRaw.decode(raw)
    const longer = TxRaw.encode({ ...rest, signatures: [concatBytes(signatures[0]!, Uint8Array.of(28))] })
    expect(await submit('broadcast_tx_sync', longer)).toMatchObject({ code: 0, hash: hashText(raw) })
    expect(pool.unconfirmed(9).transactions).toEqual([raw])
    const wrong = TxRaw.encode({ ...rest, signatures: [new Uint8Array(65)] })
    expect(await submit('broadcast_tx_sync', wrong)).toMatchObject({ code: 4, hash: hashText(wrong) })
  })

  it('takes none from a native one that names another sender', async () => {
    const wrapped = Tx.encode(wrapEthereumTx(evm(0n), new Uint8Array(20).fill(7)))
    for (const method of ['broadcast_tx_sync', 'broadcast_tx_async'] as const) {
      expect(await submit(method, wrapped)).toMatchObject({
        code: method === 'broadcast_tx_sync' ? 24 : 0,
        hash: hashText(wrapped),
      })
    }
    expect(pool.unconfirmed(9).transactions).toEqual([])
  })

  it.each<[name: string, raw: () => Uint8Array, expected: { code: number; codespace: string; log: unknown }]>([
    ['nothing', () => new Uint8Array(0), { code: 2, codespace: 'evm', log: expect.any(String) }],
    [
      'no transaction',
      () => Uint8Array.of(0x0a, 1),
      { code: 2, codespace: 'sdk', log: expect.stringMatching(/tx parse error$/) },
    ],
    ['no EVM transaction', () => Uint8Array.of(0x02, 1), { code: 2, codespace: 'evm', log: expect.any(String) }],
    [
      'a wrong signature',
      () => native(0n, { chainId: 'coin_1-1' }),
      { code: 4, codespace: 'sdk', log: expect.any(String) },
    ],
    [
      'a low fee',
      () => native(0n, { feeAcoin: 1n }),
      {
        code: 13,
        codespace: 'sdk',
        log: expect.stringMatching(/^insufficient fees; got: 1acoin required: .*: insufficient fee$/),
      },
    ],
    [
      'too much',
      () => native(0n, { feeAcoin: 10n ** 21n + 1n }),
      { code: 5, codespace: 'sdk', log: expect.any(String) },
    ],
    [
      'too many bytes',
      () => evm(0n, { data: new Uint8Array(4_000), gasLimit: 200_000n }),
      { code: 21, codespace: 'sdk', log: expect.stringMatching(/^oversized data/) },
    ],
    [
      'so many bytes that it is not even decoded',
      () => concatBytes(Uint8Array.of(0x0a), new Uint8Array(131_072)),
      { code: 21, codespace: 'sdk', log: 'Tx too large. Max size is 131072, but got 131073: tx too large' },
    ],
    [
      'another chain',
      () => evm(0n, { chainId: 1n }),
      { code: 2, codespace: 'evm', log: expect.stringContaining('invalid chain id') },
    ],
    [
      'a fee beyond the cap',
      () => evm(0n, { maxFeePerGas: 10n ** 17n }),
      { code: 2, codespace: 'evm', log: expect.stringContaining('cap') },
    ],
  ])('refuses %s', async (_, make, expected) => {
    const raw = make()
    expect(await submit('broadcast_tx_sync', raw)).toEqual({ data: '', ...expected, hash: hashText(raw) })
    expect(pool.unconfirmed(0).count).toBe(0)
  })

  it('refuses what it has and what is outbid', async () => {
    const [first, outbid, other] = [
      native(0n),
      native(0n, { memo: 'other' }),
      evm(0n, { maxFeePerGas: 50n * GWEI, maxPriorityFeePerGas: 50n * GWEI }),
    ]
    await submit('broadcast_tx_sync', first)
    expect(await submit('broadcast_tx_sync', first)).toMatchObject({ code: 19, codespace: 'sdk' })
    expect(await submit('broadcast_tx_sync', outbid)).toMatchObject({ code: 13, codespace: 'sdk' })
    expect(await submit('broadcast_tx_sync', other)).toMatchObject({ code: 0 })
    expect(pool.unconfirmed(9).transactions).toEqual([other])
  })

  it('reads what CometBFT reads from a query', async () => {
    const [first, second] = [native(0n), native(1n)]
    expect(await get('broadcast_tx_sync', { tx: bytesToHex(first) })).toMatchObject({ code: 0, hash: hashText(first) })
    expect(await get('broadcast_tx_sync', { tx: `"${bytesToHex(second)}"` })).toMatchObject({ code: 0 })
    expect(await get('broadcast_tx_sync', { tx: '"abc"' })).toMatchObject({ code: 2 })
    expect(await get('broadcast_tx_sync', { tx: 'abc' })).toMatchObject({ error: { code: -32602 } })
    expect(await get('broadcast_tx_sync', { tx: '0xabc' })).toMatchObject({ error: { code: -32602 } })
    expect(await post('broadcast_tx_sync', { tx: '?' })).toMatchObject({ error: { code: -32602 } })
    expect(await post('broadcast_tx_sync', [base64(native(2n))])).toMatchObject({ code: 0 })
  })

  it('checks signatures elsewhere when its turn has no time, with the same outcomes', async () => {
    signaturesPerTurn = 1
    createNode()
    const sent = [native(0n), evm(1n), native(2n, { chainId: 'coin_1-1' }), native(2n), evm(3n, { chainId: 5n })]
    const answers = await Promise.all(sent.map((raw) => submit('broadcast_tx_sync', raw)))
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 4, 0, 2])
    expect(verifiedElsewhere).toBeGreaterThanOrEqual(3)
    expect(pool.pendingNonce(alice.address)).toBe(3n)
  })
})

describe('broadcast_tx_async', () => {
  it('answers with the hash whatever becomes of it', async () => {
    const [good, used, wrong] = [native(0n), native(0n, { feeAcoin: 1n }), native(1n, { chainId: 'coin_1-1' })]
    for (const raw of [good, used, wrong]) {
      expect(await submit('broadcast_tx_async', raw)).toEqual({
        code: 0,
        data: '',
        log: '',
        codespace: '',
        hash: hashText(raw),
      })
    }
    await vi.waitFor(() => expect(pool.unconfirmed(9).transactions).toEqual([good]))
  })
})

describe('broadcast_tx_commit', () => {
  const tx = native(0n)
  const passed = {
    code: 0,
    data: null,
    log: '',
    info: '',
    gas_wanted: '100000',
    gas_used: expect.stringMatching(/^\d{5}$/),
    events: [],
    codespace: '',
  }
  const nothing = { ...passed, gas_wanted: '0', gas_used: '0' }
  const result: StoredEntry = {
    kind: 'native',
    raw: tx,
    result: {
      code: 5,
      codespace: 'sdk',
      log: 'insufficient funds',
      data: Uint8Array.of(1, 2),
      gasWanted: 100_000n,
      gasUsed: 17_000n,
      events: [{ type: 'tx', attributes: [{ key: 'fee', value: '1acoin' }] }],
    },
  }
  const skipped: StoredEntry = { kind: 'skipped', code: 32, codespace: 'sdk', reason: 'too early', gasWanted: 100_000n }

  it('waits for the block', async () => {
    coming = [
      { txs: [evm(9n)], results: [skipped] },
      { txs: [evm(9n), tx], results: [skipped, result] },
    ]
    expect(await submit('broadcast_tx_commit', tx)).toEqual({
      check_tx: passed,
      tx_result: {
        code: 5,
        data: 'AQI=',
        log: 'insufficient funds',
        info: '',
        gas_wanted: '100000',
        gas_used: '17000',
        events: [{ type: 'tx', attributes: [{ key: 'fee', value: '1acoin', index: true }] }],
        codespace: 'sdk',
      },
      hash: hashText(tx),
      height: '2',
    })
  })

  it('reports a transaction that the block could not start', async () => {
    coming = [{ txs: [tx], results: [skipped] }]
    expect(await submit('broadcast_tx_commit', tx)).toMatchObject({
      height: '1',
      tx_result: { code: 32, codespace: 'sdk', log: 'too early', gas_wanted: '100000', gas_used: '0', data: null },
    })
  })

  it('answers at once when it is refused', async () => {
    const wrong = native(0n, { chainId: 'coin_1-1' })
    expect(await submit('broadcast_tx_commit', wrong)).toEqual({
      check_tx: { ...nothing, code: 4, codespace: 'sdk', log: expect.any(String) },
      tx_result: nothing,
      hash: hashText(wrong),
      height: '0',
    })
    const poor = native(0n, { feeAcoin: 1n })
    expect(await submit('broadcast_tx_commit', poor)).toMatchObject({ check_tx: { code: 13 }, height: '0' })
  })

  it('gives up after ten seconds', async () => {
    coming = [{ txs: [], results: [] }]
    expect(await submit('broadcast_tx_commit', tx)).toEqual({
      error: { code: -32603, message: 'Internal error', data: 'timed out waiting for tx to be included in a block' },
    })
    expect(nowMs).toBe(10_000)
    expect(pool.unconfirmed(9).transactions).toEqual([tx])
  })

  it('waits no further than the next block for a client that is gone; the transaction stays', async () => {
    coming = Array.from({ length: 3 }, () => ({ txs: [], results: [] }))
    const leaving = new AbortController()
    const answer = post('broadcast_tx_commit', { tx: base64(tx) }, { ...OWN_SCOPE, signal: leaving.signal })
    leaving.abort()
    expect(await answer).toMatchObject({ error: { data: 'request cancelled' } })
    expect(coming).toHaveLength(2)
    expect(pool.unconfirmed(9).transactions).toEqual([tx])
  })
})

describe('check_tx', () => {
  it('says what the pool would, and keeps nothing', async () => {
    expect(await submit('check_tx', native(0n))).toMatchObject({
      code: 0,
      gas_wanted: '100000',
      events: [],
      data: null,
    })
    expect(await submit('check_tx', evm(0n))).toMatchObject({ code: 0, gas_wanted: '21000', gas_used: '0' })
    expect(await submit('check_tx', native(0n, { feeAcoin: 1n }))).toMatchObject({ code: 13, codespace: 'sdk' })
    expect(await submit('check_tx', evm(0n, { value: 10n ** 24n }))).toMatchObject({ code: 2, codespace: 'evm' })
    expect(pool.unconfirmed(0).count).toBe(0)
  })
})

describe('unconfirmed_txs', () => {
  it('shows the oldest transactions and counts all', async () => {
    expect(await post('unconfirmed_txs')).toEqual({ n_txs: '0', total: '0', total_bytes: '0', txs: [] })
    const sent = [native(0n), evm(1n), native(2n)]
    for (const raw of sent) await submit('broadcast_tx_sync', raw)
    const total_bytes = String(sent.reduce((sum, { length }) => sum + length, 0))
    expect(await post('unconfirmed_txs')).toEqual({ n_txs: '3', total: '3', total_bytes, txs: sent.map(base64) })
    const some = { n_txs: '2', total: '3', total_bytes, txs: sent.slice(0, 2).map(base64) }
    expect(await post('unconfirmed_txs', { limit: '2' })).toEqual(some)
    expect(await get('unconfirmed_txs', { limit: '2' })).toEqual(some)
    expect(await get('unconfirmed_txs', { limit: '0' })).toMatchObject({ n_txs: '3' })
    expect(await post('num_unconfirmed_txs')).toEqual({ n_txs: '3', total: '3', total_bytes, txs: null })
  })

  it('shows a hundred at most', async () => {
    for (let sequence = 0n; sequence < 101n; sequence++) pool.addNative(decodeNative(native(sequence)))
    expect(await post('unconfirmed_txs')).toMatchObject({ n_txs: '30', total: '101' })
    expect(await post('unconfirmed_txs', { limit: '1000' })).toMatchObject({ n_txs: '100', total: '101' })
  })
})
