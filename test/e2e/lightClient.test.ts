import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { headerHash } from '../../src/chain/comet/block.ts'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { RawValues } from '../../src/config/settings.ts'
import { decideSync } from '../../src/config/syncDecision.ts'
import { bytesToUpperHex } from '../../src/primitives/bytes.ts'
import { fetchGenesis } from '../../src/sync/blocks/fetchGenesis.ts'
import { genesisTimes, openLightClient } from '../../src/sync/light/openLightClient.ts'
import { RpcSource } from '../../src/sync/light/rpcSource.ts'
import { CHAIN_ID } from './devChain.ts'
import { rpc } from './rpc.ts'
import { startNode, type TestNode } from './startNode.ts'

const { signal } = new AbortController()
let node: TestNode
let genesis: Genesis

beforeAll(async () => {
  node = await startNode()
  genesis = await fetchGenesis({
    url: node.url,
    expected: { chainId: `coin_${CHAIN_ID}-1`, evmChainId: BigInt(CHAIN_ID), hash: undefined },
    sleep: (ms) => sleep(ms),
    signal,
    onRetry: () => undefined,
  })
})

afterAll(() => node.stop())

function joinerOf(environment: RawValues): Config {
  return loadConfig({ flags: {}, environment: { NETWORK: 'devnet', ...environment }, dotenv: {} }, '/home/someone')
}

function openClient({ joining }: Config) {
  const source = (url: string) => new RpcSource({ url, sleep: (ms) => sleep(ms) })
  return openLightClient({
    joining,
    genesis,
    sources: [source(node.url), source(`${node.url}rpc`)],
    nowMs: Date.now,
    onWarning: (message) => expect.fail(message),
  })
}

async function heightAbove(height: number): Promise<number> {
  for (;;) {
    const head = Number(await rpc(node.url, 'eth_blockNumber'))
    if (head > height) return head
    await sleep(50)
  }
}

async function hashAt(height: number): Promise<string> {
  const answer = await fetch(`${node.url}rpc/block?height=${height}`)
  const { result } = (await answer.json()) as { readonly result: { readonly block_id: { readonly hash: string } } }
  return result.block_id.hash
}

it('verifies the head of a node from the genesis, and the blocks below and above it', async () => {
  const config = joinerOf({})
  expect(decideSync(config, genesisTimes(genesis), Date.now())).toEqual({ kind: 'snapshot', isRequired: false })
  const client = openClient(config)
  const head = await heightAbove(5)
  for (const height of [head, 1, 2, await heightAbove(head)]) {
    const { header } = await client.verify(height, signal)
    expect(header.height).toBe(height)
    expect(bytesToUpperHex(headerHash(header))).toBe(await hashAt(height))
  }
})

it('verifies blocks on both sides of a trusted one, and refuses another hash', async () => {
  const head = await heightAbove(7)
  const client = openClient(joinerOf({ TRUST_HEIGHT: '4', TRUST_HASH: await hashAt(4) }))
  for (const height of [head, 4, 2]) {
    expect(bytesToUpperHex(headerHash((await client.verify(height, signal)).header))).toBe(await hashAt(height))
  }
  const wrong = openLightClient({
    joining: joinerOf({ TRUST_HEIGHT: '4', TRUST_HASH: await hashAt(5) }).joining,
    genesis,
    sources: [new RpcSource({ url: node.url, sleep: (ms) => sleep(ms) })],
    nowMs: Date.now,
    onWarning: (message) => expect.fail(message),
  })
  await expect(wrong.verify(6, signal)).rejects.toMatchObject({ name: 'LightClientError', kind: 'wrongTrust' })
})
