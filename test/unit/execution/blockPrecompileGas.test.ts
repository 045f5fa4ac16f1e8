import type { TransactionSerializable } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/evm/engine.ts'
import { createReferenceEngine } from '../../../src/evm/engines/reference/referenceEngine.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { traceBlockByNumber, traceCall, traceTransaction } from '../../../src/rpc/debug/traces.ts'
import { call } from '../../../src/rpc/eth/call.ts'
import { createViewCaches, type NodeView, openView } from '../../../src/state/view.ts'
import { Database } from '../../../src/storage/database.ts'
import { precompileCaller, precompileCalls } from '../../support/evm/precompileCaller.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import { createTestChain, type TestChain, type TestChainOptions } from '../../support/execution/testChain.ts'
import { chainContext } from '../../support/rpc/chainContext.ts'
import { invoke } from '../../support/rpc/invoke.ts'

const ECRECOVER = 1
const PRICE = 3_000n
/** of a block: 100 calls of ecrecover */
const LIMIT = 300_000n
const [ANNE, BERT, CARL] = [generatePrivateKey(), generatePrivateKey(), generatePrivateKey()].map((key) =>
  privateKeyToAccount(key),
) as [PrivateKeyAccount, PrivateKeyAccount, PrivateKeyAccount]
const RECEIVER = '0x00000000000000000000000000000000000000aa'

function sign(
  account: PrivateKeyAccount,
  nonce: number,
  fields: Partial<TransactionSerializable>,
): Promise<Uint8Array> {
  const transaction = {
    chainId: 76287,
    type: 'eip1559',
    gas: 1_000_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 10n ** 9n,
    nonce,
    ...fields,
  }
  return account.signTransaction(transaction as TransactionSerializable).then(hexToBytes)
}

/** Init code that returns `code`. */
function deployCode(code: Uint8Array): `0x${string}` {
  const length = code.length.toString(16).padStart(2, '0')
  return `0x60${length}600a5f3960${length}5ff3${bytesToHex(code).slice(2)}`
}

let chains: TestChain[] = []

/** A chain whose block 1 has deployed the contract that calls precompiles, with ANNE's nonce 0. */
async function start(options: TestChainOptions = {}): Promise<TestChain & { readonly contract: `0x${string}` }> {
  const fundedAccounts = [ANNE, BERT, CARL].map(({ address }) => ({
    address: hexToBytes(address),
    balanceAcoin: 10n ** 20n,
  }))
  const chain = await createTestChain({ fundedAccounts, precompileGasLimit: LIMIT }, options)
  chains.push(chain)
  await chain.produce([await deployment])
  const contract = await readView(chain, (view) => bytesToHex(view.chain.receipts(1)![0]!.contractAddress!))
  return { ...chain, contract }
}

const deployment = sign(ANNE, 0, { data: deployCode(precompileCaller()) })

afterEach(async () => {
  for (const chain of chains) await chain.close()
  chains = []
})

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

function ecrecovers(count: number): `0x${string}` {
  return bytesToHex(precompileCalls({ number: ECRECOVER, gas: PRICE, count }))
}

function headHash({ executor }: TestChain): string {
  return bytesToHex(executor.head().hash)
}

/** Counts the runs of each sender's transactions. */
function counting(engine: Engine): Engine & { readonly runs: Map<string, number> } {
  const runs = new Map<string, number>()
  return {
    name: engine.name,
    runs,
    run(message, environment) {
      const sender = bytesToHex(environment.transaction.origin)
      runs.set(sender, (runs.get(sender) ?? 0) + 1)
      return engine.run(message, environment)
    },
  }
}

