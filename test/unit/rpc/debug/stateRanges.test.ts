import { createMPT } from '@ethereumjs/mpt'
import { MapDB } from '@ethereumjs/util'
import type { TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeEthereumHeader } from '../../../../src/chain/block/ethereumBlock.ts'
import { toChecksumAddress } from '../../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../src/primitives/hash.ts'
import { executionWitness } from '../../../../src/rpc/debug/executionWitness.ts'
import { intermediateRoots } from '../../../../src/rpc/debug/intermediateRoots.ts'
import { getRawBlock } from '../../../../src/rpc/debug/raw.ts'
import {
  accountRange,
  getModifiedAccountsByHash,
  getModifiedAccountsByNumber,
  storageRangeAt,
} from '../../../../src/rpc/debug/stateRanges.ts'
import { traceBlockByNumber, traceBlockOfRlp, traceCall, traceCallMany } from '../../../../src/rpc/debug/traces.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../../support/execution/testChain.ts'
import { chainContext } from '../../../support/rpc/chainContext.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { COUNTER } from '../../../support/rpc/testContracts.ts'

const account = privateKeyToAccount(WALLET_KEY)
const WALLET_HEX = bytesToHex(WALLET)
const RECEIVER = `0x${'aa'.repeat(20)}` as const
/** Stores the second word of its calldata at the slot in the first. */
const STORE = hexToBytes('0x6020355f355500')
/** The hash of the block three before this one, stored in slot 0. */
const HASHES = hexToBytes('0x60034303405f5500')

