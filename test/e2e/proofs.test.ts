import { createBlockFromRPC } from '@ethereumjs/block'
import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { MerklePatriciaTrie, verifyMerkleProof } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import type { JSONRPCTx } from '@ethereumjs/tx'
import { bytesToHex, createAccountFromRLP, hexToBytes } from '@ethereumjs/util'
import { Bloom, encodeReceipt } from '@ethereumjs/vm'
import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type GetProofReturnType,
  type Hex,
  http,
  type PublicClient,
  type TransactionReceipt,
  toHex,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ACCOUNTS,
  CHAIN_ID,
  COIN,
  ERC20_ABI,
  freshAddress,
  GWEI,
  NATIVE_TOKEN,
  VAULT_ABI,
  vaultBytecode,
  viemChain,
} from './devChain.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import { mined, rpc, until } from './rpc.ts'
import type { TestNode } from './startNode.ts'

/** How JSON-RPC gives a block with its transactions, as far as it is read here. */
type RpcBlock = Omit<Parameters<typeof createBlockFromRPC>[0], 'transactions'> & {
  readonly hash: Hex
  readonly number: Hex
  readonly transactions: JSONRPCTx[]
}

const common = createCustomCommon({ chainId: CHAIN_ID }, Mainnet, { hardfork: Hardfork.Osaka })
/** slot of `count` in Vault */
const COUNT_SLOT = toHex(1, { size: 32 })
const UNUSED_SLOT = toHex(99, { size: 32 })

const account = ACCOUNTS[1]!
let node: TestNode
let reader: PublicClient
let vault: Hex
/** of a block that holds transactions of all types, some of which fail, and that several logs come from */
let busyBlock: Hex

beforeAll(async () => {
  node = await startQuickDevnet({ environment: { PRUNING: 'archive' } })
  const chain = viemChain(node.url)
  reader = createPublicClient({ chain, transport: http(node.url), pollingInterval: 100 }) as PublicClient
  const writer = createWalletClient({ chain, transport: http(node.url), account })
  const hash = await writer.deployContract({ abi: VAULT_ABI, bytecode: vaultBytecode(), args: [7n] })
  vault = (await reader.waitForTransactionReceipt({ hash })).contractAddress!
  busyBlock = await makeBusyBlock()
})
afterAll(() => node?.stop())

/** Sends one transaction of each kind at once, several times if they do not meet in a block. */
async function makeBusyBlock(): Promise<Hex> {
  const deposit = encodeFunctionData({ abi: VAULT_ABI, functionName: 'deposit', args: ['busy'] })
  const refuse = encodeFunctionData({ abi: VAULT_ABI, functionName: 'refuse' })
  const transfer = encodeFunctionData({ abi: ERC20_ABI, functionName: 'transfer', args: [freshAddress(), 5n] })
  const accessList = [{ address: vault, storageKeys: [COUNT_SLOT] }]
  const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
  return until('a block with all of them', async () => {
    const nonce = await reader.getTransactionCount({ address: account.address })
    const at = (index: number) => ({ chainId: CHAIN_ID, nonce: nonce + index, gas: 200_000n })
    const delegate = privateKeyToAccount(generatePrivateKey())
    const authorization = await delegate.signAuthorization({ address: vault, chainId: CHAIN_ID, nonce: 0 })
    const raws = await Promise.all([
      account.signTransaction({ ...at(0), type: 'legacy', gasPrice: 11n * GWEI, to: freshAddress(), value: COIN }),
      account.signTransaction({
        ...at(1),
        type: 'eip2930',
        gasPrice: 11n * GWEI,
        to: vault,
        data: deposit,
        accessList,
      }),
      account.signTransaction({ ...at(2), type: 'eip1559', ...fees, to: vault, data: deposit, value: 9n }),
      account.signTransaction({ ...at(3), type: 'eip1559', ...fees, to: vault, data: refuse }),
      account.signTransaction({ ...at(4), type: 'eip1559', ...fees, to: NATIVE_TOKEN, data: transfer }),
      account.signTransaction({
        ...at(5),
        type: 'eip7702',
        ...fees,
        to: freshAddress(),
        authorizationList: [authorization],
      }),
    ])
    const hashes = await Promise.all(raws.map((raw) => rpc<Hex>(node.url, 'eth_sendRawTransaction', raw)))
    const receipts = await Promise.all(hashes.map((hash) => mined(node.url, hash)))
    const blocks = new Set(receipts.map(({ blockHash }) => blockHash as Hex))
    return blocks.size === 1 && [...blocks][0]
  })
}

