import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALL_KINDS, CREATION_KINDS, TRACE_STATES } from '../../../../explorer/contracts/tables.ts'
import { amountToBytes } from '../../../../explorer/database/amount.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { openTestDatabases, type TestDatabases } from '../../../support/explorer/testDatabases.ts'
import { createTestServer, refuse } from '../../../support/explorer/testServer.ts'

/* Lists that are made of calls say what they lack, where the node did not trace a transaction or the index has no such blocks. */

const bytes = (number: number, size: number): Uint8Array =>
  hexToBytes(`0x${number.toString(16).padStart(2 * size, '0')}`)
const hashOf = (height: number): string => bytesToHex(bytes(5_000 + height, 32))
const accountOf = (number: number): Uint8Array => bytes(number, 20)
const [SENDER, MADE, KNOWN] = [accountOf(1), accountOf(2), accountOf(3)] as const
const [HIDDEN, PLAIN, DELEGATED] = [accountOf(4), accountOf(5), accountOf(6)] as const
/** The index begins with this block, and each block has one transaction. */
const FIRST = 101
/** The traces of these blocks, of all from FIRST to 110. */
const UNTRACED: Readonly<Record<number, number>> = {
  104: TRACE_STATES.notKept,
  106: TRACE_STATES.refused,
  107: TRACE_STATES.unsupported,
  109: TRACE_STATES.cut,
}
const HEIGHTS = Array.from({ length: 10 }, (_, index) => FIRST + index)

let databases: TestDatabases
let app: Awaited<ReturnType<typeof createTestServer>>
/** accounts whose code the node was asked for */
const asked: string[] = []

beforeAll(async () => {
  databases = await openTestDatabases()
  const [none, coin] = [amountToBytes(0n), amountToBytes(10n ** 18n)] as const
  const detail = JSON.stringify({
    input: '0x',
    effectiveGasPrice: '0x1',
    contractAddress: null,
    cumulativeGasUsed: '0x1',
  })
  await databases.database.write(async ({ insert }) => {
    await insert('ingest', [
      { id: 1, chain_id: 'coin_76287-1', evm_chain_id: 76287, first_height: FIRST, height: 110, opening_height: 0 },
    ])
    for (const height of HEIGHTS) {
      const position = transactionPosition(height, 0)
      const trace = UNTRACED[height] ?? TRACE_STATES.kept
      await insert('block', [
        {
          height,
          hash: bytes(height, 32),
          consensus_hash: bytes(height, 32),
          time: 0,
          proposer: SENDER,
          miner: SENDER,
          gas_used: 0,
          gas_limit: 0,
          base_fee: none,
          evm_count: 1,
          native_count: 0,
          size: 0,
        },
      ])
      await insert('tx', [
        {
          position,
          hash: hexToBytes(hashOf(height)),
          kind: 0,
          is_ok: 1,
          sender: SENDER,
          recipient: MADE,
          value: none,
          fee: none,
          gas_used: 0,
          gas_limit: 0,
          nonce: 0,
          method: null,
          detail,
        },
      ])
      await insert('tx_run', [{ position, logs: 0, trace, calls: 1 }])
      if (trace >= TRACE_STATES.notKept) continue
      await insert('internal_call', [
        {
          position,
          ordinal: 1,
          depth: 1,
          kind: CALL_KINDS.call,
          sender: SENDER,
          recipient: MADE,
          value: coin,
          gas: 9,
          gas_used: 8,
          is_ok: 1,
          error: null,
        },
      ])
      await insert('account_call', [{ address: MADE, position, ordinal: 1 }])
    }
    await insert('contract', [
      {
        address: KNOWN,
        position: transactionPosition(102, 0),
        ordinal: 1,
        creator: SENDER,
        kind: CREATION_KINDS.create,
        destroyed: null,
        is_deleted: 0,
        label: null,
      },
    ])
  })
  const codes: Readonly<Record<string, string>> = {
    [bytesToHex(HIDDEN)]: '0x6001',
    [bytesToHex(DELEGATED)]: `0xef0100${'11'.repeat(20)}`,
  }
  app = await createTestServer({
    queries: databases.database.queries,
    services: databases.services,
    node: {
      ethereum: async (calls) =>
        calls.map(({ params }) => {
          const [address] = params as readonly [string]
          asked.push(address)
          return codes[address] ?? '0x'
        }),
      comet: refuse,
      rest: refuse,
    },
  })
})
afterAll(async () => {
  await app.close()
  await databases.close()
})

interface Answer {
  readonly status: string
  readonly message: string
  readonly result: readonly Readonly<Record<string, unknown>>[]
}

const ask = async (query: Readonly<Record<string, string>>): Promise<Answer> =>
  (await app.inject({ url: `/api?${new URLSearchParams(query)}` })).json()
const calls = (query: Readonly<Record<string, string>>): Promise<Answer> =>
  ask({ module: 'account', action: 'txlistinternal', ...query })
const heightsOf = ({ result }: Answer): readonly number[] => result.map(({ blockNumber }) => Number(blockNumber))

