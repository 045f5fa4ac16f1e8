import {
  type Abi,
  createPublicClient,
  createWalletClient,
  decodeEventLog,
  getAddress,
  type Hex,
  http,
  type PublicClient,
  type TransactionReceipt,
} from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { COSMJS_SIGNERS, signWithCosmJs } from '../../native/cosmJsSigners.ts'
import { ACCOUNTS, COIN, GWEI, KEYS, viemChain } from '../devChain.ts'
import { rpc } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { broadcast } from './broadcast.ts'
import { getJson, startNativeChain } from './nativeChain.ts'
import { runCli } from './runCli.ts'

const [OWNER, USER, OTHER] = [0, 1, 2] as const
const STAKING: Hex = '0x0000000000000000000000000000000000000800'
const DISTRIBUTION: Hex = '0x0000000000000000000000000000000000000801'
const GAS = 3_000_000n
const vaultContract = compileContract('examples/StakingVault.sol', 'StakingVault')
const stakingAbi = compileContract('IStaking.sol', 'IStaking').abi as Abi
const distributionAbi = compileContract('IDistribution.sol', 'IDistribution').abi as Abi
const abi = vaultContract.abi as Abi
const validator = toBech32(hexToBytes(ACCOUNTS[OWNER]!.address), 'coinvaloper')

let node: TestNode
let viem: PublicClient
let vault: Hex
let vaultBech32: string

beforeAll(async () => {
  node = await startNativeChain(({ staking }) => {
    staking.params.unbonding_time = '6s'
  })
  viem = createPublicClient({ chain: viemChain(node.url), transport: http(node.url), pollingInterval: 100 })
  const owner = walletOf(OWNER)
  const deployed = await owner.deployContract({ abi, bytecode: vaultContract.bytecode, args: [validator], gas: GAS })
  vault = (await viem.waitForTransactionReceipt({ hash: deployed })).contractAddress!
  vaultBech32 = toBech32(hexToBytes(vault))
  const funded = await Promise.all(
    [USER, OTHER].map(async (index, offset) =>
      owner.sendTransaction({
        to: ACCOUNTS[index]!.address,
        value: 1_000_000n * COIN,
        gas: 21_000n,
        nonce: (await viem.getTransactionCount({ address: ACCOUNTS[OWNER]!.address })) + offset,
      }),
    ),
  )
  await Promise.all(funded.map((hash) => viem.waitForTransactionReceipt({ hash })))
})
afterAll(() => node?.stop())

function walletOf(index: number) {
  return createWalletClient({ account: ACCOUNTS[index]!, chain: viemChain(node.url), transport: http(node.url) })
}

/** Calls the vault in a transaction. */
async function send(index: number, functionName: string, args: readonly unknown[] = [], value = 0n) {
  const { account } = walletOf(index)
  const estimated = await viem.estimateContractGas({ address: vault, abi, functionName, args, value, account })
  // The fees of the block before are in it, so it is enough to the unit.
  const gas = estimated
  const hash = await walletOf(index).writeContract({ address: vault, abi, functionName, args, value, gas })
  const receipt = await viem.waitForTransactionReceipt({ hash })
  expect(receipt.status).toBe('success')
  expect(estimated).toBeLessThan((receipt.gasUsed * 15n) / 10n)
  return receipt
}

const read = (functionName: string, args: readonly unknown[] = [], blockNumber?: bigint): Promise<unknown> =>
  viem.readContract({ address: vault, abi, functionName, args, ...(blockNumber !== undefined && { blockNumber }) })

/** Stake of the vault, which all three ways must tell alike. */
async function delegated(): Promise<bigint> {
  const { delegation_response } = await getJson(
    node,
    `/cosmos/staking/v1beta1/validators/${validator}/delegations/${vaultBech32}`,
  )
  const byRest = BigInt(delegation_response?.balance.amount ?? 0)
  expect(await read('delegated')).toBe(byRest)
  const call = { address: STAKING, abi: stakingAbi, functionName: 'delegation', args: [vault, validator] } as const
  const [, balance] = (await viem.readContract(call)) as [bigint, { readonly amount: bigint }]
  expect(balance.amount).toBe(byRest)
  return byRest
}