function blockByHash(hash: Hex): Promise<RpcBlock> {
  return rpc<RpcBlock>(node.url, 'eth_getBlockByHash', hash, true)
}

/** Checks a proof from a state root with another implementation of the trie; gives the proven values. */
async function verifiedState(proof: GetProofReturnType, stateRoot: Uint8Array) {
  const leaf = await verifyMerkleProof(hexToBytes(proof.address), proof.accountProof.map(hexToBytes), {
    root: stateRoot,
    useKeyHashing: true,
  })
  const proven = leaf === null ? undefined : createAccountFromRLP(leaf)
  const slots: (bigint | null)[] = []
  for (const { key, proof: nodes } of proof.storageProof) {
    if (nodes.length === 0) {
      slots.push(null)
      continue
    }
    const value = await verifyMerkleProof(hexToBytes(key as Hex), nodes.map(hexToBytes), {
      root: proven!.storageRoot,
      useKeyHashing: true,
    })
    slots.push(value === null ? null : BigInt(bytesToHex(RLP.decode(value) as Uint8Array)))
  }
  return { account: proven, slots }
}

describe('a block, recomputed from what JSON-RPC gives', () => {
  it.each([
    ['the genesis', async () => (await reader.getBlock({ blockNumber: 0n })).hash],
    ['an empty block', async () => (await reader.getBlock({ blockNumber: 1n })).hash],
    ['a block with transactions of all types', async () => busyBlock],
  ] as const)('%s has the hash and the roots that it claims', async (_name, hashOf) => {
    const hash = await hashOf()
    const rpcBlock = await blockByHash(hash)
    const block = createBlockFromRPC(rpcBlock, [], { common })
    expect(bytesToHex(block.hash())).toBe(hash)
    expect(await block.transactionsTrieIsValid()).toBe(true)
    expect(block.transactions.map((transaction) => bytesToHex(transaction.hash()))).toEqual(
      rpcBlock.transactions.map((transaction) => transaction.hash),
    )
    expect(block.transactions.every((transaction) => transaction.verifySignature())).toBe(true)
    expect(bytesToHex(block.serialize())).toBe(await rpc(node.url, 'debug_getRawBlock', rpcBlock.number))
  })

  it('has the receipts root, the bloom and the gas of its receipts', async () => {
    const block = createBlockFromRPC(await blockByHash(busyBlock), [], { common })
    const receipts = await rpc<TransactionReceipt<Hex, number, Hex>[]>(node.url, 'eth_getBlockReceipts', busyBlock)
    expect(new Set(receipts.map(({ type }) => type as string))).toEqual(new Set(['0x0', '0x1', '0x2', '0x4']))
    expect(receipts.map(({ status }) => status as string)).toContain('0x0')
    const blockBloom = new Bloom()
    const trie = new MerklePatriciaTrie()
    for (const [index, receipt] of receipts.entries()) {
      const bloom = new Bloom()
      for (const { address, topics } of receipt.logs) {
        for (const item of [address, ...topics]) bloom.add(hexToBytes(item))
      }
      expect(receipt.logsBloom).toBe(bytesToHex(bloom.bitvector))
      blockBloom.or(bloom)
      const encoded = encodeReceipt(
        {
          status: (receipt.status as string) === '0x1' ? 1 : 0,
          cumulativeBlockGasUsed: BigInt(receipt.cumulativeGasUsed),
          bitvector: bloom.bitvector,
          logs: receipt.logs.map(({ address, topics, data }) => [
            hexToBytes(address),
            topics.map((topic) => hexToBytes(topic)),
            hexToBytes(data),
          ]),
        },
        Number(receipt.type) as Parameters<typeof encodeReceipt>[1],
      )
      await trie.put(RLP.encode(index), encoded)
    }
    expect(bytesToHex(trie.root())).toBe(bytesToHex(block.header.receiptTrie))
    expect(bytesToHex(blockBloom.bitvector)).toBe(bytesToHex(block.header.logsBloom))
    expect(BigInt(receipts.at(-1)!.cumulativeGasUsed)).toBe(block.header.gasUsed)
    expect(receipts.flatMap(({ logs }) => logs.map(({ logIndex }) => Number(logIndex)))).toEqual(
      receipts.flatMap(({ logs }) => logs).map((_, index) => index),
    )
  })

  it('names the consensus header before it, and is named by the one after it', async () => {
    const { result } = (await (await fetch(new URL('/rpc/status', node.url))).json()) as {
      result: { sync_info: { latest_app_hash: string; latest_block_hash: string; latest_block_height: string } }
    }
    const { latest_app_hash, latest_block_hash, latest_block_height } = result.sync_info
    const height = BigInt(latest_block_height)
    const before = await reader.getBlock({ blockNumber: height - 1n })
    expect(`0x${latest_app_hash.toLowerCase()}`).toBe(before.hash)
    await until('the next block', async () => (await reader.getBlockNumber({ cacheTime: 0 })) > height)
    const next = await reader.getBlock({ blockNumber: height + 1n })
    expect(next.parentBeaconBlockRoot).toBe(`0x${latest_block_hash.toLowerCase()}`)
    expect(next.parentHash).toBe((await reader.getBlock({ blockNumber: height })).hash)
  })
})

