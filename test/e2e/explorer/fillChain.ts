import { MsgSubmitProposal } from 'cosmjs-types/cosmos/gov/v1/tx'
import { type Abi, createWalletClient, type Hex, http } from 'viem'
import { expect } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import {
  ACCOUNTS,
  COIN,
  ERC20_ABI,
  freshAddress,
  GWEI,
  KEYS,
  NATIVE_TOKEN,
  VAULT_ABI,
  vaultBytecode,
  viemChain,
} from '../devChain.ts'
import { connectCosmJs, getJson } from '../native/nativeChain.ts'
import { mined } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { HOSTILE, HOSTILE_NAME } from './abuse.ts'
import { type FilledEvm, fillEvm } from './evm.ts'
import { fillStaking } from './staking.ts'

/* A chain on which something of everything has happened, for tests of the explorer's API and pages. */

export interface FilledChain {
  /** of {@link SENDER}: the third one failed */
  readonly evmHashes: readonly Hex[]
  /** of {@link STAKER}, who sends, delegates, proposes and votes */
  readonly nativeHash: string
  /** ERC-20, ERC-721, ERC-1155 and WETH9-like */
  readonly tokens: readonly Hex[]
  readonly evm: FilledEvm
}

const account = ACCOUNTS[1]!
export const SENDER = account.address
export const STAKER = ACCOUNTS[2]!.address

const contractOf = (file: string, name: string) => compileContract(file, name) as unknown as { abi: Abi; bytecode: Hex }
export const SAMPLE = contractOf('test/SampleToken.sol', 'SampleToken')
export const NFT = contractOf('test/SampleCollections.sol', 'SampleNft')
export const ITEMS = contractOf('test/SampleCollections.sol', 'SampleItems')
export const WRAPPED = contractOf('WrappedCoin.sol', 'WrappedCoin')

export async function fillChain(node: TestNode): Promise<FilledChain> {
  const transactions = await fillTransactions(node)
  const tokens = await fillTokens(node)
  const evm = await fillEvm(node.url)
  await fillStaking(node)
  return { ...transactions, tokens, evm }
}

/** Transactions of all kinds that move coins. */
async function fillTransactions(node: TestNode): Promise<Pick<FilledChain, 'evmHashes' | 'nativeHash'>> {
  const chain = viemChain(node.url)
  const writer = createWalletClient({ chain, transport: http(node.url), account })
  const creation = await mined(
    node.url,
    await writer.deployContract({ abi: VAULT_ABI, bytecode: vaultBytecode(), args: [7n], value: 3n }),
  )
  const common = { gas: 200_000n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI } as const
  const write = { address: creation.contractAddress!, abi: VAULT_ABI, ...common } as const
  const hashes: Hex[] = []
  hashes.push(await writer.writeContract({ ...write, nonce: 1, functionName: 'deposit', args: ['note'], value: 50n }))
  hashes.push(await writer.writeContract({ ...write, nonce: 2, functionName: 'withdraw', args: [20n] }))
  // More than there is: it fails.
  hashes.push(await writer.writeContract({ ...write, nonce: 3, functionName: 'withdraw', args: [1_000n] }))
  hashes.push(await writer.sendTransaction({ ...common, nonce: 4, to: freshAddress(), value: 9n }))
  hashes.push(
    await writer.writeContract({
      ...common,
      nonce: 5,
      address: NATIVE_TOKEN,
      abi: ERC20_ABI,
      functionName: 'transfer',
      args: [freshAddress(), 5n * COIN],
    }),
  )
  for (const hash of hashes) await mined(node.url, hash)

  const { client, address } = await connectCosmJs(node, KEYS[2]!)
  const { validators } = await getJson(node, '/cosmos/staking/v1beta1/validators')
  const coins = [{ denom: 'acoin', amount: COIN.toString() }]
  const sent = await client.sendTokens(address, toBech32(hexToBytes(freshAddress())), coins, 'auto', HOSTILE)
  await client.delegateTokens(address, validators[0].operator_address, coins[0]!, 'auto')
  await client.withdrawRewards(address, validators[0].operator_address, 'auto')
  const proposer = {
    typeUrl: MsgSubmitProposal.typeUrl,
    value: MsgSubmitProposal.fromPartial({
      title: HOSTILE,
      summary: HOSTILE,
      metadata: 'test',
      proposer: address,
      initialDeposit: [{ denom: 'acoin', amount: String(10n * COIN) }],
    }),
  }
  const proposalId = 1n
  const vote = { typeUrl: '/cosmos.gov.v1.MsgVote', value: { proposalId, voter: address, option: 4, metadata: '' } }
  const half = '0.500000000000000000'
  const weighted = {
    typeUrl: '/cosmos.gov.v1.MsgVoteWeighted',
    value: {
      proposalId,
      voter: address,
      metadata: '',
      options: [
        { option: 1, weight: half },
        { option: 3, weight: half },
      ],
    },
  }
  const deposit = {
    typeUrl: '/cosmos.gov.v1.MsgDeposit',
    value: { proposalId, depositor: address, amount: [{ denom: 'acoin', amount: String(3n * COIN) }] },
  }
  const proposed = await client.signAndBroadcast(address, [proposer, vote, deposit], 'auto')
  expect([proposed.code, proposed.rawLog]).toEqual([0, ''])
  const voted = await client.signAndBroadcast(address, [weighted], 'auto')
  expect([voted.code, voted.rawLog]).toEqual([0, ''])
  client.disconnect()
  return { evmHashes: hashes, nativeHash: sent.transactionHash }
}

