import { encodeFunctionData, type Hex, keccak256, parseTransaction, serializeTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ACCOUNTS,
  CHAIN_ID,
  COIN,
  ERC20_ABI,
  freshAddress,
  NATIVE_TOKEN,
  VAULT_ABI,
  vaultBytecode,
} from './devChain.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import { mined, post, rpc, until } from './rpc.ts'
import type { TestNode } from './startNode.ts'

const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]*)$/

interface Head {
  readonly number: Hex
  readonly hash: Hex
  readonly baseFeePerGas: Hex
  readonly gasLimit: Hex
}

let node: TestNode
let vault: Hex
/** what the wallet read first */
let seen: { readonly number: Hex; readonly balance: Hex }
const account = ACCOUNTS[1]!
const ask = <T = unknown>(method: string, ...params: readonly unknown[]): Promise<T> =>
  rpc<T>(node.url, method, ...params)

beforeAll(async () => {
  node = await startQuickDevnet()
  const data: Hex = `${vaultBytecode()}${'07'.padStart(64, '0')}`
  const raw = await account.signTransaction({
    chainId: CHAIN_ID,
    nonce: 0,
    gas: 2_000_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    data,
  })
  vault = (await mined(node.url, await ask<string>('eth_sendRawTransaction', raw))).contractAddress!
  const number = await ask<Hex>('eth_blockNumber')
  seen = { number, balance: await ask<Hex>('eth_getBalance', account.address, number) }
})
afterAll(() => node?.stop())

describe('MetaMask', () => {
  it('finds the network that the user entered', async () => {
    expect(await ask('eth_chainId')).toBe('0x129ff')
    expect(await ask('net_version')).toBe('76287')
    const browser = { origin: 'moz-extension://0d1e2f', 'access-control-request-method': 'POST' }
    const preflight = await fetch(node.url, { method: 'OPTIONS', headers: browser })
    expect(preflight.status).toBeLessThan(300)
    expect(preflight.headers.get('access-control-allow-origin')).toMatch(/^(\*|moz-extension:\/\/0d1e2f)$/)
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toMatch(/\*|content-type/)
    const block = await ask<Head>('eth_getBlockByNumber', 'latest', false)
    expect(block.baseFeePerGas).toMatch(QUANTITY)
  })

  it('sends coins with eth_gasPrice as both fees and follows the transaction', async () => {
    const to = freshAddress()
    expect(await ask('eth_getCode', to, 'latest')).toBe('0x')
    const price = BigInt(await ask<Hex>('eth_gasPrice'))
    expect(await ask('eth_estimateGas', { from: account.address, to, value: '0x1' })).toBe('0x5208')
    const nonce = Number(await ask<Hex>('eth_getTransactionCount', account.address, 'latest'))
    const raw = await account.signTransaction({
      chainId: CHAIN_ID,
      to,
      value: COIN,
      nonce,
      gas: 21_000n,
      maxFeePerGas: price,
      maxPriorityFeePerGas: price,
    })
    const hash = await ask<Hex>('eth_sendRawTransaction', raw)
    expect(hash).toBe(keccak256(raw))
    expect(await ask('eth_getTransactionByHash', hash)).toMatchObject({ hash, from: account.address.toLowerCase() })
    const receipt = await mined(node.url, hash)
    expect(receipt.status).toBe('0x1')
    expect(await ask('eth_getBlockByHash', receipt.blockHash, false)).toMatchObject({ number: receipt.blockNumber })
    // A client that did not get the answer sends again.
    const again = await post(node.url, { method: 'eth_sendRawTransaction', params: [raw] })
    expect(again.error?.message).toMatch(/^(already known|nonce too low)/)
  })

  it('falls back to 35 % of the block gas limit when an estimate fails, which is refused with the reason', async () => {
    const { gasLimit } = await ask<Head>('eth_getBlockByNumber', 'latest', false)
    const gas = (BigInt(gasLimit) * 35n) / 100n
    const price = BigInt(await ask<Hex>('eth_gasPrice'))
    const nonce = Number(await ask<Hex>('eth_getTransactionCount', account.address, 'latest'))
    const fees = { maxFeePerGas: price, maxPriorityFeePerGas: price }
    const raw = await account.signTransaction({ chainId: CHAIN_ID, to: freshAddress(), nonce, gas, ...fees })
    const { error } = await post(node.url, { method: 'eth_sendRawTransaction', params: [raw] })
    expect(error?.message).toBe(`transaction gas limit too high (cap: ${2 ** 24}, tx: ${gas})`)
  })
})

