import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import fastify from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import {
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerializedEIP1559,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClientOf } from '../../../../explorer/api/clientOf.ts'
import { amountToBytes } from '../../../../explorer/database/amount.ts'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import { openServices, type ServiceQueries } from '../../../../explorer/database/services.ts'
import { loadFaucetKey } from '../../../../explorer/faucet/faucetKey.ts'
import { CLIENT_GRANTS, GRANT_AMOUNT, LIMIT_MS, storeGrant } from '../../../../explorer/faucet/grants.ts'
import { type Payer, payGrants } from '../../../../explorer/faucet/payGrants.ts'
import { addFaucet } from '../../../../explorer/faucet/routes.ts'
import { type NodeClient, NodeError, NodeRefusal } from '../../../../explorer/node/nodeClient.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'

const KEY = `0x${'11'.repeat(32)}` as const
const FAUCET = privateKeyToAccount(KEY).address
const addressOf = (byte: number): Uint8Array => new Uint8Array(20).fill(byte)

let directory: string
let database: IndexDatabase
let services: ServiceQueries
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-faucet-'))
  database = await openDatabase(join(directory, 'index.sqlite'))
  services = await openServices(join(directory, 'index.sqlite'))
})
afterEach(async () => {
  await services.destroy()
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

/** A chain of one account, whose blocks are made when the test wants; and its index, which follows when the test wants. */
class FakeChain {
  chainId = 76287
  balance = 10_000n * 10n ** 18n
  baseFee = 10n ** 9n
  height = 1
  /** what is in blocks, in their order; a foreign one has no recipient */
  readonly mined: { readonly hash: Hex; readonly to: Hex | undefined; readonly height: number }[] = []
  mempool = new Map<number, Hex>()
  /** calls until the node fails */
  failsIn = Number.POSITIVE_INFINITY
  readonly refusing = new Set<string>()
  isBusy = false

  get node(): Pick<NodeClient, 'ethereum'> {
    return {
      ethereum: async (calls) => calls.map(({ method, params }) => this.#answer(method, params as readonly unknown[])),
    }
  }

  #answer(method: string, params: readonly unknown[]): unknown {
    if (--this.failsIn < 0) throw new NodeError('the node cannot be reached')
    const countAt = (height: number): number => this.mined.filter((own) => own.height <= height).length
    switch (method) {
      case 'eth_chainId':
        return `0x${this.chainId.toString(16)}`
      case 'eth_blockNumber':
        return `0x${this.height.toString(16)}`
      case 'eth_getTransactionCount':
        return `0x${countAt(Number(params[1])).toString(16)}`
      case 'eth_getBalance':
        return `0x${this.balance.toString(16)}`
      case 'eth_getBlockByNumber':
        return { baseFeePerGas: `0x${this.baseFee.toString(16)}` }
      case 'eth_estimateGas':
        if (this.isBusy) throw new NodeRefusal(method, -32005, 'too many requests: try again in 1 s')
        if (this.refusing.has((params[0] as { to: string }).to)) throw new NodeRefusal(method, 3, 'execution reverted')
        return '0x5208'
      case 'eth_sendRawTransaction': {
        const raw = params[0] as TransactionSerializedEIP1559
        const { nonce = 0 } = parseTransaction(raw)
        if (nonce < this.mined.length) throw new NodeRefusal(method, -32000, 'nonce too low')
        if (this.mempool.get(nonce) === raw) throw new NodeRefusal(method, -32000, 'already known')
        if (this.mempool.has(nonce)) throw new NodeRefusal(method, -32000, 'replacement transaction underpriced')
        this.mempool.set(nonce, raw)
        return keccak256(raw)
      }
    }
    throw new Error(`not expected: ${method}`)
  }

  /** Makes a block of what has the right nonces, and before that of `foreign` transactions of the same key. */
  makeBlock(foreign = 0): void {
    this.height++
    for (let made = 0; made < foreign; made++) {
      const nonce = this.mined.length
      this.mined.push({
        hash: keccak256(`0x${(nonce + 1_000).toString(16).padStart(8, '0')}`),
        to: undefined,
        height: this.height,
      })
      this.mempool.delete(nonce)
    }
    for (;;) {
      const raw = this.mempool.get(this.mined.length)
      if (raw === undefined) return
      const { to, value = 0n, maxFeePerGas = 0n } = parseTransaction(raw)
      if (maxFeePerGas < this.baseFee) return
      this.mempool.delete(this.mined.length)
      this.balance -= value
      this.mined.push({ hash: keccak256(raw), to: to!, height: this.height })
    }
  }

  /** Brings the index up to the chain. */
  async index(chainId = this.chainId): Promise<void> {
    const rows = this.mined.map(({ hash, height }, index) => {
      const none = amountToBytes(0n)
      return {
        position: transactionPosition(height, index),
        hash: hexToBytes(hash),
        kind: 0,
        is_ok: 1,
        sender: hexToBytes(FAUCET),
        recipient: null,
        value: none,
        fee: none,
        gas_used: 0,
        gas_limit: 0,
        nonce: index,
        method: null,
        detail: '{}',
      }
    })
    await database.write(async (writer) => {
      await writer.replace('tx', rows)
      await writer.replace('ingest', [
        {
          id: 1,
          chain_id: 'coin_76287-1',
          evm_chain_id: chainId,
          first_height: 1,
          height: this.height,
          opening_height: 0,
        },
      ])
    })
  }

  payer(): Payer {
    const key = { address: hexToBytes(FAUCET), privateKey: hexToBytes(KEY) }
    const quiet = { info: () => undefined, warn: () => undefined }
    // Each time as if the process were a new one: what was sent is sent again at once.
    return {
      queries: database.queries,
      services,
      node: this.node,
      key,
      logger: quiet,
      nowMs: () => 0,
      sentAtMs: new Map(),
    }
  }

  paid(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { to } of this.mined) if (to !== undefined) counts[to] = (counts[to] ?? 0) + 1
    return counts
  }
}

const states = async () =>
  (await services.selectFrom('faucet_grant').select(['state', 'problem']).orderBy('number').execute()).map(
    ({ state, problem }) => (problem === null ? state : `${state}: ${problem}`),
  )

describe('a faucet', () => {
  it('gives an address coins once in 24 hours, and a client and all their parts', async () => {
    const ask = (byte: number, client: string, nowMs: number) => storeGrant(services, addressOf(byte), client, nowMs)
    expect(await ask(1, 'a', 1_000)).toBe(1)
    expect(await ask(1, 'b', 2_000)).toEqual({ limit: 'address', retryAtMs: 1_000 + LIMIT_MS })
    for (let byte = 2; byte <= CLIENT_GRANTS; byte++) expect(await ask(byte, 'a', 3_000)).toBeTypeOf('number')
    expect(await ask(99, 'a', 4_000)).toEqual({ limit: 'client', retryAtMs: 1_000 + LIMIT_MS })
    // What was refused counts nowhere.
    expect(await ask(99, 'b', 4_000)).toBeTypeOf('number')
    expect(await ask(1, 'a', 1_000 + LIMIT_MS)).toBeTypeOf('number')
    expect(await ask(1, 'a', 1_001 + LIMIT_MS)).toMatchObject({ limit: 'address' })
  })

  it('signs transactions that viem reads', async () => {
    const chain = new FakeChain()
    await chain.index()
    await storeGrant(services, addressOf(7), 'a', 0)
    await payGrants(chain.payer())
    const raw = chain.mempool.get(0) as TransactionSerializedEIP1559
    expect(await recoverTransactionAddress({ serializedTransaction: raw })).toBe(FAUCET)
    expect(parseTransaction(raw)).toMatchObject({
      chainId: 76287,
      to: bytesToHex(addressOf(7)),
      value: GRANT_AMOUNT,
      gas: 21_000n,
      type: 'eip1559',
    })
    chain.makeBlock()
    await chain.index()
    await payGrants(chain.payer())
    expect(await states()).toEqual(['paid'])
  })

  it('pays each grant once, whatever takes its nonces, forgets its transactions, makes gas dear, or stops it', async () => {
    const step = fc.record({
      grants: fc.integer({ min: 0, max: 3 }),
      foreign: fc.constantFrom(0, 0, 0, 1, 2),
      forgets: fc.boolean(),
      indexes: fc.boolean(),
      baseFeeGwei: fc.constantFrom(1n, 1n, 1n, 50n, 1_000n),
      failsIn: fc.constantFrom(0, 3, 5, 6, 7, 8, 9, 100),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await services.deleteFrom('faucet_grant').execute()
        await services.deleteFrom('faucet_limit').execute()
        await database.queries.deleteFrom('tx').execute()
        const chain = new FakeChain()
        await chain.index()
        let grants = 0
        const asked: Record<string, number> = {}
        for (const { grants: more, foreign, forgets, indexes, baseFeeGwei, failsIn } of steps) {
          chain.baseFee = baseFeeGwei * 10n ** 9n
          for (let made = 0; made < more; made++) {
            const address = addressOf(++grants)
            await storeGrant(services, address, `client ${grants}`, 0)
            asked[bytesToHex(address)] = 1
          }
          chain.failsIn = failsIn
          await payGrants(chain.payer()).catch((error: unknown) => expect(error).toBeInstanceOf(NodeError))
          if (forgets) chain.mempool.clear()
          chain.makeBlock(foreign)
          if (indexes) await chain.index()
        }
        chain.failsIn = Number.POSITIVE_INFINITY
        chain.baseFee = 10n ** 9n
        for (let rounds = 0; rounds < 8 + grants; rounds++) {
          await chain.index()
          await payGrants(chain.payer())
          chain.makeBlock()
        }
        expect(chain.paid()).toEqual(asked)
        expect(new Set(await states())).toEqual(new Set(grants === 0 ? [] : ['paid']))
      }),
      { numRuns: runs(20) },
    )
  })

  it('does not pay on another chain, with an empty purse, or while the index is behind', async () => {
    const chain = new FakeChain()
    await storeGrant(services, addressOf(1), 'a', 0)
    expect(await payGrants(chain.payer())).toBe('indexBehind')
    await chain.index(7628)
    expect(await payGrants(chain.payer())).toBe('otherChain')
    await chain.index()
    chain.chainId = 7628
    expect(await payGrants(chain.payer())).toBe('otherChain')
    chain.chainId = 76287
    chain.balance = GRANT_AMOUNT
    expect(await payGrants(chain.payer())).toBe('empty')
    chain.balance *= 2n
    chain.height += 100
    expect(await payGrants(chain.payer())).toBe('indexBehind')
    await chain.index()
    expect(chain.mempool.size).toBe(0)
    expect(await payGrants(chain.payer())).toBe(undefined)
    expect(chain.mempool.size).toBe(1)
  })

  it('ends grants of addresses that take no coins, and those of which nobody knows any more', async () => {
    const chain = new FakeChain()
    await chain.index()
    chain.refusing.add(bytesToHex(addressOf(1)))
    for (const byte of [1, 2]) await storeGrant(services, addressOf(byte), 'a', 0)
    chain.isBusy = true
    await expect(payGrants(chain.payer())).rejects.toThrow('too many requests')
    expect(await states()).toEqual(['waiting', 'waiting'])
    chain.isBusy = false
    await payGrants(chain.payer())
    chain.makeBlock()
    // A new index that begins behind the block with the payment.
    chain.height += 10
    await database.write((writer) =>
      writer.replace('ingest', [
        {
          id: 1,
          chain_id: 'coin_76287-1',
          evm_chain_id: 76287,
          first_height: chain.height - 2,
          height: chain.height,
          opening_height: chain.height,
        },
      ]),
    )
    await payGrants(chain.payer())
    expect(await states()).toEqual([
      'failed: this address does not accept coins',
      'failed: the result of the payment is unknown',
    ])
  })
})