describe('eth_getProof, verified by another implementation up to the block hash', () => {
  /** The state root of a block, taken from its recomputed header. */
  async function stateRootOf(blockNumber: bigint): Promise<Uint8Array> {
    const { hash } = await reader.getBlock({ blockNumber })
    const block = createBlockFromRPC(await blockByHash(hash), [], { common })
    expect(bytesToHex(block.hash())).toBe(hash)
    return block.header.stateRoot
  }

  it('proves accounts and storage at the head', async () => {
    const blockNumber = await reader.getBlockNumber()
    const root = await stateRootOf(blockNumber)
    const storageKeys = [COUNT_SLOT, UNUSED_SLOT] as const
    const proof = await reader.getProof({ address: vault, storageKeys: [...storageKeys], blockNumber })
    const proven = await verifiedState(proof, root)
    const count = await reader.readContract({ address: vault, abi: VAULT_ABI, functionName: 'count', blockNumber })
    expect(count).toBeGreaterThan(7n)
    expect(proven.slots).toEqual([count, null])
    expect(proof.storageProof.map(({ value }) => value)).toEqual([count, 0n])
    expect(proven.account).toMatchObject({ nonce: 1n, balance: proof.balance })
    expect(bytesToHex(proven.account!.storageRoot)).toBe(proof.storageHash)
    expect(bytesToHex(proven.account!.codeHash)).toBe(proof.codeHash)
  })

  it('proves what was there at each block before', async () => {
    const head = await reader.getBlockNumber()
    const counts: bigint[] = []
    for (let blockNumber = 0n; blockNumber <= head; blockNumber++) {
      const root = await stateRootOf(blockNumber)
      const proof = await reader.getProof({ address: vault, storageKeys: [COUNT_SLOT], blockNumber })
      const { account: contract, slots } = await verifiedState(proof, root)
      const sender = await reader.getProof({ address: account.address, storageKeys: [], blockNumber })
      const { account: provenSender } = await verifiedState(sender, root)
      expect(provenSender).toMatchObject({
        balance: await reader.getBalance({ address: account.address, blockNumber }),
        nonce: BigInt(await reader.getTransactionCount({ address: account.address, blockNumber })),
      })
      expect(contract === undefined).toBe((await reader.getCode({ address: vault, blockNumber })) === undefined)
      if (contract !== undefined) counts.push(slots[0]!)
    }
    expect(counts[0]).toBe(7n)
    expect(counts.at(-1)).toBeGreaterThan(7n)
    expect(counts).toEqual(counts.toSorted((a, b) => Number(a - b)))
  })

  it('proves absence, and the account of the native token', async () => {
    const blockNumber = await reader.getBlockNumber()
    const root = await stateRootOf(blockNumber)
    const absent = await reader.getProof({ address: freshAddress(), storageKeys: [COUNT_SLOT], blockNumber })
    expect(await verifiedState(absent, root)).toEqual({ account: undefined, slots: [null] })
    expect(absent).toMatchObject({ balance: 0n, nonce: 0 })
    const token = await reader.getProof({ address: NATIVE_TOKEN, storageKeys: [], blockNumber })
    expect((await verifiedState(token, root)).account).toMatchObject({ nonce: 1n })
  })

  it('does not verify against another root', async () => {
    const blockNumber = await reader.getBlockNumber()
    const proof = await reader.getProof({ address: account.address, storageKeys: [], blockNumber })
    await expect(verifiedState(proof, await stateRootOf(0n))).rejects.toThrow()
  })
})
