import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { createStartServer, type StartServer } from '../../../../src/rpc/transport/startServer.ts'
import { freePort } from '../../../e2e/startNode.ts'

const host = '127.0.0.1'
let started: StartServer | undefined
afterEach(async () => started?.close())

async function start(options: { readonly port: number; readonly afterMs?: number }) {
  const onError = vi.fn<(error: Error) => void>()
  started = createStartServer({ host, onError, afterMs: 0, ...options })
  return onError
}

/** An answer, as soon as the port gives one. */
async function ask(url: string, options: RequestInit = {}): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url, options)
    } catch {
      await turn()
    }
  }
}

it('says on the port of the RPC that the node is starting, and gives the port back', async () => {
  const port = await freePort()
  const onError = await start({ port })
  const health = await ask(`http://${host}:${port}/health?from=a+balancer`)
  expect(health.status).toBe(503)
  expect(await health.json()).toEqual({ healthy: false, catchingUp: true, starting: true })
  const call = await ask(`http://${host}:${port}/`, { method: 'POST', body: 'x'.repeat(100_000) })
  expect(call.status).toBe(503)
  expect(await call.text()).toMatch(/^the node is starting/)

  await started?.close()
  await started?.close()
  const rpc = createServer().listen(port, host)
  await once(rpc, 'listening')
  rpc.close()
  expect(onError).not.toHaveBeenCalled()
})

it('does nothing in a short start', async () => {
  const port = await freePort()
  await start({ port, afterMs: 3_600_000 })
  await started?.close()
  await expect(fetch(`http://${host}:${port}/health`)).rejects.toThrow()
})

it('tells that the port is taken, and lets the start go on', async () => {
  const other = createServer().listen(0, host)
  await once(other, 'listening')
  const onError = await start({ port: (other.address() as AddressInfo).port })
  await vi.waitFor(() => expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'EADDRINUSE' })))
  await started?.close()
  other.close()
})