/** Tokens of every kind that go from hand to hand. */
async function fillTokens(node: TestNode): Promise<readonly Hex[]> {
  const own = ACCOUNTS[3]!
  const writer = createWalletClient({ chain: viemChain(node.url), transport: http(node.url), account: own })
  const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI } as const
  let nonce = 0
  const creations: Hex[] = []
  for (const [{ abi, bytecode }, args] of [
    [SAMPLE, [HOSTILE_NAME, 'SMPL', 1_000n]],
    [NFT, []],
    [ITEMS, []],
    [WRAPPED, []],
  ] as const) {
    creations.push(await writer.deployContract({ ...fees, abi, bytecode, args, gas: 4_000_000n, nonce: nonce++ }))
  }
  const made: Hex[] = []
  for (const hash of creations) made.push((await mined(node.url, hash)).contractAddress!)
  const [a, b] = [ACCOUNTS[1]!.address, ACCOUNTS[2]!.address]
  const me = own.address
  const hashes: Hex[] = []
  const calls: readonly [number, Abi, string, readonly unknown[], bigint?][] = [
    [0, SAMPLE.abi, 'transfer', [a, 400n]],
    [0, SAMPLE.abi, 'transfer', [b, 600n]],
    [0, SAMPLE.abi, 'transfer', [me, 0n]],
    [1, NFT.abi, 'mint', [me, 1n]],
    [1, NFT.abi, 'mint', [me, 2n]],
    [1, NFT.abi, 'transferFrom', [me, a, 1n]],
    [2, ITEMS.abi, 'mintBatch', [me, [1n, 2n], [10n, 20n]]],
    [2, ITEMS.abi, 'safeBatchTransferFrom', [me, a, [1n, 2n], [10n, 5n], '0x']],
    [2, ITEMS.abi, 'safeTransferFrom', [me, b, 2n, 1n, '0x']],
    [3, WRAPPED.abi, 'deposit', [], 50n],
    [3, WRAPPED.abi, 'withdraw', [20n]],
    [3, WRAPPED.abi, 'transfer', [b, 7n]],
  ]
  for (const [index, abi, functionName, args, value = 0n] of calls) {
    const call = { address: made[index]!, abi, functionName, args, value, gas: 300_000n, nonce: nonce++ }
    hashes.push(await writer.writeContract({ ...fees, ...call }))
  }
  for (const hash of hashes) expect((await mined(node.url, hash)).status).toBe('0x1')
  return made
}
