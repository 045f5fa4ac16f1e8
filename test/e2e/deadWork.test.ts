import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rpc, until } from './rpc.ts'
import { freePort, startNode, type TestNode } from './startNode.ts'

const CALLS = 200
/** of one client, as in src/node/roles/view/viewTasks.ts */
const RUNNING = 6
/** JUMPDEST PUSH1 0 JUMP */
const ENDLESS = '0x5b600056'
const CONTRACT = `0x${'ee'.repeat(20)}`
const PARAMS = [{ to: CONTRACT, gas: '0x2540be400' }, 'latest', { [CONTRACT]: { code: ENDLESS } }]

let node: TestNode
let metricsUrl: string

beforeAll(async () => {
  const metricsPort = await freePort()
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  // Nothing ends a call but its client, within the time of this test.
  const environment = {
    METRICS_PORT: String(metricsPort),
    RPC_EVM_TIMEOUT_MS: '600000',
    RPC_GAS_CAP: '10000000000',
  }
  node = await startNode({ environment })
})
afterAll(() => node?.stop())

/** The sum of the values whose name and labels begin like this. */
async function metric(start: string): Promise<number> {
  const page = await (await fetch(metricsUrl)).text()
  const lines = page.split('\n').filter((line) => line.startsWith(start))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function sendEndlessCall(): Promise<Socket> {
  const { hostname, port } = new URL(node.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: PARAMS })
  const head = ['POST / HTTP/1.1', 'Host: x', 'Content-Type: application/json', `Content-Length: ${body.length}`]
  socket.write([...head, '', body].join('\r\n'))
  return socket
}

it('leaves no work behind when the clients of endless calls are gone', async () => {
  const sockets = await Promise.all(Array.from({ length: CALLS }, sendEndlessCall))
  await until(
    'all calls',
    async () =>
      (await metric('coind_view_running_tasks')) === RUNNING &&
      (await metric('coind_view_waiting_tasks')) === CALLS - RUNNING,
  )
  // The first call that a socket thread may try: it loads what it needs, and leaves this one to a view thread.
  const answer = rpc(node.url, 'eth_call', { to: CONTRACT }, 'latest')
  for (const socket of sockets) socket.destroy()
  expect(await answer).toBe('0x')
  await until(
    'nothing left',
    async () => (await metric('coind_view_running_tasks')) === 0 && (await metric('coind_view_waiting_tasks')) === 0,
  )
  // Whether a call had begun when its client left, all of them ended by that.
  const dropped = await metric('coind_view_dropped_tasks_total{queue="heavy",reason="cancelled"')
  const stopped = await metric('coind_view_cancelled_tasks_total')
  expect(dropped + stopped).toBe(CALLS)
  expect(stopped).toBeLessThan(CALLS / 2)
  expect(await metric('coind_view_deadlines_missed_total')).toBe(0)
  const begun = await metric('coind_view_wait_seconds_bucket{le="+Inf"')
  expect(begun).toBeGreaterThan(0)
  expect(await metric('coind_view_wait_seconds_bucket{le="30"')).toBe(begun)
  expect(await metric('coind_view_wait_seconds_count{queue="heavy"')).toBe(stopped + 1)
})

it('answers short calls in the socket thread, whatever fills the view threads', async () => {
  const sockets = await Promise.all(Array.from({ length: CALLS }, sendEndlessCall))
  await until('running calls', async () => (await metric('coind_view_running_tasks')) === RUNNING)
  const before = await metric('coind_rpc_short_calls_total{outcome="here"')
  const decimals = { to: CONTRACT, data: '0x313ce567' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => rpc(node.url, 'eth_call', decimals, 'latest')))
  expect(answers.map(Number)).toEqual(Array(20).fill(18))
  expect(await metric('coind_rpc_short_calls_total{outcome="here"')).toBe(before + 20)
  expect(await metric('coind_view_running_tasks')).toBe(RUNNING)
  for (const socket of sockets) socket.destroy()
  await until('nothing left', async () => (await metric('coind_view_running_tasks')) === 0)
})
