import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { runs } from '../../propertyRuns.ts'
import { rpc } from '../rpc.ts'
import { runCoind } from '../runCoind.ts'
import { startNode, type TestNode } from '../startNode.ts'
import { differences, type LocalNetwork, makeNetwork, QUICK, waitForHalt, waitForHeight } from './localNetwork.ts'
import { createNamespaces, type Namespaces, namespacesMissing } from './namespaces.ts'

const missing = namespacesMissing()
if (missing !== undefined) console.warn(`partitions are not tested: ${missing}`)

/** Where each node has a network of its own; undefined where all are on the loopback interface. */
let namespaces: Namespaces | undefined
let network: LocalNetwork
let copy: TestNode | undefined

beforeAll(async () => {
  namespaces = missing === undefined ? createNamespaces(4) : undefined
  network = await makeNetwork({ ...QUICK, validators: 4, ...(namespaces && { placeOf: namespaces.hostOf }) })
  await network.start()
})

afterAll(async () => {
  if (copy?.process.exitCode === null) await copy.kill('SIGKILL')
  await network?.stop()
  namespaces?.remove()
})

describe.skipIf(missing !== undefined)('a partitioned network of four validators', () => {
  it('goes on with three quarters, and the fourth catches up', async () => {
    const rest = network.nodes.slice(0, 3)
    namespaces!.separate([3])
    const from = await network.seed.height()
    await Promise.all(rest.map((node) => waitForHeight(node, from + 15)))
    namespaces!.heal()
    const now = await network.seed.height()
    await waitForHeight(network.nodes[3]!, now + 5)
    expect(await differences(network.nodes)).toEqual([])
  })

  it('halts when it is cut in halves and resumes when they meet', async () => {
    namespaces!.separate([2, 3])
    const halted = await waitForHalt(network.nodes.slice(0, 2), runs(3) * 1_000)
    namespaces!.heal()
    const target = Math.max(...halted) + 5
    await Promise.all(network.nodes.map((node) => waitForHeight(node, target)))
    expect(await differences(network.nodes)).toEqual([])
  })
})

interface Commit {
  readonly signed_header: {
    readonly commit: { readonly signatures: readonly { readonly validator_address: string }[] }
  }
}

describe('a copy of a validator', () => {
  it('signs nothing beside its original, restarted too, and goes on in its place when that has stopped', async () => {
    const { seed } = network
    const original = network.validators[3]!
    await waitForHeight(seed, 5)
    const home = join(network.directory, 'copy')
    const environment = { ...original.variables, HOMEDIR: original.home }
    const { code, output } = await runCoind(['backup', '--out', home, '--with-keys'], { environment })
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^Backed up the chain up to block \d+/) })
    const paths = dataPaths(home)
    // Beside its original it needs an identity of its own.
    rmSync(paths.nodeKey)

    const {
      RPC_PORT: _rpc,
      P2P_PORT: _p2p,
      METRICS_PORT: _metrics,
      EXTERNAL_P2P_ADDRESS: _address,
      ...variables
    } = original.variables
    const peers = network.nodes.map(({ nodeId, peerAddress }) => `${nodeId}@${peerAddress}`).join(',')
    const place = namespaces?.hostOf(3)
    const start = () =>
      startNode({
        command: 'start',
        homedir: home,
        ...(place && { host: place.address, within: place.within }),
        environment: { ...variables, ...QUICK.environment, PERSISTENT_PEERS: peers },
      })
    const heightOf = async (node: TestNode): Promise<number> => Number(await rpc<string>(node.url, 'eth_blockNumber'))
    for (let turn = 0; turn < 2; turn++) {
      copy = await start()
      const height = await seed.height()
      await waitForHeight(seed, height + 16)
      for (const deadline = Date.now() + 30_000; (await heightOf(copy)) < height + 14 && Date.now() < deadline; )
        await sleep(100)
      expect(await heightOf(copy)).toBeGreaterThanOrEqual(height + 14)
      expect(existsSync(paths.copyMark)).toBe(true)
      expect(copy.output()).toContain('this directory is a copy: its validator signs nothing')
      if (turn === 0) await copy.kill('SIGTERM')
    }

    const { validator_info } = await original.comet<{ readonly validator_info: { readonly address: string } }>('status')
    await original.kill('SIGTERM')
    for (const deadline = Date.now() + 60_000; existsSync(paths.copyMark) && Date.now() < deadline; ) await sleep(100)
    expect(existsSync(paths.copyMark)).toBe(false)
    const released = await seed.height()
    await waitForHeight(seed, released + 6)
    const { signed_header } = await seed.comet<Commit>(`commit?height=${released + 4}`)
    const signers = signed_header.commit.signatures.map(({ validator_address }) => validator_address)
    expect(signers).toContain(validator_info.address)
    for (let height = 1; height <= released + 4; height++) {
      const { block } = await seed.comet<{
        readonly block: { readonly evidence: { readonly evidence: readonly unknown[] } }
      }>(`block?height=${height}`)
      expect(block.evidence.evidence).toEqual([])
    }
  })
})
