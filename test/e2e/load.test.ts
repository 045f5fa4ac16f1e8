import { createPublicClient, createWalletClient, encodeFunctionData, type Hex, http, keccak256 } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ACCOUNTS, CHAIN_ID, freshAddress, GWEI, VAULT_ABI, vaultBytecode, viemChain } from './devChain.ts'
import { mined, post, rpc, until } from './rpc.ts'
import { freePort, startNode, type TestNode } from './startNode.ts'

/** Answers to each question while the load goes on: a busy machine gives them late, a blocked thread not before its end. */
const ANSWERS = 20
const BLOCKS = 5
const LOAD_TIMEOUT_MS = 100_000
/** of a transaction that uses about half of a block's gas */
const BURN_GAS = 14_900_000n

interface Probe {
  /** answers so far */
  answers(): number
  /** Ends it; throws when a question has failed. */
  stop(): Promise<void>
}

const account = ACCOUNTS[1]!
let node: TestNode
let metricsUrl: string
let vault: Hex

beforeAll(async () => {
  const metricsPort = await freePort()
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  node = await startNode({ environment: { METRICS_PORT: String(metricsPort), VIEW_THREADS: '2' } })
  const chain = viemChain(node.url)
  const writer = createWalletClient({ chain, transport: http(node.url), account })
  const hash = await writer.deployContract({ abi: VAULT_ABI, bytecode: vaultBytecode(), args: [0n] })
  vault = (await mined(node.url, hash)).contractAddress!
})
afterAll(() => node?.stop())

