import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, Run } from './attack.ts'
import { keepLeaving, keepPosting, openSocket, openWebSocket } from './load.ts'

const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`
const callOf = (method: string, ...params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/** Runs until its gas ends. */
const ENDLESS_CALL = callOf('eth_call', { data: '0x5b600056' }, 'latest')
const CONNECTIONS = 32

/** Starts the attack without anything to prepare. */
const atOnce = (attack: (run: Run) => Promise<void>) => async (run: Run) => () => attack(run)

/** Subscribes over one WebSocket and, with `reads` false, never reads what comes. */
async function subscribe(run: Run, path: string, requests: Iterable<string>, reads: boolean): Promise<void> {
  while (!run.signal.aborted) {
    const socket = await openWebSocket(run, path)
    if (socket === undefined) continue
    run.count('connections')
    const closed = new Promise<void>((resolve) => void socket.on('close', () => resolve()))
    if (reads) {
      socket.on('message', (data) => run.count(/"error"/.test(String(data).slice(0, 200)) ? 'errors' : 'messages'))
    }
    for (const request of requests) socket.send(request)
    if (!reads) socket.pause()
    await closed
    await sleep(100)
  }
}

const many = (run: Run, one: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: run.size }, one))

/** What clients can send to port 8080. */
export const CLIENT_ATTACKS: readonly Attack[] = [
  {
    name: 'log subscriptions',
    what: '# WebSockets with 60 subscriptions of 1,000 topics each',
    size: 8,
    prepare: async (run) => {
      const requests = Array.from({ length: 60 }, () =>
        callOf('eth_subscribe', 'logs', { topics: [Array.from({ length: 1_000 }, () => hex(32))] }),
      )
      return async () => void (await many(run, () => subscribe(run, '/ws', requests, true)))
    },
  },
  {
    name: 'subscribers that never read',
    what: '# WebSockets with 20 subscriptions each',
    size: 2_000,
    prepare: async (run) => {
      const requests = Array.from({ length: 20 }, (_, index) =>
        callOf('eth_subscribe', ['newHeads', 'newPendingTransactions', 'logs'][index % 3]),
      )
      return async () => void (await many(run, () => subscribe(run, '/ws', requests, false)))
    },
  },
  {
    name: 'idle connections',
    what: '# connections that send nothing',
    size: 10_000,
    prepare: atOnce(async (run) => {
      const hold = async (): Promise<void> => {
        while (!run.signal.aborted) {
          const socket = await openSocket(run, { host: run.target.host, port: run.target.rpcPort })
          if (socket === undefined) continue
          run.count('connections')
          await new Promise((resolve) => socket.once('close', resolve))
          await sleep(1_000)
        }
      }
      await many(run, hold)
    }),
  },
  {
    name: 'endless calls',
    what: '# eth_call at a time that end with their gas',
    size: 200,
    prepare: atOnce((run) => keepPosting(run, run.size, () => ENDLESS_CALL)),
  },
  {
    name: 'calls in vain',
    what: '# eth_call at a time, each of other code, that take a little more than what a socket thread tries',
    size: 200,
    // PUSH3 of something, and a loop of 60,000 gas
    prepare: atOnce((run) =>
      keepPosting(run, run.size, () =>
        callOf('eth_call', { data: `0x62${hex(3).slice(2)}505b600556`, gas: '0x1ba30' }),
      ),
    ),
  },
  {
    name: 'slow short calls',
    what: '# eth_call at a time that just end in a socket thread, of the slowest code',
    size: 200,
    // a loop that hashes 136 bytes at a time, with 40,000 gas
    prepare: atOnce((run) =>
      keepPosting(run, run.size, () => callOf('eth_call', { data: '0x5b60885f20505f56', gas: '0x16b48' })),
    ),
  },
  {
    name: 'simulated blocks of loops',
    what: '# eth_simulateV1 at a time, of 256 blocks with an endless call each',
    size: 100,
    prepare: async (run) => {
      const blockStateCalls = Array.from({ length: 256 }, () => ({ calls: [{ data: '0x5b600056', gas: '0x7a120' }] }))
      const simulation = callOf('eth_simulateV1', { blockStateCalls }, 'latest')
      return () => keepPosting(run, run.size, () => simulation)
    },
  },
  {
    name: 'simulated blocks of overrides',
    what: '5 MB of storage in 256 blocks of eth_simulateV1 over # connections',
    size: 8,
    isCostly: true,
    prepare: async (run) => {
      const account = hex(20)
      const stateDiff = (): object => Object.fromEntries(Array.from({ length: 136 }, () => [hex(32), hex(32)]))
      const blockStateCalls = Array.from({ length: 256 }, () => ({
        stateOverrides: { [account]: { stateDiff: stateDiff() } },
      }))
      const simulation = callOf('eth_simulateV1', { blockStateCalls }, 'latest')
      return () => keepPosting(run, run.size, () => simulation)
    },
  },
  {
    name: 'simulated inputs',
    what: 'eth_simulateV1 that validates 5 MB of input, over # connections',
    size: 8,
    isCostly: true,
    prepare: async (run) => {
      const call = { from: hex(20), to: hex(20), input: hex(2_400_000), maxFeePerGas: '0x77359400' }
      const options = { blockStateCalls: [{ calls: [call] }], validation: true, returnFullTransactions: true }
      const simulation = callOf('eth_simulateV1', options, 'latest')
      return () => keepPosting(run, run.size, () => simulation)
    },
  },
  {
    name: 'calls nobody waits for',
    what: '# connections that ask for an endless eth_call and leave',
    size: 64,
    prepare: atOnce((run) => keepLeaving(run, run.size, () => ENDLESS_CALL)),
  },
  {
    name: 'block traces',
    what: 'debug_traceBlockByNumber of a heavy block, # at a time',
    size: 50,
    prepare: atOnce((run) => {
      const trace = callOf('debug_traceBlockByNumber', `0x${run.target.heavyBlock.toString(16)}`, {})
      return keepPosting(run, run.size, () => trace)
    }),
  },
  {
    name: 'net_info and state',
    what: 'net_info, dump_consensus_state, consensus_state over # connections',
    size: CONNECTIONS,
    prepare: atOnce((run) => {
      const calls = ['net_info', 'dump_consensus_state', 'consensus_state'].map((method) => callOf(method))
      return keepPosting(run, run.size, () => calls[randomInt(calls.length)]!, { path: '/rpc' })
    }),
  },
  {
    name: 'old receipts',
    what: 'receipts and transactions of old blocks over # connections',
    size: CONNECTIONS,
    prepare: atOnce((run) => {
      const { oldTransactions } = run.target
      const methods = ['eth_getTransactionReceipt', 'eth_getTransactionByHash']
      const next = (): string =>
        callOf(methods[randomInt(methods.length)]!, oldTransactions[randomInt(oldTransactions.length)])
      return keepPosting(run, run.size, next)
    }),
  },
  {
    name: 'filters',
    what: 'new log filters with 200 topics over # connections',
    size: CONNECTIONS,
    prepare: async (run) => {
      const filter = callOf('eth_newFilter', { topics: [Array.from({ length: 200 }, () => hex(32))] })
      return () => keepPosting(run, run.size, () => filter)
    },
  },
  {
    name: 'batches of nothing',
    what: '5 MB of [{},{},…] over # connections',
    size: 8,
    isCostly: true,
    prepare: async (run) => {
      const batch = `[${'{},'.repeat(1_600_000)}{}]`
      return () => keepPosting(run, run.size, () => batch)
    },
  },
  {
    name: 'wide objects',
    what: 'an object of 380,000 keys over # connections',
    size: 8,
    isCostly: true,
    prepare: async (run) => {
      const keys = Array.from({ length: 380_000 }, (_, index) => `"k${index}":1`)
      const request = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{${keys.join(',')}}]}`
      return () => keepPosting(run, run.size, () => request)
    },
  },
  {
    name: 'long event queries',
    what: 'subscriptions with 50 conditions over # WebSockets of /rpc/websocket',
    size: 64,
    prepare: async (run) => {
      const conditions = Array.from({ length: 50 }, (_, index) => `transfer.amount${index} = '${index}'`)
      const query = `tm.event = 'Tx' AND ${conditions.join(' AND ')}`
      const requests = Array.from({ length: 5 }, (_, id) =>
        JSON.stringify({ jsonrpc: '2.0', id, method: 'subscribe', params: { query: `${query} AND a.b = '${id}'` } }),
      )
      return async () => void (await many(run, () => subscribe(run, '/rpc/websocket', requests, true)))
    },
  },
]
