import { getAddress, JsonRpcApiProvider, type JsonRpcPayload, type JsonRpcResult, Wallet } from 'ethers'
import {
  createPublicClient,
  createWalletClient,
  custom,
  type EIP1193RequestFn,
  encodeFunctionData,
  parseAbi,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeEach, describe, expect, test } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { ethMethods } from '../../../../src/rpc/eth/methods.ts'
import { RpcError } from '../../../../src/rpc/jsonrpc/errors.ts'
import { createMethodTable } from '../../../../src/rpc/jsonrpc/method.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTER, REVERTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const counter = `0x${'c1'.repeat(20)}` as const
const reverter = `0x${'c2'.repeat(20)}` as const
const methods = createMethodTable(ethMethods)

let node: MemoryNode
let asked: string[]

beforeEach(async () => {
  asked = []
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 20n },
      { address: hexToBytes(counter), nonce: 1n, code: COUNTER },
      { address: hexToBytes(reverter), nonce: 1n, code: REVERTER },
    ],
  })
  await node.produce([])
})

/** Answers as the node would; a transaction that is sent is in a block at once. */
async function request(name: string, params: readonly unknown[]): Promise<unknown> {
  asked.push(name)
  const method = methods.get(name)
  if (method === undefined) throw new RpcError(-32601, `the method ${name} does not exist/is not available`)
  const result = await invoke(method, node.context(), ...params)
  if (name === 'eth_sendRawTransaction') await node.produce()
  return result
}

describe('viem', () => {
  const transport = custom({
    request: (async ({ method, params }: { method: string; params?: readonly unknown[] }) =>
      request(method, params ?? [])) as EIP1193RequestFn,
  })
  const chain = {
    id: 7628,
    name: 'coin',
    nativeCurrency: { name: 'COIN', symbol: 'COIN', decimals: 18 },
    rpcUrls: { default: { http: [] } },
    blockTime: 400,
  }
  const publicClient = createPublicClient({ chain, transport })
  const wallet = createWalletClient({ chain, transport, account: privateKeyToAccount(bytesToHex(alice.privateKey)) })

  test('fills, sends and waits', async () => {
    const hash = await wallet.sendTransaction({ to: counter })
    expect(asked).toContain('eth_fillTransaction')
    expect(asked).not.toContain('eth_estimateGas')
    const receipt = await publicClient.waitForTransactionReceipt({ hash })
    expect(receipt).toMatchObject({ status: 'success', transactionIndex: 0, blockNumber: 2n, type: 'eip1559' })
    expect(receipt.logs).toHaveLength(1)
    expect(await publicClient.getLogs({ address: counter, blockHash: receipt.blockHash })).toHaveLength(1)
    expect(await publicClient.getTransaction({ hash })).toMatchObject({ nonce: 0, chainId: 7628, typeHex: '0x2' })
  })

  test('sends a legacy transaction', async () => {
    const hash = await wallet.sendTransaction({ to: counter, type: 'legacy' })
    const receipt = await publicClient.getTransactionReceipt({ hash })
    expect(receipt).toMatchObject({ status: 'success', type: 'legacy' })
  })

  test('reads blocks, fees and proofs', async () => {
    expect(await publicClient.getBlock({ blockTag: 'pending' })).toMatchObject({ number: 2n, hash: null, nonce: null })
    expect(await publicClient.getBlock({ includeTransactions: true })).toMatchObject({ number: 1n, transactions: [] })
    expect((await publicClient.estimateFeesPerGas()).maxPriorityFeePerGas).toBe(100_000_000n)
    const history = await publicClient.getFeeHistory({ blockCount: 2, rewardPercentiles: [50] })
    expect(history.reward).toEqual([[0n], [0n]])
    expect((await publicClient.getProof({ address: counter, storageKeys: [] })).nonce).toBe(1)
    expect((await publicClient.createAccessList({ to: counter })).accessList).toHaveLength(1)
  })

  test('decodes reverts', async () => {
    const abi = parseAbi(['function Error(string) view'])
    const data = encodeFunctionData({ abi, functionName: 'Error', args: ['nope!'] })
    await expect(publicClient.call({ to: reverter, data })).rejects.toThrow('Execution reverted with reason: nope!')
    const wrong = wallet.sendTransaction({ to: reverter, data })
    await expect(wrong).rejects.toThrow('Execution reverted with reason: nope!')
  })
})

describe('ethers', () => {
  class InProcessProvider extends JsonRpcApiProvider {
    override async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
      const calls = Array.isArray(payload) ? payload : [payload]
      return Promise.all(
        calls.map(async ({ id, method, params }) => {
          try {
            return { id, result: await request(method, params as readonly unknown[]) }
          } catch (error) {
            if (!(error instanceof RpcError)) throw error
            return { id, error: { code: error.code, message: error.message, data: error.data } } as never
          }
        }),
      )
    }
  }

  test('sends, waits, reads blocks and decodes reverts', async () => {
    const provider = new InProcessProvider(7628, { staticNetwork: true, pollingInterval: 10 })
    provider._start()
    const wallet = new Wallet(bytesToHex(alice.privateKey), provider)
    const sent = await wallet.sendTransaction({ to: counter })
    const receipt = await sent.wait()
    expect(receipt).toMatchObject({ status: 1, index: 0, blockNumber: 2 })
    expect(receipt?.logs[0]).toMatchObject({ index: 0, address: getAddress(counter) })
    expect(await provider.getBlock('pending')).toMatchObject({ number: 3, hash: null })
    expect((await provider.getBlock(2, true))?.prefetchedTransactions[0]?.hash).toBe(sent.hash)
    expect((await provider.getFeeData()).maxPriorityFeePerGas).toBe(100_000_000n)
    await expect(provider.call({ to: reverter, data: '0x' })).rejects.toMatchObject({ code: 'CALL_EXCEPTION' })
    provider.destroy()
  })
})