const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`
const store = (slot: number, value: number): `0x${string}` => `${word(slot)}${word(value).slice(2)}` as `0x${string}`

/** Init code that returns `code`. */
function deployCode(code: Uint8Array): `0x${string}` {
  const length = code.length.toString(16).padStart(2, '0')
  return `0x60${length}600a5f3960${length}5ff3${bytesToHex(code).slice(2)}`
}

let chain: TestChain
let database: Database
let view: NodeView
let counter: `0x${string}`
let storer: `0x${string}`
let hashes: `0x${string}`

const context = () => chainContext(chain, view)

/** Blocks: 1 deploys; 2 counts, sends 5 to RECEIVER, and fills slots 0 to 4; 3 is empty; 4 counts twice, clears slot 1 and sets slot 9. */
beforeAll(async () => {
  chain = await createTestChain()
  let nonce = 0
  const sign = async (fields: Partial<TransactionSerializable>): Promise<Uint8Array> =>
    hexToBytes(
      await account.signTransaction({
        chainId: 76287,
        type: 'eip1559',
        gas: 300_000n,
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 10n ** 9n,
        nonce: nonce++,
        ...fields,
      } as TransactionSerializable),
    )
  await chain.produce([
    await sign({ data: deployCode(COUNTER) }),
    await sign({ data: deployCode(STORE) }),
    await sign({ data: deployCode(HASHES) }),
  ])
  const first = await openDatabase()
  const created = first.view.chain.receipts(1)!.map(({ contractAddress }) => bytesToHex(contractAddress!))
  ;[counter, storer, hashes] = created as [`0x${string}`, `0x${string}`, `0x${string}`]
  await first.database.close()
  const fill = await Promise.all([0, 1, 2, 3, 4].map((slot) => sign({ to: storer, data: store(slot, slot + 100) })))
  await chain.produce([...fill, await sign({ to: counter }), await sign({ to: RECEIVER, value: 5n })])
  await chain.produce()
  await chain.produce([
    await sign({ to: counter }),
    await sign({ to: storer, data: store(1, 0) }),
    await sign({ to: storer, data: store(9, 7) }),
    await sign({ to: counter }),
    await sign({ to: hashes }),
  ])
  ;({ database, view } = await openDatabase())
})

async function openDatabase(): Promise<{ database: Database; view: NodeView }> {
  const opened = await Database.open(chain.location, { readOnly: true })
  return { database: opened, view: openView(opened.snapshot(), createViewCaches()) }
}

afterAll(async () => {
  await database.close()
  await chain.close()
})

describe('debug_storageRangeAt', () => {
  interface Range {
    readonly storage: Record<string, { readonly key: string; readonly value: string }>
    readonly nextKey: string | null
  }
  const at = async (block: string, txIndex: number, start = '0x', most = 100): Promise<[string, number][]> => {
    const { storage } = (await invoke(storageRangeAt, context(), block, txIndex, storer, start, most)) as Range
    for (const [hash, { key }] of Object.entries(storage)) expect(hash).toBe(bytesToHex(keccak256(hexToBytes(key))))
    return Object.values(storage).map(({ key, value }) => [key, Number(value)])
  }
  const slots = (...pairs: readonly (readonly [number, number])[]) => pairs.map(([slot, value]) => [word(slot), value])

  it('gives the storage before a transaction, of old blocks and of the newest', async () => {
    expect(await at('0x2', 0)).toEqual([])
    expect(await at('0x2', 2)).toEqual(slots([0, 100], [1, 101]))
    expect(await at('0x4', 1)).toEqual(slots([0, 100], [1, 101], [2, 102], [3, 103], [4, 104]))
    expect(await at('0x4', 2)).toEqual(slots([0, 100], [2, 102], [3, 103], [4, 104]))
    expect(await at('latest', 3)).toEqual(slots([0, 100], [2, 102], [3, 103], [4, 104], [9, 7]))
  })

  it('goes on where a page ends', async () => {
    const first = (await invoke(storageRangeAt, context(), '0x4', 3, storer, '0x', 2)) as Range
    expect(first.nextKey).toBe(word(3))
    expect(await at('0x4', 3, first.nextKey!)).toEqual(slots([3, 103], [4, 104], [9, 7]))
    expect(await invoke(storageRangeAt, context(), '0x3', 0, RECEIVER, '0x', 2)).toEqual({ storage: {}, nextKey: null })
  })

  it('ends a page after many slots that were not set at that block', async () => {
    let passed = 0
    const [slot, absent] = [new Uint8Array(32), new Uint8Array(0)]
    const slots = async function* (): AsyncGenerator<readonly [Uint8Array, Uint8Array]> {
      for (;;) {
        new DataView(slot.buffer).setUint32(28, passed++)
        yield [slot, absent]
      }
    }
    const endless = { ...view, rangeAt: (height: number) => ({ ...view.rangeAt(height), slots }) }
    const execution = { ...context().execution!, yieldUntil: () => async () => undefined }
    const page = await invoke(storageRangeAt, chainContext(chain, endless, { execution }), '0x3', 0, storer, '0x', 2)
    expect(page).toEqual({ storage: {}, nextKey: word(200_000) })
    expect(passed).toBe(200_001)
  })

  it('refuses a transaction that is not there', async () => {
    const hash = bytesToHex(view.chain.hash(4)!)
    expect(await invokeError(storageRangeAt, context(), hash, 5, storer, '0x', 2)).toEqual({
      code: -32000,
      message: `transaction index 5 out of range for block ${hash}`,
    })
  })
})

describe('debug_accountRange', () => {
  interface Dump {
    readonly root: string
    readonly accounts: Record<string, { readonly root: string; readonly storage?: Record<string, string> }>
    readonly next?: string
  }

  it('refuses at its limit of entries, also in the middle of an account', async () => {
    const account = context().view.stateAt(3).getAccount(hexToBytes(storer))!
    let slots = 0
    const range = {
      ...view.rangeAt(3),
      accounts: async function* () {
        for (let index = 1; index < 200_000; index++) yield [new Uint8Array(20), undefined] as const
        yield [hexToBytes(storer), account] as const
      },
      slots: async function* () {
        for (;;) {
          slots++
          yield [new Uint8Array(32), new Uint8Array(0)] as const
        }
      },
    }
    const endless = { ...view, rangeAt: () => range }
    const execution = { ...context().execution!, yieldUntil: () => async () => undefined }
    const refusal = await invokeError(accountRange, chainContext(chain, endless, { execution }), '0x3', '0x', 3)
    expect(refusal).toMatchObject({ code: -32005 })
    expect(slots).toBe(1)
  })

  it('gives accounts with their code and storage, page after page', async () => {
    const all: Dump['accounts'] = {}
    let start = '0x'
    for (let pages = 0; ; pages++) {
      const dump = (await invoke(accountRange, context(), '0x2', start, 3)) as Dump
      expect(dump.root).toBe(bytesToHex(view.chain.header(2)!.stateRoot).slice(2))
      Object.assign(all, dump.accounts)
      if (dump.next === undefined) break
      start = dump.next
      expect(pages).toBeLessThan(100)
    }
    const proof = await view.proofAt(2, hexToBytes(storer), [])
    expect(all[toChecksumAddress(hexToBytes(storer))]).toEqual({
      balance: '0',
      nonce: 1,
      root: bytesToHex(proof.storageRoot),
      codeHash: bytesToHex(keccak256(STORE)),
      code: bytesToHex(STORE),
      storage: Object.fromEntries([0, 1, 2, 3, 4].map((slot) => [word(slot), (slot + 100).toString(16)])),
      address: storer,
      key: bytesToHex(keccak256(hexToBytes(storer))),
    })
    expect(all[toChecksumAddress(hexToBytes(RECEIVER))]).toMatchObject({ balance: '5', nonce: 0 })
    for (const [address, fields] of Object.entries(all)) {
      expect(fields.root, address).toBe(bytesToHex((await view.proofAt(2, hexToBytes(address), [])).storageRoot))
    }
  })

  it('leaves out what is not wanted', async () => {
    const { accounts } = (await invoke(accountRange, context(), 'latest', storer, 1, true, true)) as Dump
    const [only] = Object.values(accounts)
    expect(Object.keys(accounts)).toEqual([toChecksumAddress(hexToBytes(storer))])
    expect(only).not.toHaveProperty('code')
    expect(only).not.toHaveProperty('storage')
  })

  it('has no block of the future', async () => {
    const error = await invokeError(accountRange, context(), '0x99', '0x', 1)
    expect(error).toEqual({ code: -32000, message: 'block #153 not found' })
  })
})

describe('debug_getModifiedAccounts…', () => {
  it('gives the accounts that blocks changed', async () => {
    const one = (await invoke(getModifiedAccountsByNumber, context(), 4)) as string[]
    expect(one).toEqual(expect.arrayContaining([counter, storer, hashes, WALLET_HEX]))
    expect(one).not.toContain(RECEIVER)
    const several = (await invoke(getModifiedAccountsByNumber, context(), 1, '0x4')) as string[]
    expect(several).toEqual(expect.arrayContaining([...one, RECEIVER]))
    const [from, to] = [1, 4].map((height) => bytesToHex(view.chain.hash(height)!))
    expect(await invoke(getModifiedAccountsByHash, context(), from, to)).toEqual(several)
  })

  it('gives those whose proofs differ, and no others', async () => {
    const changed = (await invoke(getModifiedAccountsByNumber, context(), 2, 4)) as string[]
    for await (const address of view.accounts()) {
      const [before, after] = [await view.proofAt(2, address, []), await view.proofAt(4, address, [])]
      const leaf = ({ nonce, balance, codeHash, storageRoot }: typeof before) => [nonce, balance, codeHash, storageRoot]
      const isSame = JSON.stringify(leaf(before), bigints) === JSON.stringify(leaf(after), bigints)
      expect(changed.includes(bytesToHex(address)), bytesToHex(address)).toBe(!isSame)
    }
  })

  it.each([
    [[0], 'block 0 has no parent'],
    [[77], 'start block 77 not found'],
    [[1, 77], 'end block 77 not found'],
    [[3, 2], 'start block height (3) must be less than end block height (2)'],
  ])('refuses %j', async (params, message) => {
    expect(await invokeError(getModifiedAccountsByNumber, context(), ...params)).toEqual({ code: -32000, message })
  })
})

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

describe('debug_intermediateRoots', () => {
  it('gives the root after each transaction', async () => {
    const roots = (await invoke(intermediateRoots, context(), bytesToHex(view.chain.hash(4)!))) as string[]
    expect(roots).toHaveLength(5)
    expect(new Set(roots).size).toBe(5)
    expect(roots).not.toContain(bytesToHex(view.chain.header(3)!.stateRoot))
  })
})

describe('debug_executionWitness', () => {
  it('proves all that the block reads and changes', async () => {
    const witness = (await invoke(executionWitness, context(), '0x4')) as Record<
      'state' | 'codes' | 'keys' | 'headers',
      string[]
    >
    const parent = view.chain.header(3)!
    const nodes = new Map(witness.state.map((node) => [bytesToHex(keccak256(hexToBytes(node))), node]))
    expect(nodes.has(bytesToHex(parent.stateRoot))).toBe(true)
    expect(witness.codes).toEqual(expect.arrayContaining([COUNTER, STORE, HASHES].map(bytesToHex)))
    expect(witness.keys).toEqual(expect.arrayContaining([counter, storer, WALLET_HEX, word(0), word(1), word(9)]))
    // BLOCKHASH of block 1
    expect(witness.headers).toEqual(
      [1, 2, 3].map((number) => bytesToHex(encodeEthereumHeader(view.chain.header(number)!))),
    )
    // Every account that is a key has its value in a trie of these nodes alone.
    const db = new MapDB<string, string>()
    for (const [hash, node] of nodes) await db.put(hash.slice(2), node.slice(2))
    const trie = await createMPT({ db, root: parent.stateRoot, useRootPersistence: false, useKeyHashing: true })
    for (const key of witness.keys.filter((text) => text.length === 42)) {
      const found = await trie.get(hexToBytes(key))
      expect(found !== null, key).toBe(view.stateAt(3).getAccount(hexToBytes(key)) !== undefined)
    }
  })
})

describe('debug_traceBlock', () => {
  it('traces a block that the client sends', async () => {
    const rlp = await invoke(getRawBlock, context(), '0x4')
    expect(await invoke(traceBlockOfRlp, context(), rlp)).toEqual(await invoke(traceBlockByNumber, context(), '0x4'))
  })

  it('refuses others', async () => {
    const rlp = (await invoke(getRawBlock, context(), '0x4')) as string
    const other = rlp.replace(bytesToHex(view.chain.header(4)!.stateRoot).slice(2), '11'.repeat(32))
    const orphan = rlp.replace(bytesToHex(view.chain.header(4)!.parentHash).slice(2), '22'.repeat(32))
    const message = async (given: string): Promise<unknown> =>
      ((await invokeError(traceBlockOfRlp, context(), given)) as { message: string }).message
    expect(await message(other)).toMatch('is not of this chain')
    expect(await message(`${rlp.slice(0, -2)}c1`)).toMatch('is not of this chain')
    expect(await message(orphan)).toBe(`parent 0x${'22'.repeat(32)} not found`)
    expect(await message('0xc0')).toBe('could not decode block: EOF')
    expect(await message((await invoke(getRawBlock, context(), '0x0')) as string)).toBe('genesis is not traceable')
  })
})

describe('debug_traceCallMany', () => {
  const call = { from: WALLET_HEX, to: '' }
  const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
  type Traced = { readonly post: Record<string, { readonly storage?: Record<string, string> }> }

  it('runs calls on what those before have changed', async () => {
    const bundles = [
      {
        transactions: [
          { ...call, to: counter },
          { ...call, to: counter },
        ],
      },
      { transactions: [{ ...call, to: counter }] },
    ]
    const traces = (await invoke(traceCallMany, context(), bundles, { blockNumber: '0x2' }, config)) as Traced[][]
    const counted = traces.map((bundle) => bundle.map(({ post }) => Number(Object.values(post[counter]!.storage!)[0])))
    expect(counted).toEqual([[2, 3], [4]])
  })

  it('begins within a block, and takes overrides', async () => {
    const bundles = [
      { transactions: [{ data: '0x4360005260206000f3' }], blockOverride: { number: '0x1234' } },
      { transactions: [{ data: '0x4360005260206000f3' }] },
    ]
    const traces = (await invoke(traceCallMany, context(), bundles, { blockNumber: '0x4', transactionIndex: 1 })) as {
      returnValue: string
    }[][]
    expect(traces.map(([trace]) => Number(trace!.returnValue))).toEqual([0x1234, 4])
    const one = await invoke(traceCall, context(), { ...call, to: counter }, '0x4', { ...config, txIndex: '0x1' })
    const many = await invoke(
      traceCallMany,
      context(),
      [{ transactions: [{ ...call, to: counter }] }],
      { blockNumber: '0x4', transactionIndex: 1 },
      config,
    )
    expect(many).toEqual([[one]])
  })

  it('refuses nothing, and too many', async () => {
    expect(await invokeError(traceCallMany, context(), [])).toMatchObject({ message: 'empty bundles' })
    const many = [{ transactions: Array(1_001).fill({ to: counter }) }]
    expect(await invokeError(traceCallMany, context(), many)).toMatchObject({ code: -32005 })
  })
})