describe('internal calls by the API of Etherscan', () => {
  it.each([
    [104, 'the node no longer had the state of that block'],
    [106, 'the node did not trace it: the trace is too large or takes too long'],
    [107, 'the node has no debug methods'],
  ])('of the transaction in block %i are not known: %s', async (height, reason) => {
    expect(await calls({ txhash: hashOf(height) })).toEqual({
      status: '2',
      message: `Internal transactions of this transaction are not known: ${reason}`,
      result: [],
    })
  })

  it('of a transaction are known with a trace that leaves out other calls, or without code', async () => {
    expect(await calls({ txhash: hashOf(109) })).toMatchObject({ status: '1', result: [{ blockNumber: '109' }] })
  })

  it('of a transaction that the index lacks may be in blocks before it', async () => {
    const { status, message } = await calls({ txhash: hashOf(1) })
    expect([status, message]).toEqual([
      '2',
      'Internal transactions of this transaction are not known: the index starts at block 101',
    ])
  })

  it.each<[string, Readonly<Record<string, string>>, readonly number[], string, RegExp]>([
    ['known', { startblock: '101', endblock: '103' }, [101, 102, 103], '1', /^OK$/],
    ['cut', { startblock: '108', endblock: '110' }, [108, 109, 110], '1', /^OK$/],
    [
      'partly known',
      { startblock: '103', endblock: '105' },
      [103, 105],
      '2',
      /those of 0x\w+ in block 104, the node no/,
    ],
    ['not known', { startblock: '106', endblock: '107' }, [], '2', /in block 106, the node did not trace it/],
    ['before the index', { startblock: '1', endblock: '5' }, [], '2', /blocks before 101 are not known/],
    ['all', {}, [101, 102, 103, 105, 108, 109, 110], '2', /blocks before 101 are not known/],
    ['a full page before the gap', { startblock: '101', offset: '2' }, [101, 102], '1', /^OK$/],
    ['the next page', { startblock: '101', offset: '2', page: '2' }, [103, 105], '2', /in block 104/],
    ['the newest', { sort: 'desc', offset: '3' }, [110, 109, 108], '1', /^OK$/],
    ['the newest and older', { sort: 'desc', offset: '4' }, [110, 109, 108, 105], '2', /in block 107/],
  ])('of blocks, and of an account there: %s', async (_, query, heights, status, message) => {
    for (const own of [{ address: bytesToHex(MADE) }, { startblock: '0', endblock: '999' }]) {
      const answer = await calls({ ...own, ...query })
      expect(heightsOf(answer)).toEqual(heights)
      expect(answer.status).toBe(status)
      expect(answer.message).toMatch(message)
    }
  })
})

describe('creations of contracts by the API of Etherscan', () => {
  const creations = (...contracts: readonly Uint8Array[]): Promise<Answer> =>
    ask({
      module: 'contract',
      action: 'getcontractcreation',
      contractaddresses: contracts.map(bytesToHex).join(),
    })

  it('are found in the index, without a question to the node', async () => {
    asked.length = 0
    expect(await creations(KNOWN)).toMatchObject({ status: '1', result: [{ txHash: hashOf(102) }] })
    expect(asked).toEqual([])
  })

  it('are not known of a contract that a call without a trace made', async () => {
    const { status, message, result } = await creations(HIDDEN, KNOWN)
    expect([status, message]).toEqual([
      '2',
      `The creation of ${bytesToHex(HIDDEN)} is not known: the index has no trace of it`,
    ])
    expect(result).toMatchObject([{ contractAddress: bytesToHex(KNOWN) }])
    expect(asked).toEqual([bytesToHex(HIDDEN)])
  })

  it('do not exist for an account without code of its own', async () => {
    expect(await creations(PLAIN, DELEGATED)).toEqual({ status: '0', message: 'No data found', result: [] })
  })
})

describe('lists of calls and contracts', () => {
  const get = async (path: string) => (await app.inject({ url: `/api/v1/${path}` })).json()

  it.each([
    [`addresses/${bytesToHex(MADE)}/internal-calls`, 107],
    [`addresses/${bytesToHex(MADE)}/internal-calls?limit=3`, null],
    [`addresses/${bytesToHex(MADE)}/internal-calls?limit=4`, 107],
    [`addresses/${bytesToHex(PLAIN)}/internal-calls`, 107],
    [`contracts?creator=${bytesToHex(PLAIN)}`, 107],
  ])('%s name the newest transaction that they lack: %s', async (path, height) => {
    const { untraced, indexedFrom } = await get(path)
    expect(indexedFrom).toBe(FIRST)
    if (height === null) expect(untraced).toBeNull()
    else expect(untraced).toEqual({ height, transaction: hashOf(height), trace: 'unsupported' })
  })

  it('page on to the next one', async () => {
    const path = `addresses/${bytesToHex(MADE)}/internal-calls?limit=3`
    const first = await get(path)
    const second = await get(`${path}&before=${first.next}`)
    expect(second.items.map(({ height }: { height: number }) => height)).toEqual([105, 103, 102])
    expect(second.untraced).toMatchObject({ height: 107 })
    const third = await get(`${path}&before=${second.next}`)
    expect([third.items.length, third.untraced, third.next]).toEqual([1, null, null])
  })
})
