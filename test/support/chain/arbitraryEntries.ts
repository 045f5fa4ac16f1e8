import fc from 'fast-check'
import type { BlockEvents, NativeEvent, StoredEntry, ValueTransfer } from '../../../src/chain/block/entries.ts'
import { type Log, logsBloom } from '../../../src/chain/block/receipt.ts'
import { buildTransaction } from '../../../src/chain/block/transaction.ts'
import { type Address, moduleAddress, toBech32 } from '../../../src/primitives/address.ts'
import { signEvmTransaction } from '../../signEvmTransaction.ts'

/** A few accounts, so that they meet again. */
export const PARTIES: readonly Address[] = ['a', 'b', 'c', 'd'].map(moduleAddress)

const party = fc.constantFrom(...PARTIES)
const amount = fc.bigInt({ min: 1n, max: 2n ** 90n })
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const arbitraryEvent: fc.Arbitrary<NativeEvent> = fc.record({
  type: fc.constantFrom('transfer', 'coin_spent', 'message', 'delegate', 'tx', ''),
  attributes: fc.array(
    fc.record({
      key: fc.constantFrom('sender', 'recipient', 'spender', 'amount', 'action', 'fee_payer', 'é"\\'),
      value: fc.oneof(
        party.map((address) => toBech32(address)),
        fc.constantFrom('', '5acoin', 'coin1x'),
        fc.string(),
      ),
    }),
    { maxLength: 4 },
  ),
})
const events = fc.array(arbitraryEvent, { maxLength: 3 })

export const arbitraryBlockEvents: fc.Arbitrary<BlockEvents> = fc.record({ begin: events, end: events })

const log: fc.Arbitrary<Log> = fc.record({
  address: bytes(20),
  topics: fc.array(bytes(32), { maxLength: 4 }),
  data: fc.uint8Array({ maxLength: 40 }),
})
const transfer: fc.Arbitrary<ValueTransfer> = fc.record({ from: party, to: party, amountAcoin: amount })

const KEY = new Uint8Array(32).fill(7)

const evm = fc
  .record({
    sender: party,
    to: fc.option(party, { nil: undefined }),
    value: fc.oneof(fc.constant(0n), amount),
    status: fc.constantFrom(0 as const, 1 as const),
    gasUsed: fc.bigInt({ min: 21_000n, max: 2n ** 24n }),
    price: fc.bigInt({ min: 0n, max: 2n ** 60n }),
    created: fc.option(party, { nil: undefined }),
    logs: fc.array(log, { maxLength: 2 }),
    transfers: fc.array(transfer, { maxLength: 2 }),
    events,
  })
  .map(({ sender, to, value, status, gasUsed, price, created, logs, ...rest }): StoredEntry => {
    const transaction = signEvmTransaction(buildTransaction({ type: 2, chainId: 1n, to, value }), KEY)
    const receipt = {
      type: 2,
      status,
      gasUsed,
      cumulativeGasUsed: 0n,
      effectiveGasPrice: price,
      logs,
      logsBloom: logsBloom(logs),
      contractAddress: created,
      blobGasUsed: undefined,
      blobGasPrice: undefined,
    } as const
    return { kind: 'evm', index: 0, signed: { transaction, sender }, receipt, ...rest }
  })

const native = fc.record({
  kind: fc.constant('native' as const),
  raw: fc.uint8Array({ maxLength: 20 }).map((rest) => Uint8Array.of(0x0a, ...rest)),
  result: fc.record({
    code: fc.nat(200),
    codespace: fc.constantFrom('', 'sdk', 'staking'),
    log: fc.string(),
    data: fc.uint8Array({ maxLength: 30 }),
    gasWanted: fc.bigInt({ min: 0n, max: 2n ** 40n }),
    gasUsed: fc.bigInt({ min: 0n, max: 2n ** 40n }),
    events,
  }),
})

const skipped = fc.record({
  kind: fc.constant('skipped' as const),
  code: fc.integer({ min: 1, max: 200 }),
  codespace: fc.constantFrom('sdk', 'evm'),
  reason: fc.string(),
  gasWanted: fc.bigInt({ min: 0n, max: 2n ** 40n }),
})

/** The entries of a block, with what follows from their order filled in. */
export const arbitraryEntries: fc.Arbitrary<StoredEntry[]> = fc
  .array(fc.oneof(evm, native, skipped), { maxLength: 6 })
  .map((entries) => {
    let index = 0
    let cumulativeGasUsed = 0n
    return entries.map((entry): StoredEntry => {
      if (entry.kind !== 'evm') return entry
      cumulativeGasUsed += entry.receipt.gasUsed
      return { ...entry, index: index++, receipt: { ...entry.receipt, cumulativeGasUsed } }
    })
  })
