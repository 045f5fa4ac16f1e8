import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { createNodeKey } from '../../../src/p2p/nodeKey.ts'
import { NATIVE_TOKEN } from '../devChain.ts'
import { rpc } from '../rpc.ts'
import { runCoind } from '../runCoind.ts'
import { freePort, startNode, type TestNode } from '../startNode.ts'
import { type LocalNetwork, makeNetwork, QUICK, waitForHeight } from './localNetwork.ts'
import { startTransfers } from './transfers.ts'

interface Status {
  readonly result: { readonly sync_info: { readonly latest_block_height: string; readonly catching_up: boolean } }
}

interface NetInfo {
  readonly result: { readonly peers: readonly { readonly node_info: { readonly id: string } }[] }
}

const BLOCKS_BEFORE = 60

let network: LocalNetwork
let directory: string
const joiners: TestNode[] = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-joining-'))
  network = await makeNetwork({ ...QUICK, validators: 2, blockIntervalMs: 100 })
  await network.start()
  const transfers = startTransfers(network.nodes, 20)
  await waitForHeight(network.seed, BLOCKS_BEFORE)
  await transfers.stop()
})

afterAll(async () => {
  for (const node of joiners) if (node.process.exitCode === null) await node.kill('SIGKILL')
  await network.stop()
  rmSync(directory, { recursive: true, force: true })
})

function seedVariables(): Record<string, string> {
  const { rpcUrl, nodeId, peerAddress } = network.seed
  return {
    NETWORK: 'testnet',
    JOIN_NETWORK: 'true',
    SEED_NODE_URL: rpcUrl,
    SEED_NODE_ID: nodeId,
    SEED_PEER_HOST: peerAddress,
    P2P_HOST: '127.0.0.1',
    ...QUICK.environment,
  }
}

async function joinNetwork(name: string, variables: Record<string, string> = {}): Promise<TestNode> {
  const node = await startNode({
    command: 'start',
    homedir: join(directory, name),
    environment: { ...seedVariables(), ...variables },
  })
  joiners.push(node)
  return node
}

async function statusOf(node: TestNode): Promise<Status['result']['sync_info']> {
  return ((await (await fetch(`${node.url}rpc/status`)).json()) as Status).result.sync_info
}

const heightOf = async (node: TestNode): Promise<number> => Number(await rpc<string>(node.url, 'eth_blockNumber'))

async function until(what: string, node: TestNode, test: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await test())) {
    if (performance.now() > deadline) throw new Error(`never ${what}:\n${node.output().slice(-6_000)}`)
    await sleep(100)
  }
}

/** The node has what the network has, now and a few blocks later. */
async function expectInStep(node: TestNode): Promise<void> {
  const target = (await network.seed.height()) + 5
  await until(`at height ${target}`, node, async () => (await heightOf(node)) >= target)
  for (const height of [1, BLOCKS_BEFORE >> 1, BLOCKS_BEFORE, target]) {
    const tag = `0x${height.toString(16)}`
    const { hash } = await rpc<{ readonly hash: string }>(node.url, 'eth_getBlockByNumber', tag, false)
    expect(hash).toBe(await network.seed.blockHash(height))
  }
  await until('in consensus', node, async () => !(await statusOf(node)).catching_up)
  await until('in consensus for eth_syncing', node, async () => (await rpc(node.url, 'eth_syncing')) === false)
}

