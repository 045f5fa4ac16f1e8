import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { word } from '../contracts/abi.ts'
import { deployContract } from '../contracts/deploy.ts'
import { deployToken, endow, transferData } from '../contracts/token.ts'
import { runLoad } from '../load/httpLoad.ts'
import { nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { batchCall, blockParameter, call, requestBody } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import { percentile } from '../measure/percentile.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { fund, giveTokens, noncesOf } from './accounts.ts'
import { latencyRows } from './throughput.ts'
import { RECIPIENTS, tokenTransfers } from './transactions.ts'

/** Calls of one simulated block. */
const CALLS = 100
/** Transfers that are traced: 20 of each account. */
const TRANSFERS_OF_ACCOUNT = 20
/** Rounds of a transfer in a loop: 14 million gas. */
const LOOP_ROUNDS = 1_000n
const LOOP_GAS = '0x1c9c380'
const SMALL_REQUESTS = 1_000
const LARGE_REQUESTS = 20
const WARM_UPS = 3

/** After the first of a block with some hundreds of transactions, anvil 1.7 answers nothing any more. */
const UNANSWERED: Readonly<Record<string, readonly string[]>> = { anvil: ['debug_traceBlockByNumber'] }

type Params = readonly unknown[]

/**
 * Measures simulations, traces of blocks and searches for calls: latency, and gas per second where a request executes much. A
 * request that a node does not answer has no row.
 * @param accounts without coins before
 */
export async function measureTraces(target: Target, accounts: readonly Account[]): Promise<Row[]> {
  const distributor = await deployContract(target, 'Distributor')
  await fund(target, distributor, accounts)
  const token = await deployToken(target)
  await endow(target, token, distributor)
  await giveTokens(target, distributor, token, accounts)
  const loop = await deployContract(target, 'TransferLoop', token)
  await endow(target, token, loop)
  const blocks = await sendTransfers(target, token, accounts)
  return [
    ...(await measureSimulations(target, { token, loop, from: accounts[0]!.address })),
    ...(await measureBlockTraces(target, blocks)),
    ...(await measureSearches(target, blocks, token)),
  ]
}

interface LoadedBlocks {
  readonly first: number
  readonly last: number
  /** the one with most transactions */
  readonly fullest: number
}

/** Fills blocks with token transfers. */
async function sendTransfers(target: Target, token: Address, accounts: readonly Account[]): Promise<LoadedBlocks> {
  const transaction = tokenTransfers(token)
  const nonces = await noncesOf(target, accounts)
  const count = accounts.length * TRANSFERS_OF_ACCOUNT
  const bodies = Array.from({ length: count }, (_, index) => {
    const sender = index % accounts.length
    const fields = { nonce: BigInt(nonces[sender]!++), maxFeePerGas: 500n * GWEI, ...transaction(index, sender) }
    return requestBody(index, 'eth_sendRawTransaction', [sign(accounts[sender]!, fields).raw])
  })
  const first = await nextBlock(target.url)
  const { errors, firstError } = await runLoad({ port: target.port, bodies, inFlight: 200 })
  if (errors > 0) throw new Error(`transfers were refused: ${firstError}`)
  const last = await untilIncluded(target.url, first, count)
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const counts = await batchCall<string>(
    target.url,
    numbers.map((number) => ['eth_getBlockTransactionCountByNumber', [blockParameter(number)]] as const),
  )
  const most = Math.max(...counts.map(Number))
  return { first, last, fullest: numbers[counts.findIndex((found) => Number(found) === most)]! }
}

async function measureSimulations(
  target: Target,
  { token, loop, from }: { readonly token: Address; readonly loop: Address; readonly from: Address },
): Promise<Row[]> {
  const transfer = (index: number) => ({
    from: bytesToHex(from),
    to: bytesToHex(token),
    input: bytesToHex(transferData(RECIPIENTS[index % RECIPIENTS.length]!, 1n)),
  })
  const simulation = (calls: readonly unknown[]): Params => [{ blockStateCalls: [{ calls }] }, 'latest']
  const small = (inFlight: number) =>
    runLoad({
      port: target.port,
      bodies: Array.from({ length: SMALL_REQUESTS }, (_, index) =>
        requestBody(index, 'eth_simulateV1', simulation([transfer(index)])),
      ),
      inFlight,
    })
  const one = await small(1)
  if (one.errors > 0) throw new Error(`eth_simulateV1: ${one.firstError}`)
  const many = await small(50)
  const full = await timesOf(target, 'eth_simulateV1', () =>
    simulation(Array.from({ length: CALLS }, (_, index) => transfer(index))),
  )
  const looping = { to: bytesToHex(loop), input: `0x${word(LOOP_ROUNDS)}`, gas: LOOP_GAS }
  const [looped] = await call<readonly [{ gasUsed: string; calls: readonly [{ status: string }] }]>(
    target.url,
    'eth_simulateV1',
    simulation([looping]),
  )
  if (looped.calls[0].status !== '0x1') throw new Error('the loop of transfers fails in eth_simulateV1')
  const loops = await timesOf(target, 'eth_simulateV1', () => simulation([looping]))
  return [
    ...latencyRows('simulateV1, an ERC-20 transfer', one),
    { name: 'simulateV1, 50 in flight', unit: '/s', value: (SMALL_REQUESTS / many.elapsedMs) * 1_000 },
    { name: `simulateV1, ${CALLS} transfers p50`, unit: 'ms', value: percentile(full, 50) },
    gasRate('simulateV1, a loop of transfers', Number(looped.gasUsed), loops),
  ]
}

/** Measures traces of the fullest block by each tracer, and from its bytes. */
async function measureBlockTraces(target: Target, { fullest }: LoadedBlocks): Promise<Row[]> {
  const number = blockParameter(fullest)
  const { gasUsed, transactions } = await call<{ gasUsed: string; transactions: readonly string[] }>(
    target.url,
    'eth_getBlockByNumber',
    [number, false],
  )
  const rows: Row[] = []
  const add = async (label: string, method: string, params: Params): Promise<void> => {
    const times = await timesOf(target, method, () => params).catch(() => undefined)
    if (times === undefined) return
    rows.push(
      {
        name: `${label}, a transaction`,
        unit: 'µs each',
        value: (percentile(times, 50) * 1_000) / transactions.length,
      },
      gasRate(label, Number(gasUsed), times),
    )
  }
  for (const tracer of ['callTracer', 'prestateTracer']) {
    await add(`traceBlockByNumber, ${tracer}`, 'debug_traceBlockByNumber', [number, { tracer }])
  }
  const raw = await call<string>(target.url, 'debug_getRawBlock', [number]).catch(() => undefined)
  if (raw !== undefined) await add('traceBlock, callTracer', 'debug_traceBlock', [raw, { tracer: 'callTracer' }])
  await add('trace_block', 'trace_block', [number])
  return rows
}

/** Searches for the calls of the token's holders, in all blocks of the load. */
async function measureSearches(target: Target, { first, last }: LoadedBlocks, token: Address): Promise<Row[]> {
  const range = { fromBlock: blockParameter(first), toBlock: blockParameter(last) }
  const searches: readonly (readonly [label: string, filter: unknown])[] = [
    ['trace_filter, 100 of all calls', { ...range, toAddress: [bytesToHex(token)], count: 100 }],
    ['trace_filter, an address without calls', { ...range, toAddress: [`0x${'be'.repeat(20)}`] }],
  ]
  const rows: Row[] = []
  for (const [label, filter] of searches) {
    const times = await timesOf(target, 'trace_filter', () => [filter]).catch(() => undefined)
    if (times !== undefined) rows.push({ name: `${label} p50`, unit: 'ms', value: percentile(times, 50) })
  }
  return rows
}

/** Returns the milliseconds of requests one after another, ascending. @throws Error with the node's message */
async function timesOf(target: Target, method: string, params: () => Params): Promise<Float64Array> {
  if (UNANSWERED[target.name]?.includes(method) === true) throw new Error(`${target.name} does not answer ${method}`)
  const times = new Float64Array(LARGE_REQUESTS)
  for (let index = -WARM_UPS; index < LARGE_REQUESTS; index++) {
    const beginMs = performance.now()
    await call(target.url, method, params())
    if (index >= 0) times[index] = performance.now() - beginMs
  }
  return times.sort()
}

function gasRate(name: string, gas: number, times: Float64Array): Row {
  const note = `${(gas / 1e6).toFixed(1)} Mgas`
  return { name, unit: 'Mgas/s', value: gas / percentile(times, 50) / 1_000, note }
}
