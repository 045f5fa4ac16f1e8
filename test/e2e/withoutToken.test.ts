import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, createWalletClient, type Hex, http, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deployWrappedCoin } from '../../scripts/deployWrappedCoin.ts'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { ACCOUNTS, COIN, ERC20_ABI, freshAddress, KEYS, NATIVE_TOKEN, viemChain } from './devChain.ts'
import { rpc } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { startNode, type TestNode } from './startNode.ts'

const WRAPPER_ABI = [...ERC20_ABI, ...parseAbi(['function deposit() payable', 'function withdraw(uint256 amount)'])]
const wallet = ACCOUNTS[0]!
let homedir: string
let node: TestNode

beforeAll(async () => {
  homedir = mkdtempSync(join(tmpdir(), 'coind-no-token-'))
  const environment = { NETWORK: 'testnet', GENESIS_WALLET: wallet.address }
  const { code, output } = await runCoind(['init', '--homedir', homedir], { environment })
  expect(code).toBe(0)
  const path = /\S+genesis\.json/.exec(output)![0]
  const genesis = JSON.parse(readFileSync(path, 'utf8')) as Genesis
  const { erc20 } = genesis.app_state
  expect(erc20.native_precompiles).toHaveLength(1)
  const app_state = { ...genesis.app_state, erc20: { ...erc20, token_pairs: [], native_precompiles: [] } }
  writeFileSync(path, JSON.stringify({ ...genesis, app_state }))
  node = await startNode({ command: 'start', homedir, environment })
})
afterAll(async () => {
  await node?.stop()
  rmSync(homedir, { recursive: true, force: true })
})

it('has no native token contract', async () => {
  for (const data of ['0x95d89b41', '0x313ce567']) {
    expect(await rpc(node.url, 'eth_call', { to: NATIVE_TOKEN, data }, 'latest')).toBe('0x')
  }
  expect(await rpc(node.url, 'eth_getCode', NATIVE_TOKEN, 'latest')).toBe('0x')
  expect(await rpc(node.url, 'eth_getBalance', wallet.address, '0x0')).toBe('0x33b2e3c9fd0803ce8000000')
})

it('runs the wrapper contract that the deploy script puts there', async () => {
  const address = await deployWrappedCoin(node.url, KEYS[0]!)
  const chain = viemChain(node.url)
  const reader = createPublicClient({ chain, transport: http(node.url), pollingInterval: 100 })
  const writer = createWalletClient({ chain, transport: http(node.url), account: wallet })
  const contract = { address, abi: WRAPPER_ABI } as const
  const succeeds = async (hash: Hex) => {
    expect((await reader.waitForTransactionReceipt({ hash })).status).toBe('success')
  }
  const balance = (holder: Hex) => reader.readContract({ ...contract, functionName: 'balanceOf', args: [holder] })

  await succeeds(await writer.writeContract({ ...contract, functionName: 'deposit', value: 3n * COIN }))
  expect(await balance(wallet.address)).toBe(3n * COIN)
  expect(await reader.getBalance({ address })).toBe(3n * COIN)
  const to = freshAddress()
  await succeeds(await writer.writeContract({ ...contract, functionName: 'transfer', args: [to, COIN] }))
  await succeeds(await writer.writeContract({ ...contract, functionName: 'withdraw', args: [COIN] }))
  expect(await balance(to)).toBe(COIN)
  expect(await balance(wallet.address)).toBe(COIN)
  expect(await reader.getBalance({ address })).toBe(2n * COIN)
  expect(await reader.readContract({ ...contract, functionName: 'totalSupply' })).toBe(2n * COIN)
})
