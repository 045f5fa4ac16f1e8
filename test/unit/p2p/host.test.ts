import { randomBytes } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { createHost, type Host } from '../../../src/p2p/host.ts'

const hosts: Host[] = []

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.stop()))
})

async function startHost(): Promise<Host> {
  const host = await createHost({
    seed: new Uint8Array(randomBytes(32)),
    listen: { host: '127.0.0.1', port: 0 },
    maxConnections: 50,
    topics: [],
    gater: { denyDialMultiaddr: () => false },
    now: () => performance.now(),
  })
  await host.start()
  hosts.push(host)
  return host
}

test('nothing stays stored of a peer that has left', async () => {
  const host = await startHost()
  const visitor = await startHost()
  const stored = () => host.peerStore.all({ filters: [({ id }) => id.equals(visitor.peerId)] })
  await visitor.dial(host.getMultiaddrs())
  await vi.waitFor(async () => expect((await stored())[0]?.protocols.length).toBeGreaterThan(0), 20_000)
  await visitor.stop()
  await vi.waitFor(async () => expect(await stored()).toEqual([]), 20_000)
})
