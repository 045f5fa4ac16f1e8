import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { differences, type LocalNetwork, makeNetwork, QUICK, waitForHeight } from './localNetwork.ts'
import { startTcpProxy, type TcpProxy } from './tcpProxy.ts'
import { startTransfers } from './transfers.ts'

/** A line between continents that loses one packet in a hundred. */
const LINE = { delayMs: 50, jitterMs: 20, stallShare: 0.01, stallMs: 250 }

describe('four validators on slow links', () => {
  const proxies: TcpProxy[] = []
  let network: LocalNetwork

  beforeAll(async () => {
    network = await makeNetwork({
      validators: 4,
      environment: QUICK.environment,
      announcedAddress: async (_, address) => {
        const proxy = await startTcpProxy(Number(address.split(':')[1]), LINE)
        proxies.push(proxy)
        return `127.0.0.1:${proxy.port}`
      },
    })
    await network.start()
  })

  afterAll(async () => {
    await network?.stop()
    await Promise.all(proxies.map((proxy) => proxy.close()))
  })

  it('go on, with transactions', async ({ onTestFailed }) => {
    onTestFailed(() => {
      for (const node of network.nodes) console.log(node.name, node.isRunning(), node.running.output().slice(-3000))
    })
    const transfers = startTransfers(network.nodes, 300)
    const from = await network.seed.height()
    await Promise.all(network.nodes.map((node) => waitForHeight(node, from + 20)))
    await transfers.stop()
    // Each pair is connected, and by such a line.
    expect(proxies.reduce((sum, proxy) => sum + proxy.connections(), 0)).toBeGreaterThanOrEqual(6)
    expect(await differences(network.nodes)).toEqual([])
  })

  it('go on when lines break and come back', async () => {
    for (const proxy of proxies.slice(0, 2)) {
      proxy.cut()
      const from = await network.seed.height()
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      proxy.heal()
      await Promise.all(network.nodes.map((node) => waitForHeight(node, from + 10)))
    }
    expect(await differences(network.nodes)).toEqual([])
  })
})
