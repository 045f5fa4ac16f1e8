import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runs } from '../../propertyRuns.ts'
import { differences, type LocalNetwork, makeNetwork, QUICK, waitForHalt, waitForHeight } from './localNetwork.ts'
import { createNamespaces, type Namespaces, namespacesMissing } from './namespaces.ts'

const missing = namespacesMissing()
if (missing !== undefined) console.warn(`partitions are not tested: ${missing}`)

describe.skipIf(missing !== undefined)('a partitioned network of four validators', () => {
  let namespaces: Namespaces
  let network: LocalNetwork

  beforeAll(async () => {
    namespaces = createNamespaces(4)
    network = await makeNetwork({ ...QUICK, validators: 4, placeOf: namespaces.hostOf })
    await network.start()
  })

  afterAll(async () => {
    await network?.stop()
    namespaces?.remove()
  })

  it('goes on with three quarters, and the fourth catches up', async () => {
    const rest = network.nodes.slice(0, 3)
    namespaces.separate([3])
    const from = await network.seed.height()
    await Promise.all(rest.map((node) => waitForHeight(node, from + 15)))
    namespaces.heal()
    const now = await network.seed.height()
    await waitForHeight(network.nodes[3]!, now + 5)
    expect(await differences(network.nodes)).toEqual([])
  })

  it('halts when it is cut in halves and resumes when they meet', async () => {
    namespaces.separate([2, 3])
    const halted = await waitForHalt(network.nodes.slice(0, 2), runs(3) * 1_000)
    namespaces.heal()
    const target = Math.max(...halted) + 5
    await Promise.all(network.nodes.map((node) => waitForHeight(node, target)))
    expect(await differences(network.nodes)).toEqual([])
  })
})
