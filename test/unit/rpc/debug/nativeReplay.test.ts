import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransactionSerializable } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_BLOCK_EVENTS, type StoredEntry } from '../../../../src/chain/block/entries.ts'
import { encodeResults } from '../../../../src/chain/store/storedResults.ts'
import { copyDatabase } from '../../../../src/datadir/copyDatabase.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { FEE_COLLECTOR } from '../../../../src/modules/moduleAccounts.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { traceBlockByNumber, traceCall, traceTransaction } from '../../../../src/rpc/debug/traces.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { anyOf, signTestTransaction } from '../../../native/signTransaction.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../../support/execution/testChain.ts'
import { chainContext } from '../../../support/rpc/chainContext.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'

const COIN = 10n ** 18n
const GAS_PRICE = 2n * 10n ** 9n
const wallet = privateKeyToAccount(WALLET_KEY)
/** has nothing before block 2 */
const poor = privateKeyToAccount(`0x${'0b'.repeat(32)}`)
/** Stores in slot 0 and returns what the fee collector has. */
const FEE_READER = `73${bytesToHex(FEE_COLLECTOR).slice(2)}31805f555f5260205ff3`

let chain: TestChain
let database: Database
let view: NodeView
let reader: `0x${string}`

async function evm(
  from: PrivateKeyAccount,
  nonce: number,
  fields: Partial<TransactionSerializable>,
): Promise<Uint8Array> {
  const fees = { gas: 100_000n, maxFeePerGas: GAS_PRICE, maxPriorityFeePerGas: GAS_PRICE }
  const transaction = { chainId: 76287, type: 'eip1559', nonce, ...fees, ...fields } as TransactionSerializable
  return hexToBytes(await from.signTransaction(transaction))
}

function send(sequence: number, to: `0x${string}`, amount: bigint): Uint8Array {
  const message = {
    fromAddress: toBech32(WALLET),
    toAddress: toBech32(hexToBytes(to)),
    amount: [{ denom: 'acoin', amount }],
  }
  const signer = { privateKey: hexToBytes(WALLET_KEY), sequence }
  return signTestTransaction({ messages: [anyOf(MsgSend, message)], signers: [signer], gasLimit: 100_000n })
}

const hashOf = (from: NodeView, height: number, index: number): string =>
  bytesToHex(from.chain.transactions(height)![index]!.transaction.hash)

beforeAll(async () => {
  chain = await createTestChain()
  const length = (FEE_READER.length / 2).toString(16).padStart(2, '0')
  const data = `0x60${length}600a5f3960${length}5ff3${FEE_READER}` as const
  await chain.produce([await evm(wallet, 0, { data })])
  const opened = await Database.open(chain.location, { readOnly: true })
  const first = openView(opened.snapshot(), createViewCaches())
  reader = bytesToHex(first.chain.receipts(1)![0]!.contractAddress!)
  await opened.close()
  await chain.produce([
    send(1, poor.address, COIN),
    await evm(poor, 0, { to: reader, value: 0n }),
    send(2, poor.address, 5n),
    await evm(poor, 1, { to: wallet.address, value: COIN / 2n }),
    await evm(wallet, 3, { to: reader }),
  ])
  await chain.produce()
  database = await Database.open(chain.location, { readOnly: true })
  view = openView(database.snapshot(), createViewCaches())
})

afterAll(async () => {
  await database.close()
  await chain.close()
})

