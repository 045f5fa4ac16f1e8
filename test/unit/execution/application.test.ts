import { createBlockHeaderFromRLP } from '@ethereumjs/block'
import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { encodeFunctionData, erc20Abi, keccak256, type TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { encodeEthereumHeader } from '../../../src/chain/block/ethereumBlock.ts'
import { NATIVE_TOKEN_ADDRESS } from '../../../src/chain/genesis/genesisConstants.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { EngineTrapError } from '../../../src/evm/engines/errorKinds.ts'
import { readEntries, recoverEntrySender } from '../../../src/execution/entry.ts'
import { checkEntries } from '../../../src/execution/proposal.ts'
import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'

const account = privateKeyToAccount(WALLET_KEY)
const RECEIVER = '0x00000000000000000000000000000000000000aa'
const BASE = {
  chainId: 76287,
  type: 'eip1559',
  gas: 21_000n,
  maxFeePerGas: 10n ** 10n,
  maxPriorityFeePerGas: 10n ** 9n,
} as const

async function sign(fields: Partial<TransactionSerializable>): Promise<Uint8Array> {
  return hexToBytes(await account.signTransaction({ ...BASE, ...fields } as TransactionSerializable))
}

let chains: TestChain[] = []

async function start(...args: Parameters<typeof createTestChain>): Promise<TestChain> {
  const chain = await createTestChain(...args)
  chains.push(chain)
  return chain
}

afterEach(async () => {
  for (const chain of chains) await chain.close()
  chains = []
})

/** What another thread sees. */
async function readView<T>(chain: TestChain, read: (view: ReturnType<typeof openView>) => T | Promise<T>): Promise<T> {
  const database = await Database.open(chain.location, { readOnly: true })
  const snapshot = database.snapshot()
  try {
    return await read(openView(snapshot, createViewCaches()))
  } finally {
    await snapshot.close()
    await database.close()
  }
}

describe('a database', () => {
  it('without the number of its format is not read', async () => {
    const chain = await start()
    await chain.executor.close()
    const database = await Database.open(chain.location)
    const batch = new WriteBatch()
    batch.del(columnKey(Column.chainMeta, new TextEncoder().encode('format')))
    await database.write(batch, { sync: true })
    await database.close()
    await expect(chain.reopen()).rejects.toThrow(/has no format number/)
  })
})

describe('application', () => {
  it('builds, executes and stores transfers; the next block commits to their Ethereum block hash', async () => {
    const chain = await start()
    await chain.produce()
    const raws = await Promise.all([0, 1, 2].map((nonce) => sign({ nonce, to: RECEIVER, value: 5n })))
    const second = await chain.produce(raws)
    expect(second.block.txs).toEqual(raws)
    const third = await chain.produce()

    await readView(chain, (view) => {
      const header = view.chain.header(2)!
      const common = createCustomCommon({ chainId: 76287 }, Mainnet, { hardfork: Hardfork.Osaka })
      const independent = createBlockHeaderFromRLP(encodeEthereumHeader(header), { common })
      expect(bytesToHex(third.block.header.appHash)).toBe(bytesToHex(independent.hash()))
      expect(header.gasUsed).toBe(63_000n)
      expect(header.miner).toEqual(WALLET)
      expect(bytesToHex(header.parentBeaconBlockRoot!)).toBe(bytesToHex(second.block.header.lastBlockId.hash))
      expect(view.stateAt(2).getAccount(hexToBytes(RECEIVER))?.balance).toBe(15n)
      expect(view.stateAt(1).getAccount(hexToBytes(RECEIVER))).toBeUndefined()
      expect(view.chain.transactions(2)?.map(({ sender }) => sender)).toEqual([WALLET, WALLET, WALLET])
      expect(view.chain.receipts(2)?.map((receipt) => receipt.cumulativeGasUsed)).toEqual([21_000n, 42_000n, 63_000n])
      const hash = view.chain.transactions(2)![1]!.transaction.hash
      expect(view.chain.locate(hash)).toEqual({ height: 2, index: 1 })
    })
  })

  it('leaves out what cannot start when it builds, and skips it in a block that has it anyway', async () => {
    const chain = await start()
    const good = await sign({ nonce: 0, to: RECEIVER, value: 1n })
    const gap = await sign({ nonce: 7, to: RECEIVER, value: 1n })
    expect((await chain.produce([good, gap])).block.txs).toEqual([good])
    const next = await sign({ nonce: 1, to: RECEIVER, value: 1n })
    await chain.produce([gap, Uint8Array.of(0x0a, 1, 2), Uint8Array.of(0xff), next], { asGiven: true })
    await readView(chain, (view) => {
      expect(view.chain.transactions(2)?.map(({ transaction }) => transaction.raw)).toEqual([next])
      expect(view.chain.transactionCount(2)).toBe(1)
      expect(view.stateAt(2).getAccount(WALLET)?.nonce).toBe(2n)
    })
  })

  it('conserves coins: balances add up to the total supply with fees collected', async () => {
    const chain = await start()
    await chain.produce([await sign({ nonce: 0, to: RECEIVER, value: 10n ** 18n })])
    await readView(chain, (view) => {
      const supply = 10n ** 27n + 10n ** 24n
      const state = view.stateAt(1)
      const total = ['0xf1829676db577682e944fc3493d451b67ff3e29f', '0x4fea76427b8345861e80a3540a8a9d936fd39391']
        .map((address) => state.getAccount(hexToBytes(address))?.balance ?? 0n)
        .concat(state.getAccount(WALLET)!.balance, state.getAccount(hexToBytes(RECEIVER))!.balance)
        .reduce((sum, balance) => sum + balance)
      expect(total).toBe(supply)
    })
  })

  it('moves coins and logs through the ERC-20 contract, findable by address and topic', async () => {
    const chain = await start()
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [RECEIVER, 9n] })
    await chain.produce()
    await chain.produce([await sign({ nonce: 0, to: NATIVE_TOKEN_ADDRESS, gas: 100_000n, data })])
    await chain.produce()
    await readView(chain, async (view) => {
      const [receipt] = view.chain.receipts(2)!
      expect(receipt?.status).toBe(1)
      const [log] = receipt!.logs
      const terms = { addresses: [log!.address], topics: [[log!.topics[0]!]] }
      expect((await Array.fromAsync(view.chain.logHeights(terms, 0, 3))).flat()).toEqual([2])
      const other = { addresses: [WALLET], topics: [] }
      expect((await Array.fromAsync(view.chain.logHeights(other, 0, 3))).flat()).toEqual([])
      expect((await Array.fromAsync(view.chain.logHeights({ addresses: [], topics: [] }, 0, 3))).flat()).toEqual([2])
      expect(view.stateAt(2).getAccount(hexToBytes(RECEIVER))?.balance).toBe(9n)
    })
  })

  it('goes on after it is reopened, and two chains with the same blocks have the same hashes', async () => {
    const first = await createTestChain()
    const decided = [await first.produce([await sign({ nonce: 0, to: RECEIVER, value: 3n })]), await first.produce()]
    const reopened = await first.reopen()
    chains.push(reopened)
    decided.push(await reopened.produce([await sign({ nonce: 1, to: RECEIVER, value: 3n })]))

    const replica = await start()
    for (const block of decided) await replica.executor.application.finalizeBlock(block)
    expect(bytesToHex(replica.executor.head().hash)).toBe(bytesToHex(reopened.executor.head().hash))
  })

  it('stops at a decided block with a transaction that breaks the engine, and says which one it is', async () => {
    const engine: Engine = {
      name: 'wasm',
      run: async (message, environment) => {
        if (message.to !== undefined) return productionEngine.run(message, environment)
        throw new EngineTrapError('the EVM broke', new Error('unreachable'))
      },
    }
    const chain = await start({}, { engine, unforeseen: () => undefined })
    await chain.produce()
    const raw = await sign({ to: undefined, data: '0x00', gas: 100_000n })
    const hash = keccak256(bytesToHex(raw))
    const stopped = expect(chain.produce([raw], { asGiven: true })).rejects
    await stopped.toThrow(
      `block 2 was decided, but this node cannot execute it: unexpected error in transaction ${hash}`,
    )
    expect(chain.executor.head().header.number).toBe(1)
  })

  it('refuses a block that was decided on another application hash', async () => {
    const chain = await start()
    const decided = await chain.produce()
    const wrong = {
      ...decided,
      block: { ...decided.block, header: { ...decided.block.header, height: 2, appHash: new Uint8Array(32) } },
    }
    await expect(chain.executor.application.finalizeBlock(wrong)).rejects.toThrow(/application hash/)
  })

  it('drops bodies and receipts behind the block history, and keeps headers', async () => {
    const chain = await start({}, { blockHistory: 5 })
    await chain.produce([await sign({ nonce: 0, to: RECEIVER, value: 3n })])
    for (let i = 0; i < 12; i++) await chain.produce()
    await readView(chain, async (view) => {
      expect(view.chain.oldestBlock).toBe(8)
      expect(view.chain.transactions(1)).toBeUndefined()
      expect(view.chain.header(1)?.gasUsed).toBe(21_000n)
      expect(view.chain.transactions(12)).toEqual([])
      expect([1, 12, 14].map(view.chain.transactionCount)).toEqual([undefined, 0, undefined])
    })
    const database = await Database.open(chain.location, { readOnly: true })
    expect(openChainReader(database).headHeight).toBe(13)
    await database.close()
  })

  it('does not show the parts of a dropped block that a thread read before it was dropped', async () => {
    const chain = await start({}, { blockHistory: 5 })
    await chain.produce([await sign({ nonce: 0, to: RECEIVER, value: 3n })])
    const database = await Database.open(chain.location, { readOnly: true })
    const caches = createViewCaches()
    const early = database.snapshot()
    const before = openView(early, caches).chain
    expect(before.receipts(1)).toHaveLength(1)
    for (let i = 0; i < 12; i++) await chain.produce()
    const late = database.snapshot()
    const after = openView(late, caches).chain
    expect([after.receipts(1), after.transactions(1), after.size(1)]).toEqual([undefined, undefined, undefined])
    expect(after.consensusBlock(1)?.txs).toEqual([])
    expect(before.transactions(1)).toHaveLength(1)
    await early.close()
    await late.close()
    await database.close()
  })

  it('accepts what it builds, also when refunds let a block hold more intrinsic gas than its limit', async () => {
    const chain = await start({ blockGasLimit: 2n ** 24n })
    const authority = privateKeyToAccount(`0x${'01'.repeat(32)}`)
    await chain.produce([await sign({ nonce: 0, to: authority.address, value: 1n })])
    const authorizations = await Promise.all(
      Array.from({ length: 750 }, (_, nonce) =>
        authority.signAuthorization({ chainId: 76287, address: RECEIVER, nonce }),
      ),
    )
    const raws = await Promise.all(
      [0, 1, 2].map((index) =>
        sign({
          type: 'eip7702',
          nonce: 1 + index,
          to: RECEIVER,
          gas: 6_300_000n,
          authorizationList: authorizations.slice(250 * index, 250 * (index + 1)),
        }),
      ),
    )
    const { block } = await chain.produce(raws)
    expect(block.txs).toHaveLength(3)
    const entries = await readEntries(block.txs, createTransactionDecoder(chain.chain), undefined)
    expect(checkEntries(entries, block.header.height, chain.chain)).toBeUndefined()
  })

  it.each([
    ['cannot start on this state', (nonce: number) => sign({ nonce: nonce + 9, to: RECEIVER }), 'nonce too high'],
    ['can never start', async () => Uint8Array.of(0x02, 0xc0), ''],
  ])('refuses a proposal at its first entry that %s, and executes a decided block with it', async (_, bad, reason) => {
    let runs = 0
    const engine: Engine = {
      ...productionEngine,
      run: (...args) => {
        runs++
        return productionEngine.run(...args)
      },
    }
    const chain = await start({}, { engine })
    const { application } = chain.executor
    const create = (nonce: number) => sign({ nonce, to: undefined, data: '0x00', gas: 100_000n })
    const judge = async (txs: readonly Uint8Array[]) => {
      const before = runs
      const decided = await chain.decide(txs)
      const verdict = await application.processProposal(decided.block)
      return { decided, verdict, runs: runs - before }
    }
    const [first, ...others] = await Promise.all(Array.from({ length: 12 }, (_each, nonce) => create(nonce)))
    const good = await judge([first!])
    expect(good.verdict).toEqual({ accepted: true })
    const refused = await judge([first!, await bad(1), ...others])
    expect(refused.verdict).toEqual({ accepted: false, reason: expect.stringMatching(`^transaction 1.*${reason}`) })
    expect(refused.runs).toBeLessThanOrEqual(good.runs)
    await application.finalizeBlock(refused.decided)
    expect(chain.executor.head().header.gasUsed).toBeGreaterThan(12n * 53_000n)
  })

  it('has transactions without a chain ID in blocks where the genesis allows them, and nowhere else', async () => {
    const { chainId: _, maxFeePerGas: gasPrice, gas } = BASE
    const raw = hexToBytes(
      await account.signTransaction({ type: 'legacy', nonce: 0, to: RECEIVER, value: 7n, gas, gasPrice }),
    )
    const [chain, replica, older] = [await start(), await start(), await start({ allowsUnprotected: false })]
    const decided = await chain.produce([raw])
    expect(decided.block.txs).toEqual([raw])
    const entries = await readEntries([raw], createTransactionDecoder(chain.chain), undefined)
    expect(entries).toMatchObject([{ sender: WALLET, transaction: { chainId: undefined, v: expect.any(BigInt) } }])
    expect(checkEntries(entries, 1, chain.chain)).toBeUndefined()
    await replica.executor.application.finalizeBlock(decided)
    expect(bytesToHex(replica.executor.head().hash)).toBe(bytesToHex(chain.executor.head().hash))
    const balance = await readView(chain, (view) => view.stateAt(1).getAccount(hexToBytes(RECEIVER))?.balance)
    expect(balance).toBe(7n)

    const refused = await readEntries([raw], createTransactionDecoder(older.chain), undefined)
    expect(refused).toEqual([{ reason: 'only replay-protected (EIP-155) transactions allowed over RPC' }])
    expect(checkEntries(refused, 1, older.chain)).toContain('only replay-protected')
    expect(recoverEntrySender(raw, createTransactionDecoder(older.chain))).toBeUndefined()
    expect(recoverEntrySender(raw, createTransactionDecoder(chain.chain))).toEqual(WALLET)
  })

  it('gets the same block by building it among candidates that cannot start as by executing it', async () => {
    const [chain, replica] = [await start(), await start()]
    const stranger = privateKeyToAccount(`0x${'02'.repeat(32)}`)
    const token = { to: NATIVE_TOKEN_ADDRESS, gas: 100_000n } as const
    const approve = (amount: bigint) =>
      encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [stranger.address, amount] })
    // PUSH1 1, PUSH1 0, SSTORE, ADDRESS, SELFDESTRUCT: created, written and destroyed in one transaction, with value.
    const vanishing = '0x600160005530ff'
    const poor = hexToBytes(await stranger.signTransaction({ ...BASE, nonce: 0, to: RECEIVER, value: 10n ** 30n }))
    const raws = [
      await sign({ nonce: 0, ...token, data: approve(5n) }),
      poor,
      await sign({ nonce: 1, to: undefined, gas: 200_000n, data: vanishing, value: 7n }),
      await sign({ nonce: 1, to: RECEIVER, value: 1n }),
      await sign({ nonce: 2, to: stranger.address, value: 1n }),
    ]
    const decided = await chain.produce(raws)
    expect(decided.block.txs).toHaveLength(2)
    await replica.executor.application.finalizeBlock(decided)
    expect(bytesToHex(replica.executor.head().hash)).toBe(bytesToHex(chain.executor.head().hash))
    expect(replica.executor.head().record.resultsHash).toEqual(chain.executor.head().record.resultsHash)
  })
})