/** Asks again and again until `stop` is called. */
function probe(ask: () => Promise<unknown>): Probe {
  let isStopped = false
  let answers = 0
  const run = async (): Promise<void> => {
    while (!isStopped) {
      await ask()
      answers++
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
  const running = run()
  // A failed question shows when the probe stops.
  running.catch(() => undefined)
  return {
    answers: () => answers,
    stop: async () => {
      isStopped = true
      await running
    },
  }
}

/** Everything that must go on, whatever the executor and the view threads do. */
function startProbes(): Readonly<Record<string, Probe>> {
  return {
    health: probe(async () => expect((await fetch(new URL('/health', node.url))).status).toBe(200)),
    blockNumber: probe(() => rpc(node.url, 'eth_blockNumber')),
    balance: probe(() => rpc(node.url, 'eth_getBalance', account.address, 'latest')),
    pendingNonce: probe(() => rpc(node.url, 'eth_getTransactionCount', account.address, 'pending')),
    admission: probe(sendFromStranger),
  }
}

let strangerNonce = 0
const strangerHashes: Hex[] = []

/** A small payment by another account. */
async function sendFromStranger(): Promise<void> {
  const raw = await ACCOUNTS[5]!.signTransaction({
    chainId: CHAIN_ID,
    nonce: strangerNonce++,
    gas: 21_000n,
    maxFeePerGas: 20n * GWEI,
    maxPriorityFeePerGas: 2n * GWEI,
    to: ACCOUNTS[6]!.address,
    value: 1n,
  })
  strangerHashes.push(await rpc<Hex>(node.url, 'eth_sendRawTransaction', raw))
}

/** Seconds that the timers of a thread were late at most since the last question; undefined when the page has no figure. */
async function loopDelaySeconds(thread: string): Promise<number | undefined> {
  const page = await (await fetch(metricsUrl)).text()
  const lines = page.split('\n').filter((line) => line.startsWith('coind_event_loop_delay_seconds{'))
  const figures = lines
    .filter((line) => line.includes(`thread="${thread}"`))
    .map((line) => Number(line.split(' ').at(-1)))
  return figures.length === 0 ? undefined : Math.max(...figures)
}

/** The main thread was never held up for most of the time since then, however slow the machine is. */
async function expectFreeMain(sinceMs: number): Promise<void> {
  const seconds = (performance.now() - sinceMs) / 1_000
  expect(await loopDelaySeconds('main')).toBeLessThan(seconds / 2)
}

it('goes on while calls and transactions saturate it', async () => {
  const data = encodeFunctionData({ abi: VAULT_ABI, functionName: 'work', args: [0n] })
  const call = { from: account.address, to: vault, data, gas: '0x2dc6c0' }
  let isOver = false
  let calls = 0
  const callers = Array.from({ length: 12 }, async () => {
    while (!isOver) {
      const { error } = await post(node.url, { method: 'eth_call', params: [call, 'latest'] })
      // A call may run out of its time; anything else is a fault.
      if (error !== undefined) expect(error.message).toMatch(/execution timeout|request timed out/)
      calls++
    }
  })
  await loopDelaySeconds('main')
  const startMs = performance.now()
  const before = Number(await rpc(node.url, 'eth_blockNumber'))
  const probes = startProbes()
  for (const [name, { answers }] of Object.entries(probes)) {
    await until(`${ANSWERS} answers of ${name}`, async () => answers() >= ANSWERS, LOAD_TIMEOUT_MS)
  }
  const isAhead = async () => Number(await rpc(node.url, 'eth_blockNumber')) >= before + BLOCKS
  await until(`${BLOCKS} blocks`, isAhead, LOAD_TIMEOUT_MS)
  await until('calls', async () => calls > 5, LOAD_TIMEOUT_MS)
  await expectFreeMain(startMs)
  isOver = true
  await Promise.all([...callers, ...Object.values(probes).map((running) => running.stop())])
})

it('goes on while blocks execute as much gas as they may', async () => {
  const nonce = Number(await rpc(node.url, 'eth_getTransactionCount', account.address, 'pending'))
  const data = encodeFunctionData({ abi: VAULT_ABI, functionName: 'work', args: [0n] })
  const raws = await Promise.all(
    [0, 1, 2, 3].map((index) =>
      account.signTransaction({
        chainId: CHAIN_ID,
        nonce: nonce + index,
        gas: BURN_GAS,
        maxFeePerGas: 10n * GWEI,
        maxPriorityFeePerGas: 3n * GWEI,
        to: vault,
        data,
      }),
    ),
  )
  await loopDelaySeconds('main')
  const startMs = performance.now()
  const probes = startProbes()
  const hashes = await Promise.all(raws.map((raw) => rpc<Hex>(node.url, 'eth_sendRawTransaction', raw)))
  expect(hashes).toEqual(raws.map((raw) => keccak256(raw)))
  const receipts = await Promise.all(hashes.map((hash) => mined(node.url, hash, 60_000)))
  await expectFreeMain(startMs)
  const answers = Object.entries(probes).map(([name, probe]) => ({ name, isAnswered: probe.answers() > 0 }))
  await Promise.all(Object.values(probes).map((running) => running.stop()))
  expect(answers.filter(({ isAnswered }) => !isAnswered)).toEqual([])
  for (const { status, gasUsed } of receipts) {
    expect(status).toBe('0x1')
    expect(BigInt(gasUsed)).toBeGreaterThan((BURN_GAS * 99n) / 100n)
  }
})

it('has put every admitted transaction into a block, in order', async () => {
  const last = await mined(node.url, strangerHashes.at(-1)!, 60_000)
  const receipts = await Promise.all(strangerHashes.map((hash) => mined(node.url, hash)))
  const heights = receipts.map(({ blockNumber }) => Number(blockNumber))
  expect(heights).toEqual(heights.toSorted((a, b) => a - b))
  expect(receipts.every(({ status }) => status === '0x1')).toBe(true)
  expect(await rpc(node.url, 'eth_getTransactionCount', ACCOUNTS[5]!.address, last.blockNumber)).toBe(
    `0x${strangerNonce.toString(16)}`,
  )
  await until('an empty pool', async () => {
    const status = await rpc<{ pending: Hex; queued: Hex }>(node.url, 'txpool_status')
    return status.pending === '0x0' && status.queued === '0x0'
  })
})

it('takes up where it was when the load is gone', async () => {
  const reader = createPublicClient({ transport: http(node.url) })
  const start = await reader.getBlockNumber({ cacheTime: 0 })
  await until('three blocks', async () => (await reader.getBlockNumber({ cacheTime: 0 })) >= start + 3n)
  expect(await reader.getBalance({ address: freshAddress() })).toBe(0n)
})
