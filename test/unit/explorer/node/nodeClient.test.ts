import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { createNodeClient, NodeDown, NodeError } from '../../../../explorer/node/nodeClient.ts'

interface Request {
  readonly id: number
  readonly params: readonly number[]
}

/** Asks a node that answers batches as `answer` does. */
async function withNode<T>(
  answer: (batch: readonly Request[]) => { readonly status?: number; readonly body: unknown },
  use: (node: ReturnType<typeof createNodeClient>) => Promise<T>,
): Promise<T> {
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const { status = 200, body } = answer(JSON.parse(text))
    response.writeHead(status).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = new AbortController()
  try {
    return await use(createNodeClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, stop.signal))
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const calls = Array.from({ length: 37 }, (_, index) => ({ method: 'double', params: [index] }))
const doubled = calls.map((_, index) => index * 2)
const result = ({ id, params }: Request) => ({ jsonrpc: '2.0', id, result: params[0]! * 2 })
const error = { code: -32600, message: 'too large' }

it('asks for fewer at once when the node refuses a batch as a whole', async () => {
  let refused = 0
  await withNode(
    (batch) => {
      if (batch.length <= 5) return { body: batch.map(result) }
      refused++
      return { body: { jsonrpc: '2.0', id: null, error } }
    },
    async (node) => {
      expect(await node.ethereum(calls)).toEqual(doubled)
      const first = refused
      expect(await node.ethereum(calls)).toEqual(doubled)
      expect(refused).toBe(first)
    },
  )
})

it('asks again for the calls whose answers did not fit', async () => {
  const answer = (batch: readonly Request[]) => ({
    body: batch.map((one, index) => (index < 4 ? result(one) : { jsonrpc: '2.0', id: one.id, error })),
  })
  expect(await withNode(answer, (node) => node.comet(calls))).toEqual(doubled)
})

it('tells which call a node refuses for itself', async () => {
  const answer = (batch: readonly Request[]) => ({
    body: batch.map((one) => (one.params[0] === 9 ? { jsonrpc: '2.0', id: one.id, error } : result(one))),
  })
  await expect(withNode(answer, (node) => node.ethereum(calls))).rejects.toThrow('the node rejected double (too large)')
})

it('asks nothing more when the node has had enough requests', async () => {
  let asked = 0
  const answer = () => {
    asked++
    return { status: 429, body: { jsonrpc: '2.0', id: null, error } }
  }
  await expect(withNode(answer, (node) => node.ethereum(calls))).rejects.toThrow('RPC_RATE_LIMIT')
  expect(asked).toBe(1)
})

it('tells a node that is down from one that does not answer as it should', async () => {
  const port = await withNode(
    () => ({ status: 500, body: 'broken' }),
    async (node) => {
      const failure = await node.ethereum(calls).catch((own: unknown) => own)
      expect(failure).toBeInstanceOf(NodeError)
      expect(failure).not.toBeInstanceOf(NodeDown)
      return Number(/:([0-9]+)/.exec(`${failure}`.split('//')[1]!)![1])
    },
  )
  const down = createNodeClient(`http://127.0.0.1:${port}/`, new AbortController().signal)
  await expect(down.ethereum(calls)).rejects.toBeInstanceOf(NodeDown)
})
