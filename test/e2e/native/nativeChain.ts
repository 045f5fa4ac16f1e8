import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DirectEthSecp256k1Wallet } from '@cosmjs/proto-signing'
import { GasPrice, SigningStargateClient } from '@cosmjs/stargate'
import type { Hex } from 'viem'
import { formatGenesis } from '../../../src/chain/genesis/genesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { readGenesisFile } from '../../../src/datadir/initNode.ts'
import { ACCOUNTS } from '../devChain.ts'
import { startNode, type TestNode } from '../startNode.ts'

const LAUNCHER = new URL('../../../bin/coind.js', import.meta.url).pathname

/** Changes of a genesis, in place. */
type GenesisChange = (appState: Genesis['app_state']) => void

/** Milliseconds; a usual chain has 400. Tests wait for blocks for most of their time. */
const BLOCK_INTERVAL_MS = 200

/** A node of a new chain whose genesis wallet is the first devnet account, with other parameters and settings than a devnet. */
export async function startNativeChain(
  change: GenesisChange,
  settings: Readonly<Record<string, string>> = {},
): Promise<TestNode> {
  const homedir = mkdtempSync(join(tmpdir(), 'coind-native-'))
  const environment = { NETWORK: 'testnet', GENESIS_WALLET: ACCOUNTS[0]!.address, MONIKER: 'first' }
  const { status, stderr } = spawnSync(process.execPath, [LAUNCHER, 'init', '--homedir', homedir], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`coind init failed: ${stderr}`)
  const path = dataPaths(homedir).genesis
  const genesis = structuredClone(readGenesisFile(path))
  genesis.app_state.timing.params.block_interval_ms = String(BLOCK_INTERVAL_MS)
  change(genesis.app_state)
  writeFileSync(path, formatGenesis(genesis))
  const node = await startNode({
    command: 'start',
    homedir,
    environment: { ...environment, VIEW_THREADS: '1', ...settings },
  })
  return {
    ...node,
    stop: async () => {
      await node.stop()
      rmSync(homedir, { recursive: true, force: true })
    },
  }
}

/** Where clients of CometBFT's RPC connect. */
export function cometUrl(node: Pick<TestNode, 'url'>): string {
  return new URL('rpc', node.url).href
}

export interface CosmosAccount {
  /** `coin1…` */
  readonly address: string
  readonly client: SigningStargateClient
}

/** CosmJS as an application uses it, with a key that MetaMask could hold. */
export async function connectCosmJs(node: Pick<TestNode, 'url'>, privateKey: Hex): Promise<CosmosAccount> {
  const wallet = await DirectEthSecp256k1Wallet.fromKey(Buffer.from(privateKey.slice(2), 'hex'), 'coin')
  const [account] = await wallet.getAccounts()
  const client = await SigningStargateClient.connectWithSigner(cometUrl(node), wallet, {
    gasPrice: GasPrice.fromString('3000000000acoin'),
    broadcastPollIntervalMs: 100,
  })
  return { address: account!.address, client }
}

/** JSON of a path below the node's URL, of the state after the block at `height` or of now. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
export async function getJson(node: Pick<TestNode, 'url'>, path: string, height?: bigint): Promise<any> {
  const headers: Record<string, string> = height === undefined ? {} : { 'x-cosmos-block-height': height.toString() }
  const response = await fetch(new URL(path.replace(/^\//, ''), node.url), { headers })
  return JSON.parse(await response.text())
}