describe('a node that joins', () => {
  it('takes the genesis and the blocks from the network and stays in step, also after kill -9 with the seed’s RPC gone', async () => {
    const first = await joinNetwork('full')
    await expectInStep(first)
    expect(first.output()).toMatch(/accepted without a check: set GENESIS_HASH=[0-9a-f]{64}/)
    expect(first.output()).toContain('synced')
    await first.kill('SIGKILL')
    await waitForHeight(network.seed, (await network.seed.height()) + 40)
    const again = await joinNetwork('full', { SEED_NODE_URL: 'http://127.0.0.1:1' })
    await expectInStep(again)
    expect(again.output()).toContain('synced')
  })

  it('leaves consensus when it has fallen behind, syncs and returns', async () => {
    const node = joiners.at(-1)!
    const left = (): number => node.output().split('leaving consensus to sync').length
    const before = left()
    node.process.kill('SIGSTOP')
    await waitForHeight(network.seed, (await network.seed.height()) + 60)
    node.process.kill('SIGCONT')
    await until('out of consensus', node, () => left() > before)
    await expectInStep(node)
    expect(await node.kill('SIGTERM')).toBe(0)
  })

  it.each<[string, () => Record<string, string>, RegExp]>([
    [
      'another chain',
      () => ({ CHAIN_ID: 'coin_9001-1' }),
      /coind: .*belongs to the network coin_76287-1, but CHAIN_ID is coin_9001-1/,
    ],
    [
      'another genesis',
      () => ({ GENESIS_HASH: '00'.repeat(32) }),
      /coind: .*hash [0-9a-f]{64}, but GENESIS_HASH is 0{64}/,
    ],
    ['a seed that is no node', () => ({ SEED_NODE_URL: `${network.seed.rpcUrl}/wallet` }), /coind: .*SEED_NODE_URL/],
  ])('ends with one line when it is to join %s', async (_, variables, line) => {
    const environment = { ...seedVariables(), ...variables(), RPC_PORT: String(await freePort()) }
    const homedir = join(directory, 'refused')
    const { code, output } = await runCoind(['start', '--homedir', homedir], { environment, killAfterMs: 30_000 })
    expect({ code, output }).toEqual({ code: 65, output: expect.stringMatching(line) })
    expect(output.trim()).not.toContain('\n')
  })

  it('waits for a seed that is not there yet, and ends at once when it is told to', async () => {
    let output = ''
    const url = `http://127.0.0.1:${await freePort()}`
    const starting = startNode({
      command: 'start',
      homedir: join(directory, 'waiting'),
      environment: { ...seedVariables(), SEED_NODE_URL: url },
      onSpawn: (child) => {
        child.stdout!.on('data', (chunk: Buffer) => {
          output += chunk.toString()
          if (output.includes('waiting for the genesis from the seed node')) child.kill('SIGTERM')
        })
      },
    })
    await expect(starting).rejects.toThrow('did not start')
    expect(output).toContain(`${url}/rpc/genesis cannot be reached (ECONNREFUSED)`)
  })
})

describe('a seed node', () => {
  it('leads a node with SEEDS alone to peers, and stays none of them', async () => {
    const home = join(directory, 'seed')
    const paths = dataPaths(home)
    mkdirSync(paths.config, { recursive: true })
    const { id } = createNodeKey(paths.nodeKey, new Uint8Array(randomBytes(32)))
    const port = await freePort()
    const { SEED_NODE_ID: peerId, SEED_PEER_HOST: peerAddress, ...others } = seedVariables()
    const common = { ...others, ADDR_BOOK_STRICT: 'false' }
    // It knows of one validator, and learns of the other one from it.
    const seed = await startNode({
      command: 'start',
      homedir: home,
      environment: { ...common, SEED_MODE: 'true', SEEDS: `${peerId}@${peerAddress}`, P2P_PORT: String(port) },
    })
    joiners.push(seed)
    const second = network.nodes[1]!.nodeId
    await until('visiting the other validator', seed, () => seed.output().includes(`"peer":"${second}"`))
    const variables = { ...common, SEEDS: `${id}@127.0.0.1:${port}` }
    const node = await startNode({ command: 'start', homedir: join(directory, 'by-seed'), environment: variables })
    joiners.push(node)
    await expectInStep(node)
    const { result } = (await (await fetch(`${node.url}rpc/net_info`)).json()) as NetInfo
    const ids = result.peers.map(({ node_info }) => node_info.id)
    expect(ids).toContain(second)
    expect(ids).not.toContain(id)
    for (const each of [seed, node]) expect(await each.kill('SIGTERM')).toBe(0)
    expect(readFileSync(dataPaths(node.homedir).addressBook, 'utf8')).not.toContain(id)
    expect(readFileSync(paths.addressBook, 'utf8')).toContain(second)
  })
})