describe('the API of a faucet', () => {
  const HAS_COINS = 10n * GRANT_AMOUNT
  const createApi = (faucetAddress: Uint8Array | undefined) => {
    const app = fastify().withTypeProvider<ZodTypeProvider>()
    app.setValidatorCompiler(validatorCompiler)
    app.setSerializerCompiler(serializerCompiler)
    const clientOf = createClientOf({ trustedProxies: [] }, { warn: () => undefined })
    addFaucet(app, { queries: database.queries, services, clientOf, faucetAddress })
    return app
  }

  it.each([
    ['none: it has no key', undefined, 76287, HAS_COINS, 'off', 'this explorer has no faucet'],
    ['on mainnet', FAUCET, 7628, HAS_COINS, 'otherChain', 'the faucet gives coins on testnets and devnets only'],
    [
      'with an empty purse',
      FAUCET,
      76287,
      GRANT_AMOUNT,
      'empty',
      'the faucet has too few coins at the moment: try again later',
    ],
    ['with coins', FAUCET, 76287, HAS_COINS, 'none', undefined],
  ])('that is %s', async (_, account, chainId, coins, problem, error) => {
    const faucetAddress = account === undefined ? undefined : hexToBytes(account)
    await new FakeChain().index(chainId)
    await database.write((writer) =>
      writer.replace('coin_balance', [{ address: hexToBytes(FAUCET), amount: amountToBytes(coins), position: 0 }]),
    )
    const app = createApi(faucetAddress)
    expect((await app.inject('/faucet')).json()).toEqual({
      isOn: problem === 'none',
      problem,
      address: account ?? null,
      balance: account === undefined ? null : String(coins),
      amount: String(GRANT_AMOUNT),
      limits:
        account === undefined ? null : { client: { left: 5, retryAt: null }, all: { left: 1_000, retryAt: null } },
    })
    const answer = await app.inject({ method: 'POST', url: '/faucet', payload: { address: FAUCET } })
    expect([answer.statusCode, answer.json().error]).toEqual([error === undefined ? 202 : 503, error])
    expect(await states()).toEqual(error === undefined ? ['waiting'] : [])
    expect((await app.inject('/faucet/grants/1')).statusCode).toBe(error === undefined ? 200 : 404)
    await app.close()
  })

  it('says what is left for whoever reads it, and when there is more', async () => {
    await new FakeChain().index()
    await database.write((writer) =>
      writer.replace('coin_balance', [{ address: hexToBytes(FAUCET), amount: amountToBytes(HAS_COINS), position: 0 }]),
    )
    const app = createApi(hexToBytes(FAUCET))
    const limits = async (remoteAddress: string) => (await app.inject({ url: '/faucet', remoteAddress })).json().limits
    const since = Date.now()
    const again = new Date(since + LIMIT_MS).toISOString()
    for (let byte = 1; byte <= CLIENT_GRANTS; byte++) {
      await storeGrant(services, addressOf(byte), '198.51.100.1', since)
    }
    expect(await limits('198.51.100.1')).toEqual({
      client: { left: 0, retryAt: again },
      all: { left: 995, retryAt: null },
    })
    expect(await limits('198.51.100.2')).toEqual({
      client: { left: 5, retryAt: null },
      all: { left: 995, retryAt: null },
    })
    await services.updateTable('faucet_limit').set({ count: 1_000 }).where('subject', '=', 'all').execute()
    expect((await limits('198.51.100.2')).all).toEqual({ left: 0, retryAt: again })
    await services
      .updateTable('faucet_limit')
      .set({ since: since - LIMIT_MS })
      .execute()
    expect((await limits('198.51.100.1')).client).toEqual({ left: 5, retryAt: null })
    await app.close()
  })
})

describe('the key of a faucet', () => {
  it('is made once, for its owner alone', () => {
    const path = join(directory, 'own', 'faucet.key')
    const { address, privateKey } = loadFaucetKey(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(loadFaucetKey(path)).toEqual({ address, privateKey })
    expect(bytesToHex(address)).toBe(
      privateKeyToAccount(`0x${readFileSync(path, 'utf8').trim()}`).address.toLowerCase(),
    )
    chmodSync(path, 0o640)
    expect(() => loadFaucetKey(path)).toThrow(`chmod 600 ${path}`)
  })

  it.each(['', 'secret', '00'.repeat(32), 'ff'.repeat(32), '11'.repeat(31)])(
    'is not %j, which no message repeats',
    (text) => {
      const path = join(directory, 'faucet.key')
      writeFileSync(path, text, { mode: 0o600 })
      let message = ''
      try {
        loadFaucetKey(path)
      } catch (error) {
        message = (error as Error).message
      }
      expect(message).toMatch('does not hold a faucet')
      if (text !== '') expect(message).not.toContain(text)
    },
  )
})