describe('the precompile gas of a block', () => {
  it('makes a transaction wait for the next block that others have used it before', async () => {
    const chain = await start()
    const first = await sign(ANNE, 1, { to: chain.contract, data: ecrecovers(60) })
    const late = await sign(BERT, 0, { to: chain.contract, data: ecrecovers(50), value: 7n })
    const afterLate = await sign(BERT, 1, { to: RECEIVER })
    const transfer = await sign(CARL, 0, { to: RECEIVER, value: 5n })
    const small = await sign(CARL, 1, { to: chain.contract, data: ecrecovers(40) })

    const second = await chain.produce([first, late, afterLate, transfer, small])
    expect(second.block.txs).toEqual([first, transfer, small])
    const third = await chain.produce([late, afterLate])
    expect(third.block.txs).toEqual([late, afterLate])

    await readView(chain, (view) => {
      const bert = view.stateAt(2).getAccount(hexToBytes(BERT.address))
      expect(bert).toMatchObject({ nonce: 0n, balance: 10n ** 20n })
      expect(view.stateAt(2).getAccount(hexToBytes(chain.contract))?.balance).toBe(0n)
      const [one, , other] = view.chain.receipts(2)!
      const [again] = view.chain.receipts(3)!
      expect([one!.status, other!.status, again!.status]).toEqual([1, 1, 1])
      expect(other!.cumulativeGasUsed).toBe(one!.gasUsed + 21_000n + other!.gasUsed)
      expect(view.stateAt(3).getAccount(hexToBytes(chain.contract))?.balance).toBe(7n)
    })
  })

  it('lets a transaction that wants all of it and more be included as the first that uses it', async () => {
    const chain = await start()
    const transfer = await sign(CARL, 0, { to: RECEIVER })
    const greedy = await sign(BERT, 0, { to: chain.contract, data: ecrecovers(120) })
    const { block } = await chain.produce([transfer, greedy])
    expect(block.txs).toEqual([transfer, greedy])
  })

  it('does not try a transaction again that would find no more of it than the last time', async () => {
    const engine = counting(productionEngine)
    const chain = await start({ engine })
    const bert = BERT.address.toLowerCase()
    const late = await sign(BERT, 0, { to: chain.contract, data: ecrecovers(50) })
    const use = async (nonce: number, count: number) =>
      sign(ANNE, nonce, { to: chain.contract, data: ecrecovers(count) })

    await chain.produce([await use(1, 60), late])
    expect(engine.runs.get(bert)).toBe(1)
    await chain.produce([await use(2, 60), late])
    expect(engine.runs.get(bert)).toBe(1)
    // a sixteenth of the limit is 18,750
    await chain.produce([await use(3, 53), late])
    expect(engine.runs.get(bert)).toBe(2)
    const { block } = await chain.produce([await use(4, 40), late])
    expect(block.txs).toHaveLength(2)
  })

  it.each<[string, TestChainOptions]>([
    ['alike', {}],
    ['on the other engine', { engine: createReferenceEngine() }],
    ['on both', { shadow: createReferenceEngine() }],
  ])('has the same effect on nodes that execute a block %s', async (_name, options) => {
    const builder = await start(options.shadow === undefined ? {} : options)
    const other = await start(options)
    const raws = [
      await sign(ANNE, 1, { to: builder.contract, data: ecrecovers(60) }),
      await sign(BERT, 0, { to: builder.contract, data: ecrecovers(50) }),
      await sign(CARL, 0, { to: builder.contract, data: ecrecovers(10) }),
    ]
    const { block } = await builder.produce(raws)
    expect(block.txs).toHaveLength(2)
    await other.produce(block.txs, { asGiven: true })
    expect(headHash(other)).toBe(headHash(builder))
    // a proposer that takes nothing back: the calls of the second and third fail in part
    const next = [
      await sign(ANNE, 2, { to: builder.contract, data: ecrecovers(60) }),
      raws[1]!,
      await sign(CARL, 1, { to: builder.contract, data: ecrecovers(10) }),
    ]
    for (const chain of [builder, other]) await chain.produce(next, { asGiven: true })
    expect(headHash(other)).toBe(headHash(builder))
    await readView(other, (view) => expect(view.chain.receipts(3)).toHaveLength(3))
  })

  it('is replayed by traces, and whole for each call', async () => {
    const chain = await start()
    const { contract } = chain
    const raws = [
      await sign(ANNE, 1, { to: contract, data: ecrecovers(60) }),
      await sign(BERT, 0, { to: contract, data: ecrecovers(50) }),
    ]
    await chain.produce(raws, { asGiven: true })
    await readView(chain, async (view) => {
      const context = chainContext(chain, view)
      const config = { tracer: 'callTracer' }
      const [first, second] = (await invoke(traceBlockByNumber, context, '0x2', config)) as Traced[]
      const receipts = view.chain.receipts(2)!
      expect([first!, second!].map(({ result }) => BigInt(result.gasUsed))).toEqual(
        receipts.map(({ gasUsed }) => gasUsed),
      )
      expect([first!, second!].map(({ result }) => BigInt(result.output))).toEqual([60n, 40n])
      expect(second!.result.calls.map(({ error }) => error)).toEqual([
        ...Array(40).fill(undefined),
        ...Array(10).fill('out of gas'),
      ])
      expect(await invoke(traceTransaction, context, second!.txHash, config)).toEqual(second!.result)

      const request = { from: BERT.address, to: contract, gas: '0xf4240', data: ecrecovers(101) }
      for (let i = 0; i < 2; i++) {
        const output = (await invoke(call, context, request, 'latest')) as string
        expect(bytesToBigInt(hexToBytes(output))).toBe(100n)
      }
      const inBlock = (await invoke(traceCall, context, request, '0x2', { ...config, txIndex: '0x1' })) as Frame
      expect(BigInt(inBlock.output)).toBe(100n)
    })
  })
})

interface Frame {
  readonly gasUsed: string
  readonly output: string
  readonly calls: readonly { readonly error?: string }[]
}

interface Traced {
  readonly txHash: string
  readonly result: Frame
}