describe('a node that joins with a snapshot', () => {
  let snapshot: string
  let height: number
  const names: string[] = []

  beforeAll(async () => {
    snapshot = join(directory, 'snapshot')
    const { homedir } = network.seed.running
    const made = await runCoind(['snapshot', 'create', '--out', snapshot, '--homedir', homedir], {
      environment: { NETWORK: 'testnet' },
    })
    expect(made).toMatchObject({ code: 0 })
    height = Number(/block (\d+)/.exec(made.output)![1])
    names.push(...readdirSync(snapshot))
  })

  /** It has the chain from the snapshot on, and says of what is older where its blocks begin. */
  async function expectRestored(node: TestNode): Promise<void> {
    expect(node.output()).toContain('the node starts from the state of a snapshot')
    const target = (await network.seed.height()) + 5
    await until(`at height ${target}`, node, async () => (await heightOf(node)) >= target)
    await until('in consensus', node, async () => !(await statusOf(node)).catching_up)
    for (const at of [height + 1, target]) {
      const { hash } = await rpc<{ readonly hash: string }>(
        node.url,
        'eth_getBlockByNumber',
        `0x${at.toString(16)}`,
        false,
      )
      expect(hash).toBe(await network.seed.blockHash(at))
    }
    await expect(rpc(node.url, 'eth_getBlockByNumber', '0x1', false)).rejects.toThrow(`oldest block is ${height + 1}`)
    await expect(rpc(node.url, 'eth_getBalance', NATIVE_TOKEN, '0x1')).rejects.toThrow(`block with state is ${height}`)
    const supply = { to: NATIVE_TOKEN, data: '0x18160ddd' }
    expect(await rpc(node.url, 'eth_call', supply, `0x${target.toString(16)}`)).toBe(
      await rpc(network.seed.rpcUrl, 'eth_call', supply, `0x${target.toString(16)}`),
    )
  }

  it('takes it from a peer that has one, and does not do it again', async () => {
    const shelf = join(network.seed.running.homedir, 'snapshots')
    cpSync(snapshot, join(shelf, String(height)), { recursive: true })
    try {
      const node = await joinNetwork('from-peers')
      await expectRestored(node)
      expect(await node.kill('SIGTERM')).toBe(0)
      const again = await joinNetwork('from-peers')
      expect(again.output()).not.toContain('snapshot')
      await again.kill('SIGTERM')
    } finally {
      rmSync(shelf, { recursive: true })
    }
  })

  it('takes it from a web server: a bad file ends the start, and the next start goes on', async () => {
    let isBad = true
    const chunk = names.find((name) => name.endsWith('.zst'))!
    const server = createServer((request, response) => {
      const name = new URL(request.url!, 'http://host').pathname.slice(1)
      if (!names.includes(name)) return void response.writeHead(404).end()
      const bytes = readFileSync(join(snapshot, name))
      if (isBad && name === chunk) bytes[bytes.length >> 1]! ^= 1
      response.end(bytes)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const variables = { SNAPSHOT_MANIFEST_URL: `http://127.0.0.1:${port}/manifest.json?token=secret` }
    try {
      const homedir = join(directory, 'from-web')
      const environment = {
        ...seedVariables(),
        ...variables,
        RPC_PORT: String(await freePort()),
        P2P_PORT: String(await freePort()),
      }
      const refused = await runCoind(['start', '--homedir', homedir], { environment, killAfterMs: 60_000 })
      expect(refused.code).toBe(65)
      expect(refused.output).toMatch(new RegExp(`coind: .*${chunk}.*hash`))
      expect(refused.output).not.toContain('secret')
      expect(readdirSync(homedir)).not.toContain('db')
      isBad = false
      const node = await joinNetwork('from-web', variables)
      await expectRestored(node)
      expect(await node.kill('SIGTERM')).toBe(0)
    } finally {
      server.close()
    }
  })

  it('ends with one line where it must have a snapshot and no peer has one', async () => {
    const environment = {
      ...seedVariables(),
      SYNC_MODE: 'snapshot',
      RPC_PORT: String(await freePort()),
      P2P_PORT: String(await freePort()),
    }
    const homedir = join(directory, 'without')
    const { code, output } = await runCoind(['start', '--homedir', homedir], { environment, killAfterMs: 60_000 })
    expect([code, output.trim().split('\n').at(-1)]).toEqual([
      69,
      expect.stringMatching(/^coind: SYNC_MODE=snapshot is set, but no peer gave a snapshot/),
    ])
  })
})