async function pool(height?: bigint): Promise<{ readonly bonded: bigint; readonly notBonded: bigint }> {
  const { pool: found } = await getJson(node, '/cosmos/staking/v1beta1/pool', height)
  return { bonded: BigInt(found.bonded_tokens), notBonded: BigInt(found.not_bonded_tokens) }
}

/** The traces of a transaction must be of what happened. */
async function expectTraces({ transactionHash, gasUsed, from, status }: TransactionReceipt): Promise<CallFrame> {
  const frame = await rpc<CallFrame>(node.url, 'debug_traceTransaction', transactionHash, { tracer: 'callTracer' })
  expect(BigInt(frame.gasUsed)).toBe(gasUsed)
  expect(frame.error === undefined).toBe(status === 'success')
  const before = await rpc<Record<string, PrestateAccount>>(node.url, 'debug_traceTransaction', transactionHash, {
    tracer: 'prestateTracer',
  })
  const sender = before[from.toLowerCase()]!
  const transaction = await viem.getTransaction({ hash: transactionHash })
  expect(sender.nonce ?? 0).toBe(transaction.nonce)
  const diff = await rpc<{ readonly pre: object; readonly post: Record<string, PrestateAccount> }>(
    node.url,
    'debug_traceTransaction',
    transactionHash,
    { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  )
  expect(diff.post[from.toLowerCase()]?.nonce).toBe(transaction.nonce + 1)
  return frame
}
interface CallFrame {
  readonly to?: Hex
  readonly gasUsed: Hex
  readonly error?: string
  readonly calls?: readonly CallFrame[]
}
interface PrestateAccount {
  readonly nonce?: number
  readonly balance?: Hex
}
const calledBy = (frame: CallFrame): readonly (string | undefined)[] =>
  (frame.calls ?? []).flatMap((call) => [call.to, ...calledBy(call)])

describe('a vault that stakes for its users', () => {
  it('delegates what two users deposit', async () => {
    const before = await pool()
    const first = await send(USER, 'deposit', [], 300_000n * COIN)
    await send(OTHER, 'deposit', [], 100_000n * COIN)
    expect(await delegated()).toBe(400_000n * COIN)
    expect(await pool()).toEqual({ ...before, bonded: before.bonded + 400_000n * COIN })
    expect(await viem.getBalance({ address: vault, blockNumber: first.blockNumber })).toBe(0n)
    expect(calledBy(await expectTraces(first))).toContain(STAKING)
    // As it was in the blocks before and after
    expect(await read('delegated', [], first.blockNumber)).toBe(300_000n * COIN)
    expect(await read('delegated', [], first.blockNumber - 1n)).toBe(0n)

    const logs = await viem.getLogs({ address: STAKING, fromBlock: first.blockNumber, toBlock: first.blockNumber })
    const events = logs.map(({ data, topics }) => decodeEventLog({ abi: stakingAbi, data, topics }))
    expect(events).toMatchObject([
      { eventName: 'Delegate', args: { delegatorAddress: getAddress(vault), amount: 300_000n * COIN } },
    ])
    const { tx_responses } = await getJson(
      node,
      `/cosmos/tx/v1beta1/txs?query=${encodeURIComponent(`delegate.delegator='${vaultBech32}'`)}`,
    )
    expect(tx_responses.map(({ height }: { height: string }) => height)).toContain(`${first.blockNumber}`)
  })

  it('shares the rewards of fees by stake', async () => {
    const owner = walletOf(OWNER)
    const paid = await owner.sendTransaction({
      to: ACCOUNTS[OTHER]!.address,
      value: 1n,
      gas: 21_000n,
      gasPrice: 1_000n * GWEI,
    })
    const { blockNumber } = await viem.waitForTransactionReceipt({ hash: paid })
    // The fee is shared out in the next block; after that nothing changes while the answers are compared.
    await expect.poll(() => viem.getBlockNumber(), { timeout: 20_000 }).toBeGreaterThan(blockNumber)
    const shares = async () => Promise.all([USER, OTHER].map((index) => read('rewardsOf', [ACCOUNTS[index]!.address])))
    await expect
      .poll(async () => (await shares()).every((each) => (each as bigint) > 0n), { timeout: 20_000 })
      .toBe(true)

    const rest = await getJson(node, `/cosmos/distribution/v1beta1/delegators/${vaultBech32}/rewards/${validator}`)
    const call = { address: DISTRIBUTION, abi: distributionAbi, functionName: 'delegationRewards' } as const
    const [reward] = (await viem.readContract({ ...call, args: [vault, validator] })) as [{ readonly amount: bigint }]
    expect(reward.amount).toBe(BigInt(rest.rewards[0].amount.split('.')[0]))

    const before = await viem.getBalance({ address: ACCOUNTS[USER]!.address })
    const claimed = await send(USER, 'claim')
    const fee = claimed.gasUsed * claimed.effectiveGasPrice
    const received = (await viem.getBalance({ address: ACCOUNTS[USER]!.address })) - before + fee
    expect(received).toBeGreaterThan(0n)
    const claims = await viem.getLogs({
      address: DISTRIBUTION,
      fromBlock: claimed.blockNumber,
      toBlock: claimed.blockNumber,
    })
    const [event] = claims.map(({ data, topics }) => decodeEventLog({ abi: distributionAbi, data, topics }))
    const { amount } = event!.args as unknown as { readonly amount: bigint }
    // Of all that was earned since the second deposit, 3 in 4.
    expect(received).toBeGreaterThanOrEqual((amount * 3n) / 4n)
    expect(await viem.getBalance({ address: vault, blockNumber: claimed.blockNumber })).toBe(
      await read('rewardsHeld', [], claimed.blockNumber),
    )
    expect(calledBy(await expectTraces(claimed))).toContain(DISTRIBUTION)
  })

  it('pays stake back after the unbonding time', async () => {
    const amount = 50_000n * COIN
    const asked = await send(USER, 'requestWithdrawal', [amount])
    expect(await delegated()).toBe(350_000n * COIN)
    const [withdrawal] = (await read('withdrawalsOf', [ACCOUNTS[USER]!.address])) as [{ readonly readyAt: bigint }]
    const { unbonding_responses } = await getJson(
      node,
      `/cosmos/staking/v1beta1/delegators/${vaultBech32}/unbonding_delegations`,
      asked.blockNumber,
    )
    const [entry] = unbonding_responses[0].entries
    expect(entry).toMatchObject({ balance: amount.toString(), creation_height: asked.blockNumber.toString() })
    expect(withdrawal.readyAt).toBe(BigInt(Math.floor(Date.parse(entry.completion_time) / 1000)))
    const { notBonded } = await pool(asked.blockNumber)
    expect(notBonded).toBe(amount)
    await expectTraces(asked)

    await expect.poll(async () => (await pool()).notBonded, { timeout: 30_000, interval: 200 }).toBe(0n)
    await expect
      .poll(async () => (await viem.getBlock()).timestamp > withdrawal.readyAt, { timeout: 20_000, interval: 200 })
      .toBe(true)
    const before = await viem.getBalance({ address: ACCOUNTS[USER]!.address })
    const claimed = await send(USER, 'claim')
    const fee = claimed.gasUsed * claimed.effectiveGasPrice
    expect((await viem.getBalance({ address: ACCOUNTS[USER]!.address })) - before + fee).toBeGreaterThanOrEqual(amount)
    expect(await read('withdrawalsOf', [ACCOUNTS[USER]!.address])).toEqual([])
  })

  it('leaves nothing behind of a call that fails and is caught', async () => {
    const before = { pool: await pool(), stake: await delegated() }
    // A delegation of nothing is refused.
    const refunded = await send(USER, 'depositOrRefund')
    const events = refunded.logs.map(({ address, data, topics }) =>
      address === vault ? decodeEventLog({ abi, data, topics }) : undefined,
    )
    expect(events).toContainEqual(expect.objectContaining({ eventName: 'Refunded' }))
    expect(refunded.logs.filter(({ address }) => address === STAKING)).toEqual([])
    expect({ pool: await pool(), stake: await delegated() }).toEqual(before)
    const frame = await expectTraces(refunded)
    const failed = frame.calls?.find(({ to }) => to === STAKING)
    expect(failed?.error).toBe('execution reverted')
  })

  it('leaves nothing behind of a call that succeeds and is undone', async () => {
    const before = { pool: await pool(), stake: await delegated() }
    const simulated = await send(USER, 'simulateDeposit', [], 7n * COIN)
    expect({ pool: await pool(), stake: await delegated() }).toEqual(before)
    expect(simulated.logs.filter(({ address }) => address === STAKING)).toEqual([])
    const call = { address: vault, abi, functionName: 'simulateDeposit', account: ACCOUNTS[USER]!, value: 7n * COIN }
    const { result } = await viem.simulateContract(call)
    expect(result).toBe(before.stake + 7n * COIN)
    await expectTraces(simulated)
  })

  it('fails as a whole where nobody catches', async () => {
    const before = { pool: await pool(), stake: await delegated() }
    const call = { address: vault, abi, functionName: 'deposit', value: 0n, account: ACCOUNTS[USER]! } as const
    await expect(viem.simulateContract(call)).rejects.toThrow('invalid delegation amount')
    await expect(viem.estimateContractGas(call)).rejects.toThrow('invalid delegation amount')
    const hash = await walletOf(USER).writeContract({ ...call, gas: GAS })
    const receipt = await viem.waitForTransactionReceipt({ hash })
    expect(receipt).toMatchObject({ status: 'reverted', logs: [] })
    expect({ pool: await pool(), stake: await delegated() }).toEqual(before)
    await expectTraces(receipt)
  })
})

it('a block with native transactions before it is replayed as it was', async () => {
  const acoin = (amount: bigint) => ({ denom: 'acoin', amount: amount.toString() })
  const owner = toBech32(hexToBytes(ACCOUNTS[OWNER]!.address))
  const user = toBech32(hexToBytes(ACCOUNTS[USER]!.address))
  const delegation = {
    typeUrl: '/cosmos.staking.v1beta1.MsgDelegate',
    value: { delegatorAddress: owner, validatorAddress: validator, amount: acoin(1_000n * COIN) },
  }
  const payment = {
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: { fromAddress: owner, toAddress: user, amount: [acoin(5n * COIN)] },
  }
  const signer = await COSMJS_SIGNERS.directEthSecp256k1(hexToBytes(KEYS[OWNER]!))
  for (let attempt = 0; ; attempt++) {
    const sequence = await viem.getTransactionCount({ address: ACCOUNTS[OWNER]!.address })
    const fee = { amount: [acoin(500_000n * 100n * GWEI)], gas: '500000' }
    const raw = await signWithCosmJs(signer, [delegation, payment], { sequence, fee })
    const deposit = { address: vault, abi, functionName: 'deposit', value: 11n * COIN, gas: GAS } as const
    const fees = { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: GWEI }
    // The native transaction pays more for its gas, so it comes first.
    const [native, hash] = await Promise.all([
      broadcast(node, raw),
      walletOf(USER).writeContract({ ...deposit, ...fees }),
    ])
    expect(native.code).toBe(0)
    const receipt = await viem.waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('success')
    if (Number(receipt.blockNumber) !== native.height && attempt < 10) continue
    expect(Number(receipt.blockNumber)).toBe(native.height)

    const { block } = await getJson(node, `/cosmos/base/tendermint/v1beta1/blocks/${native.height}`)
    const position = block.data.txs.indexOf(Buffer.from(raw).toString('base64'))
    expect(position).toBe(0)
    expect(block.data.txs).toHaveLength(2)
    const frame = await expectTraces(receipt)
    expect(frame.error).toBeUndefined()
    const traces = await rpc<readonly { readonly txHash: Hex; readonly result: CallFrame }[]>(
      node.url,
      'debug_traceBlockByNumber',
      `0x${native.height.toString(16)}`,
      { tracer: 'callTracer' },
    )
    expect(traces.map(({ txHash, result }) => [txHash, BigInt(result.gasUsed)])).toEqual([[hash, receipt.gasUsed]])
    // The user’s balance as the transaction found it: with the payment of the native one.
    const before = await rpc<Record<string, PrestateAccount>>(node.url, 'debug_traceTransaction', hash, {
      tracer: 'prestateTracer',
    })
    const parent = await viem.getBalance({ address: ACCOUNTS[USER]!.address, blockNumber: receipt.blockNumber - 1n })
    expect(BigInt(before[ACCOUNTS[USER]!.address.toLowerCase()]!.balance!)).toBe(parent + 5n * COIN)
    break
  }
  await delegated()
})

it('the data directory keeps all invariants', async () => {
  const { code, output, error } = await runCli(node.url, ['debug', 'invariants', '--homedir', node.homedir])
  expect([code, error]).toEqual([0, ''])
  expect(output).toContain('all invariants hold')
})
