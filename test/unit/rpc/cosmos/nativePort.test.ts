import { setImmediate as nextTurn } from 'node:timers/promises'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TxPort } from '../../../../src/mempool/types.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { CANCELLED, createNativePort } from '../../../../src/rpc/cosmos/nativeCall.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import { MAX_QUERY_BYTES, type NativeCall, type NativePort } from '../../../../src/rpc/cosmos/queryPort.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { createViewCaches, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createTestChain, type TestChain, WALLET_KEY } from '../../../support/execution/testChain.ts'
import { chainContext } from '../../../support/rpc/chainContext.ts'
import { IDENTITY } from '../../../support/rpc/comet/cometNode.ts'
import { createMemoryPool } from '../../../support/rpc/memoryPool.ts'

const BROADCAST = '/cosmos.tx.v1beta1.Service/BroadcastTx'
const BALANCE = '/cosmos.bank.v1beta1.Query/Balance'

let chain: TestChain
let database: Database
let port: NativePort
let asked: NativeCall[]
let leases = 0
/** the leases while the pool was asked */
let leasesAtPool: number[]

/** A pool that answers in a later turn. */
const pool: TxPort = {
  ...createMemoryPool(),
  add: async ({ hash }) => {
    await nextTurn()
    leasesAtPool.push(leases)
    return { accepted: true, hash }
  },
}

beforeAll(async () => {
  chain = await createTestChain()
  database = await Database.open(chain.location, { readOnly: true })
  asked = []
  leasesAtPool = []
  port = createNativePort({
    queries: QUERIES,
    node: { identity: { ...IDENTITY, chainId: chain.chain.chainId }, pruningWindow: 0 },
    log: { error: (fields) => expect.unreachable(String(fields)) },
    views: {
      query: async (_, call) => {
        asked.push(call)
        return { kind: 'json', height: 1, json: '{}' }
      },
    },
    lease: () => {
      leases++
      const snapshot = database.snapshot()
      return {
        context: chainContext(chain, openView(snapshot, createViewCaches()), { txs: pool }),
        release: () => {
          leases--
          void snapshot.close()
        },
      }
    },
  })
})

afterAll(async () => {
  expect(leases).toBe(0)
  await database.close()
  await chain.close()
})

const callOf = (path: string, json: string, height = 0): NativeCall => ({ path, request: { json }, height })
const query = (call: NativeCall, scope = OWN_SCOPE) => port.query(QUERIES.get(call.path)!.runs, call, scope)

describe('the queries of a socket thread', () => {
  const broadcast = JSON.stringify({ tx_bytes: Buffer.from('no transaction').toString('base64'), mode: 2 })

  test('submissions run there, as other queries do in view threads', async () => {
    const answer = await query(callOf(BROADCAST, broadcast))
    expect(answer).toMatchObject({ kind: 'json', height: 0 })
    expect(JSON.parse((answer as { json: string }).json)).toMatchObject({
      tx_response: { codespace: 'evm', code: 2, raw_log: 'transaction type not supported' },
    })
    expect(await query(callOf(BROADCAST, '{}'))).toMatchObject({ kind: 'error', message: 'invalid empty tx' })
    expect(asked).toEqual([])
  })

  test('no view is held while the pool is asked', async () => {
    const raw = await privateKeyToAccount(WALLET_KEY).signTransaction({
      chainId: Number(chain.chain.evmChainId),
      type: 'eip1559',
      to: `0x${'99'.repeat(20)}`,
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
    })
    const json = JSON.stringify({ tx_bytes: Buffer.from(hexToBytes(raw)).toString('base64'), mode: 2 })
    const answer = await query(callOf(BROADCAST, json))
    expect(JSON.parse((answer as { json: string }).json)).toMatchObject({ tx_response: { code: 0 } })
    expect(leasesAtPool).toEqual([0])
  })

  test('submissions that name a height run in view threads, as all queries of a state', async () => {
    const call = callOf(BROADCAST, broadcast, 9)
    expect(await query(call)).toEqual({ kind: 'json', height: 1, json: '{}' })
    expect(asked.splice(0)).toEqual([call])
  })

  test('a view thread parses what is longer than any submission', async () => {
    const call = callOf(BROADCAST, JSON.stringify({ tx_bytes: 'A'.repeat(MAX_QUERY_BYTES), mode: 2 }))
    expect(await query(call)).toEqual({ kind: 'json', height: 1, json: '{}' })
    expect(asked.splice(0)).toEqual([call])
  })

  test('all others go to view threads', async () => {
    const call = callOf(BALANCE, '{}')
    expect(await query(call)).toEqual({ kind: 'json', height: 1, json: '{}' })
    expect(asked).toEqual([call])
    expect([...QUERIES.values()].filter(({ runs }) => runs === 'socket').map(({ path }) => path)).toEqual([BROADCAST])
  })

  test('nothing is submitted for a client that is gone', async () => {
    const scope = { ...OWN_SCOPE, signal: AbortSignal.abort() }
    expect(await query(callOf(BROADCAST, broadcast), scope)).toEqual(CANCELLED)
  })
})