describe('a block with native transactions, executed again', () => {
  it('begins with what modules do: fees of the block before are gone, those of this one are there', async () => {
    const entries = view.chain.entryResults(2)!
    expect(entries.map(({ kind }) => kind)).toEqual(['native', 'evm', 'native', 'evm', 'evm'])
    const [, called] = entries
    if (called?.kind !== 'evm') throw new Error('not an EVM entry')
    // What the wallet paid for its first send: all of the fee. Block 1's fees were divided at the start of block 2.
    const seen = 100_000n * 10n ** 9n
    const trace = await invoke(traceTransaction, chainContext(chain, view), hashOf(view, 2, 0), {
      tracer: 'callTracer',
    })
    const { output, gasUsed } = trace as { output: string; gasUsed: string }
    expect(bytesToBigInt(hexToBytes(output))).toBe(seen)
    expect(BigInt(gasUsed)).toBe(called.receipt.gasUsed)
    const last = await invoke(traceTransaction, chainContext(chain, view), hashOf(view, 2, 2), { tracer: 'callTracer' })
    const stored = bytesToBigInt(view.stateAt(2).getStorage(hexToBytes(reader), new Uint8Array(32)))
    expect(bytesToBigInt(hexToBytes((last as { output: string }).output))).toBe(stored)
    expect(stored).toBeGreaterThan(2n * seen)
  })

  it('gives transactions the balances and nonces that native ones before them left', async () => {
    const prestate = async (index: number) => {
      const traced = await invoke(traceTransaction, chainContext(chain, view), hashOf(view, 2, index), {
        tracer: 'prestateTracer',
      })
      return traced as Record<string, { balance: string; nonce?: number }>
    }
    const poorName = poor.address.toLowerCase()
    expect(BigInt((await prestate(0))[poorName]!.balance)).toBe(COIN)
    const [, called] = view.chain.entryResults(2)!
    if (called?.kind !== 'evm') throw new Error('not an EVM entry')
    const fee = called.receipt.gasUsed * called.receipt.effectiveGasPrice
    expect(BigInt((await prestate(1))[poorName]!.balance)).toBe(COIN - fee + 5n)
    expect((await prestate(2))[wallet.address.toLowerCase()]!.nonce).toBe(3)
  })

  it('traces all of its EVM transactions, and calls between them', async () => {
    const traces = (await invoke(traceBlockByNumber, chainContext(chain, view), '0x2', {
      tracer: 'callTracer',
    })) as unknown[]
    expect(traces).toHaveLength(3)
    expect(traces).toEqual(traces.map((_, index) => expect.objectContaining({ txHash: hashOf(view, 2, index) })))
    const request = { to: reader }
    const at = async (txIndex: string) => {
      const config = { tracer: 'callTracer', txIndex }
      const traced = await invoke(traceCall, chainContext(chain, view), request, '0x2', config)
      return bytesToBigInt(hexToBytes((traced as { output: string }).output))
    }
    expect(await at('0x0')).toBe(100_000n * 10n ** 9n)
    expect(await at('0x1')).toBeGreaterThan(200_000n * 10n ** 9n)
  })

  it.each([
    [
      'another gasUsed of an EVM transaction',
      1,
      /entry 1 of block 2 used \d+ gas when executed again, \d+ by its receipt/,
    ],
    ['another gasUsed of a native one', 0, /entry 0 of block 2 used \d+ gas when executed again, \d+ by its result/],
  ])('is an error where the database says %s', async (_, position, message) => {
    const directory = mkdtempSync(join(tmpdir(), 'coind-replay-'))
    await copyDatabase(chain.location, join(directory, 'db'))
    const copy = await Database.open(join(directory, 'db'))
    try {
      const entries = view.chain.entryResults(2)!.map((entry, index): StoredEntry => {
        if (index !== position) return entry
        if (entry.kind === 'evm')
          return { ...entry, receipt: { ...entry.receipt, gasUsed: entry.receipt.gasUsed + 1n } }
        if (entry.kind === 'skipped') return entry
        return { ...entry, result: { ...entry.result, gasUsed: entry.result.gasUsed - 1n } }
      })
      const batch = new WriteBatch()
      batch.put(columnKey(Column.results, heightBytes(2)), encodeResults(entries, NO_BLOCK_EVENTS))
      await copy.write(batch, { sync: false })
      const damaged = openView(copy.snapshot(), createViewCaches())
      const error = await invokeError(traceTransaction, chainContext(chain, damaged), hashOf(damaged, 2, 2))
      expect(error).toEqual({ code: -32000, message: expect.stringMatching(message) })
    } finally {
      await copy.close()
      rmSync(directory, { recursive: true })
    }
  })
})
