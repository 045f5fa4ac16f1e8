import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { entryHash } from '../../../src/chain/block/entries.ts'
import { resultsHash } from '../../../src/chain/comet/block.ts'
import { createReferenceEngine } from '../../../src/evm/engines/reference/referenceEngine.ts'
import { readEntries, recoverEntrySender } from '../../../src/execution/entry.ts'
import { eventsOfEntry } from '../../../src/execution/entryEvents.ts'
import { checkEntries } from '../../../src/execution/proposal.ts'
import { AUTH_PARAMS, DEFAULT_AUTH_PARAMS } from '../../../src/modules/auth/params.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { addressOf } from '../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, type NodeView, openView } from '../../../src/state/view.ts'
import { Column, prefixEnd } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { anyOf, signTestTransaction, type TestTransaction } from '../../native/signTransaction.ts'
import {
  createTestChain,
  type TestChain,
  type TestChainOptions,
  WALLET,
  WALLET_KEY,
} from '../../support/execution/testChain.ts'
import { scriptedHooks } from '../../support/execution/testNetwork.ts'

const account = privateKeyToAccount(WALLET_KEY)
const RECEIVER = '0x00000000000000000000000000000000000000aa'
const OTHER_KEY = '0x00000000000000000000000000000000000000000000000000000000000000bb'
const GAS = 100_000n

function messageOf(amount: bigint) {
  const toAddress = toBech32(hexToBytes(RECEIVER))
  return anyOf(MsgSend, { fromAddress: toBech32(WALLET), toAddress, amount: [{ denom: 'acoin', amount }] })
}

/** A MsgSend of the wallet. */
function send(sequence: number, amount: bigint, more: Partial<TestTransaction> = {}): Uint8Array {
  return signTestTransaction({
    messages: [messageOf(amount)],
    signers: [{ privateKey: hexToBytes(WALLET_KEY), sequence }],
    gasLimit: GAS,
    ...more,
  })
}

async function transfer(nonce: number, value: bigint, to: Hex = RECEIVER, from = account): Promise<Uint8Array> {
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  return hexToBytes(await from.signTransaction({ chainId: 76287, type: 'eip1559', to, nonce, value, ...fees }))
}

let chains: TestChain[] = []

/** The lane of a smaller block is full of fewer transactions. */
const BLOCK_GAS_LIMIT = 30_000_000n

async function start(options: TestChainOptions = {}): Promise<TestChain> {
  const chain = await createTestChain({ blockGasLimit: BLOCK_GAS_LIMIT }, options)
  chains.push(chain)
  return chain
}

afterEach(async () => {
  for (const chain of chains) await chain.close()
  chains = []
})

/** What another thread sees. */
async function readView<T>(chain: TestChain, read: (view: NodeView) => T | Promise<T>): Promise<T> {
  const database = await Database.open(chain.location, { readOnly: true })
  const snapshot = database.snapshot()
  try {
    return await read(openView(snapshot, createViewCaches()))
  } finally {
    await snapshot.close()
    await database.close()
  }
}