describe('Hardhat and Foundry', () => {
  it.each(['eth_chainId', 'eth_blockNumber', 'eth_gasPrice', 'eth_accounts', 'net_version', 'web3_clientVersion'])(
    '%s without params, with null and with []',
    async (method) => {
      const answers = await Promise.all(
        [{}, { params: null }, { params: [] }].map((p) => post(node.url, { method, ...p })),
      )
      for (const answer of answers) {
        expect(answer.error).toBeUndefined()
        expect(answer.result).toBeDefined()
      }
    },
  )

  it.each([1, 0, -3, 1.5, 'a string', 'f3f2e6c0-0001-4f00-9a00-aaaaaaaaaaaa', null])('echoes the id %j', async (id) => {
    expect((await post(node.url, { id, method: 'eth_chainId' })).id).toBe(id)
  })

  it('takes data, input, both, and null members', async () => {
    const data = encodeFunctionData({ abi: VAULT_ABI, functionName: 'count' })
    const seven = `0x${'7'.padStart(64, '0')}`
    for (const call of [
      { to: vault, data },
      { to: vault, input: data },
      { to: vault, data, input: data },
      { to: vault, from: null, data, gas: null, gasPrice: null, value: null },
      { to: vault, data, accessList: [], type: '0x2', chainId: '0x129ff', unknownMember: { a: 1 } },
    ]) {
      expect(await ask('eth_call', call, 'latest')).toBe(seven)
      expect(await ask('eth_call', call)).toBe(seven)
    }
    // As in geth, `input` is the newer name and wins.
    expect(await ask('eth_call', { to: vault, data: '0x01', input: data })).toBe(seven)
  })

  it('reads fees as both tools do', async () => {
    for (const params of [
      ['0x1', 'latest', [50]],
      ['0xa', 'latest', [20.0]],
      [4, 'pending', []],
      ['4', 'latest'],
    ]) {
      const history = await ask<{ baseFeePerGas: Hex[]; gasUsedRatio: number[] }>('eth_feeHistory', ...params)
      expect(history.baseFeePerGas).toHaveLength(history.gasUsedRatio.length + 1)
      for (const fee of history.baseFeePerGas) expect(fee).toMatch(QUANTITY)
    }
  })

  it.each(['anvil_nodeInfo', 'hardhat_metadata', 'eth_getAccountInfo', 'evm_snapshot'])(
    'answers the probe %s with −32601',
    async (method) => {
      expect((await post(node.url, { method, params: [] })).error).toEqual({
        code: -32601,
        message: `the method ${method} does not exist/is not available`,
      })
    },
  )

  it('has the CREATE2 deployer and other well-known contracts', async () => {
    for (const address of [
      '0x4e59b44847b379578588920ca78fbf26c0b4956c',
      '0xca11bde05977b3631167028862be2a173976ca11',
      '0x000000000022d473030f116ddee9f6b43ac78ba3',
      '0x0000f90827f1c53a10cb7a02335b175320002935',
      '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
    ]) {
      expect(await ask<Hex>('eth_getCode', address, 'latest')).toMatch(/^0x[0-9a-f]{40,}$/)
    }
  })

  it('gives back a transaction that the tools can decode and sign-check', async () => {
    const block = await until('a block with a transaction', () =>
      ask<{ transactions: { hash: Hex }[] } | null>('eth_getBlockByNumber', '0x1', true),
    )
    expect(Array.isArray(block.transactions)).toBe(true)
    const count = Number(await ask<Hex>('eth_getTransactionCount', account.address, 'latest'))
    expect(count).toBeGreaterThan(0)
    const raw = await account.signTransaction({
      chainId: CHAIN_ID,
      nonce: count,
      gas: 21_000n,
      gasPrice: 2n * 10n ** 9n,
      to: vault,
    })
    // Plain coins to a contract without a receive function: the transaction is valid and reverts.
    const hash = await ask<Hex>('eth_sendRawTransaction', raw)
    expect((await mined(node.url, hash)).status).toBe('0x0')
    const stored = await ask<Hex>('eth_getRawTransactionByHash', hash)
    expect(stored).toBe(raw)
    const decoded = parseTransaction(stored)
    expect(keccak256(serializeTransaction(decoded as never, decoded as never))).toBe(hash)
  })
})

describe('batches', () => {
  it('answers in order, as ethers and explorers need', async () => {
    const requests = Array.from({ length: 500 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: id % 2 === 0 ? 'eth_blockNumber' : 'eth_getBlockByNumber',
      params: id % 2 === 0 ? [] : ['0x1', true],
    }))
    const response = await fetch(node.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(requests),
    })
    const answers = (await response.json()) as { id: number; result?: unknown }[]
    expect(answers.map(({ id }) => id)).toEqual(requests.map(({ id }) => id))
    expect(answers.every(({ result }) => result !== undefined && result !== null)).toBe(true)
  })
})

describe('MetaMask, later', () => {
  it('reads state at the block that its tracker saw 50 blocks ago', async () => {
    const { number, balance } = seen
    await until('50 blocks', async () => Number(await ask('eth_blockNumber')) >= Number(number) + 50, 40_000)
    expect(await ask('eth_getBalance', account.address, number)).toBe(balance)
    const call = { to: NATIVE_TOKEN, data: encodeFunctionData({ abi: ERC20_ABI, functionName: 'symbol' }) }
    expect(await ask('eth_call', call, number)).toMatch(/434f494e0+$/)
  })
})