describe('native transactions in a block', () => {
  it('take turns with EVM transactions of one account, and are in the block but not in the Ethereum one', async () => {
    const chain = await start()
    const raws = [await transfer(0, 1n), send(1, 10n), await transfer(2, 100n), send(3, 1000n)]
    const first = await chain.produce(raws)
    expect(first.block.txs).toEqual(raws)
    const second = await chain.produce()
    await readView(chain, (view) => {
      expect(view.stateAt(1).getAccount(hexToBytes(RECEIVER))?.balance).toBe(1111n)
      expect(view.stateAt(1).getAccount(WALLET)?.nonce).toBe(4n)
      expect(view.chain.header(1)?.gasUsed).toBe(42_000n)
      expect(view.chain.transactions(1)?.map(({ transaction }) => transaction.raw)).toEqual([raws[0], raws[2]])
      const entries = view.chain.entryResults(1)!
      expect(entries.map(({ kind }) => kind)).toEqual(['evm', 'native', 'evm', 'native'])
      expect(view.chain.locateNative(entryHash(raws[3]!))).toEqual({ height: 1, position: 3 })
      expect(view.chain.locate(entryHash(raws[2]!))).toEqual({ height: 1, index: 1 })
      const native = entries[1]!
      if (native.kind !== 'native') throw new Error('not a native entry')
      expect(native.result).toMatchObject({ code: 0, codespace: '', log: '', gasWanted: GAS })
      const evm = { code: 0, data: new Uint8Array(), gasWanted: 21_000n, gasUsed: 21_000n }
      const other = entries[3]!
      if (other.kind !== 'native') throw new Error('not a native entry')
      const expected = resultsHash([evm, native.result, evm, other.result])
      expect(bytesToHex(second.block.header.lastResultsHash)).toBe(bytesToHex(expected))
    })
  })

  it.each([
    ['a wrong sequence', () => send(5, 1n), { kind: 'skipped', codespace: 'sdk', code: 32 }, 0n],
    [
      'a fee below the base fee',
      () => send(0, 1n, { feeAcoin: 1n }),
      { kind: 'skipped', codespace: 'sdk', code: 13 },
      0n,
    ],
    [
      'a height that has passed',
      () => send(0, 1n, { timeoutHeight: 1n }),
      { kind: 'skipped', codespace: 'sdk', code: 30 },
      0n,
    ],
    ['more than there is', () => send(0, 10n ** 30n), { kind: 'native', result: { codespace: 'sdk', code: 5 } }, 1n],
    ['bytes of no transaction', () => Uint8Array.of(0x0a, 1, 2), { kind: 'skipped', codespace: 'evm', code: 2 }, 0n],
  ])('stores what became of %s', async (_, make, expected, nonce) => {
    const chain = await start()
    await chain.produce()
    await chain.produce([make()], { asGiven: true })
    const next = await chain.produce()
    await readView(chain, (view) => {
      const [entry] = view.chain.entryResults(2)!
      expect(entry).toMatchObject(expected)
      expect(view.stateAt(2).getAccount(hexToBytes(RECEIVER))).toBeUndefined()
      expect(view.stateAt(2).getAccount(WALLET)?.nonce).toBe(nonce)
      if (entry?.kind !== 'native')
        expect(view.stateAt(2).getAccount(WALLET)).toEqual(view.stateAt(1).getAccount(WALLET))
      const code = entry?.kind === 'native' ? entry.result.code : entry?.kind === 'skipped' ? entry.code : 0
      expect(code).toBeGreaterThan(0)
      const result =
        entry?.kind === 'native'
          ? entry.result
          : { code, data: new Uint8Array(), gasWanted: (entry as { gasWanted: bigint }).gasWanted, gasUsed: 0n }
      expect(bytesToHex(next.block.header.lastResultsHash)).toBe(bytesToHex(resultsHash([result])))
    })
  })

  it('come to the same state when they are built, executed, executed by another engine and read again', async () => {
    const chain = await start({ shadow: createReferenceEngine() })
    const decided = [
      await chain.produce([send(0, 7n), await transfer(1, 3n)]),
      await chain.produce([send(2, 10n ** 30n)]),
    ]
    const reopened = await chain.reopen()
    chains = [reopened]
    decided.push(await reopened.produce([send(3, 1n)]))
    for (const options of [{}, { engine: createReferenceEngine() }]) {
      const replica = await start(options)
      for (const block of decided) await replica.executor.application.finalizeBlock(block)
      expect(bytesToHex(replica.executor.head().hash)).toBe(bytesToHex(reopened.executor.head().hash))
      expect(replica.executor.head().record.resultsHash).toEqual(reopened.executor.head().record.resultsHash)
    }
  })

  it('have a lane of their own: a full one leaves the rest of the block to EVM transactions', async () => {
    const chain = await start()
    const messages = Array.from({ length: 50 }, () => messageOf(1n))
    const large = (sequence: number) => send(sequence, 1n, { messages, gasLimit: 1_000_000n })
    const other = privateKeyToAccount(OTHER_KEY)
    await chain.produce([await transfer(0, 10n ** 18n, other.address)])
    const natives = Array.from({ length: 14 }, (_, index) => large(1 + index))
    const built = await chain.produce([...natives, await transfer(0, 1n, RECEIVER, other)])
    const fitting = built.block.txs.length - 1
    const further = Array.from({ length: 14 }, (_, index) => large(1 + fitting + index))
    await chain.produce([...further, await transfer(1, 1n, RECEIVER, other)], { asGiven: true })
    await readView(chain, (view) => {
      for (const height of [2, 3]) {
        const entries = view.chain.entryResults(height)!
        expect(entries.map(({ kind }) => kind)).toEqual([
          ...Array.from({ length: fitting }, () => 'native'),
          ...(height === 2 ? [] : Array.from({ length: 14 - fitting }, () => 'skipped')),
          'evm',
        ])
        const used = entries.reduce((sum, entry) => sum + (entry.kind === 'native' ? entry.result.gasUsed : 0n), 0n)
        expect(used).toBeLessThanOrEqual(7_500_000n)
        expect(used).toBeGreaterThan(6_500_000n)
      }
      expect(view.chain.entryResults(3)![fitting]).toMatchObject({ codespace: 'sdk', code: 11 })
    })
    const entries = await readEntries(further, createTransactionDecoder(chain.chain), undefined)
    expect(checkEntries(entries, 4, chain.chain)).toMatch(
      /^the native transactions need \d+ gas, the block has 7500000/,
    )
    expect(checkEntries(entries.slice(0, fitting), 4, chain.chain)).toBeUndefined()
    const dearer = { ...DEFAULT_AUTH_PARAMS, txSizeCostPerByte: 20n }
    expect(checkEntries(entries.slice(0, fitting), 4, chain.chain, dearer)).toMatch(/^the native transactions need/)
  })

  it('that cannot start, whatever block comes next, are told to the mempool once', async () => {
    const told: string[] = []
    const chain = await start({ unexecutable: (hashes) => void told.push(...hashes.map(bytesToHex)) })
    const keys = Array.from({ length: 4 }, (_, index) => new Uint8Array(32).fill(index + 1))
    const from = (index: number, more: Partial<TestTransaction>, sequence = 0) => {
      const privateKey = keys[index]!
      const fromAddress = toBech32(addressOf({ privateKey }))
      const toAddress = toBech32(WALLET)
      const messages = [anyOf(MsgSend, { fromAddress, toAddress, amount: [{ denom: 'acoin', amount: 1n }] })]
      return signTestTransaction({ messages, signers: [{ privateKey, sequence }], gasLimit: GAS, ...more })
    }
    const amount = [{ denom: 'acoin', amount: 10n ** 18n }]
    const funds = keys.slice(1).map((privateKey) => {
      const toAddress = toBech32(addressOf({ privateKey }))
      return anyOf(MsgSend, { fromAddress: toBech32(WALLET), toAddress, amount })
    })
    await chain.produce([send(0, 1n, { messages: funds })])
    const [poor, verbose, early, ungranted] = [
      from(0, {}),
      from(1, { memo: 'x'.repeat(257) }),
      from(2, {}, 1),
      from(3, { feeGranter: toBech32(WALLET) }),
    ] as const
    const built = await chain.produce([poor, verbose, early, ungranted, send(1, 1n)])
    expect(built.block.txs).toEqual([send(1, 1n)])
    expect(told).toEqual([verbose, ungranted].map((raw) => bytesToHex(entryHash(raw))))
  })

  it('of more gas than the lane has by now are told to the mempool', async () => {
    const told: string[] = []
    const hooks = scriptedHooks((height, { native }) => {
      if (height === 1) AUTH_PARAMS.set(native, { ...AUTH_PARAMS.get(native), txSizeCostPerByte: 50_000n })
    })
    const chain = await start({ hooks, unexecutable: (hashes) => void told.push(...hashes.map(bytesToHex)) })
    const raw = send(0, 1n, { gasLimit: 20_000_000n })
    await chain.produce()
    expect((await chain.produce([raw])).block.txs).toEqual([])
    expect(told).toEqual([bytesToHex(entryHash(raw))])
  })

  it('are found by their events, as transfers of both kinds are', async () => {
    const chain = await start()
    await chain.produce()
    await chain.produce([send(0, 5n)])
    await chain.produce([await transfer(1, 6n)])
    await chain.produce()
    const receiver = toBech32(hexToBytes(RECEIVER))
    await readView(chain, async (view) => {
      const heights = (key: string, value?: string) =>
        Array.fromAsync(view.chain.eventHeights([value === undefined ? { key } : { key, value }], 1, 4))
      expect(await heights('transfer.recipient', receiver)).toEqual([2, 3])
      expect(await heights('message.sender', toBech32(WALLET))).toEqual([2, 3])
      expect(await heights('message.action', '/cosmos.bank.v1beta1.MsgSend')).toEqual([2])
      expect(await heights('message.action')).toEqual([2])
      expect(await heights('coin_spent.amount', '6acoin')).toEqual(expect.arrayContaining([3]))
      expect(await heights('message.action', '/cosmos.bank.v1beta1.MsgMultiSend')).toEqual([])
      const both = [
        { key: 'message.action', value: '/cosmos.bank.v1beta1.MsgSend' },
        { key: 'transfer.recipient', value: receiver },
      ]
      expect(await Array.fromAsync(view.chain.eventHeights(both, 1, 4))).toEqual([2])
      expect(await Array.fromAsync(view.chain.eventHeights(both, 3, 4))).toEqual([])
      for (const [height, amount] of [
        [2, 5],
        [3, 6],
      ] as const) {
        const events = eventsOfEntry(view.chain.entryResults(height)![0]!)
        const [moved] = events.filter(({ type }) => type === 'transfer').slice(-1)
        expect(moved?.attributes.slice(0, 3)).toEqual([
          { key: 'recipient', value: receiver },
          { key: 'sender', value: toBech32(WALLET) },
          { key: 'amount', value: `${amount}acoin` },
        ])
      }
    })
  })

  it('are verified once: by whoever reads a proposal, if the pool has not', async () => {
    const { chain } = await start()
    const [good, altered] = [send(0, 1n), send(0, 1n)]
    altered[altered.length - 1]! ^= 1
    expect([good, altered].map((raw) => recoverEntrySender(raw, createTransactionDecoder(chain)))).toEqual([
      WALLET,
      undefined,
    ])
    expect(
      checkEntries(await readEntries([good], createTransactionDecoder(chain), undefined), 1, chain),
    ).toBeUndefined()
    expect(
      checkEntries(await readEntries([good, altered], createTransactionDecoder(chain), undefined), 1, chain),
    ).toMatch(/^transaction 1: .*signature/)
    const asked: unknown[] = []
    const known = async (hashes: readonly Uint8Array[]) => {
      asked.push(...hashes)
      return hashes.map(() => WALLET)
    }
    expect(checkEntries(await readEntries([altered], createTransactionDecoder(chain), known), 1, chain)).toBeUndefined()
    expect(asked).toEqual([entryHash(altered)])
  })

  it('leave nothing in the indexes when their block is dropped; an empty block has nothing there', async () => {
    const chain = await start({ blockHistory: 2 })
    const columns = [Column.results, Column.transaction, Column.nativeTransaction, Column.eventTerm]
    const entries = async () => {
      const database = await Database.open(chain.location, { readOnly: true })
      const counts: number[] = []
      for (const column of columns) {
        const range = { start: Uint8Array.of(column), end: prefixEnd(Uint8Array.of(column)) }
        counts.push((await Array.fromAsync(database.entries(range))).length)
      }
      await database.close()
      return counts
    }
    await chain.produce()
    expect(await entries()).toEqual([0, 0, 0, 0])
    await chain.produce([send(0, 1n), await transfer(1, 1n)])
    expect((await entries()).slice(0, 3)).toEqual([1, 1, 1])
    // What the next block says of the fees is dropped after it.
    for (let height = 3; height <= 7; height++) await chain.produce()
    expect(await entries()).toEqual([0, 0, 0, 0])
  })
})
