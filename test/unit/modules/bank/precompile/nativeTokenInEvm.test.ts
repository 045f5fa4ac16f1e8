import { secp256k1 } from '@noble/curves/secp256k1.js'
import {
  type Abi,
  concat,
  decodeErrorResult,
  decodeFunctionResult,
  encodeDeployData,
  encodeErrorResult,
  encodeFunctionData,
  getAddress,
  type Hex,
  maxUint256,
  pad,
  toHex,
} from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { compileContract } from '../../../../../contracts/compile.ts'
import { intrinsicGas } from '../../../../../src/evm/intrinsicGas.ts'
import type { AppliedTransaction } from '../../../../../src/evm/transition.ts'
import { NATIVE_TOKEN_GAS } from '../../../../../src/modules/bank/precompile/nativeToken.ts'
import { BONDED_POOL } from '../../../../../src/modules/moduleAccounts.ts'
import { toBech32 } from '../../../../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../../src/primitives/hash.ts'
import { encodeRLP } from '../../../../../src/primitives/rlp.ts'
import {
  CHAIN_ID,
  createMemoryChain,
  hexLogs,
  type MemoryChain,
  type MemoryChainOptions,
  TOKEN,
} from '../../../../support/precompiles/memoryChain.ts'
import { nativeTokenAbi as abi } from '../../../../support/precompiles/nativeTokenAbi.ts'

const COIN = 10n ** 18n
const ALICE: Hex = '0xa11ce00000000000000000000000000000000001'
const BOB: Hex = '0xb0b0000000000000000000000000000000000002'
const CALLER = compileContract('test/TokenCaller.sol', 'TokenCaller')
const callerAbi = CALLER.abi as unknown as Abi

const transfer = (to: Hex, value: bigint) => encodeFunctionData({ abi, functionName: 'transfer', args: [to, value] })

const POOL = getAddress(bytesToHex(BONDED_POOL))

function chain(options: MemoryChainOptions = {}): MemoryChain {
  return createMemoryChain({ balances: { [ALICE]: 1000n * COIN }, ...options })
}

/** Deploys a TokenCaller that holds `value` and sends `amount` of it to Bob in its constructor. */
async function deployCaller(evm: MemoryChain, value: bigint, amount = 0n): Promise<Hex> {
  const data = encodeDeployData({ abi: callerAbi, bytecode: CALLER.bytecode, args: [TOKEN, BOB, amount] })
  const outcome = await evm.send({ from: ALICE, data, value })
  expect(outcome.status).toBe('success')
  return bytesToHex(outcome.createdAddress!)
}

function callOf(functionName: string, ...args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: callerAbi, functionName, args })
}

function resultOf(functionName: string, outcome: AppliedTransaction): unknown {
  expect(outcome.status).toBe('success')
  return decodeFunctionResult({ abi: callerAbi, functionName, data: bytesToHex(outcome.output) })
}

const transferLog = (from: Hex, to: Hex, amount: bigint) => ({
  address: TOKEN,
  topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', pad(from), pad(to)],
  data: pad(toHex(amount)),
})

function expectConserved(evm: MemoryChain, supply = 1000n * COIN): void {
  expect([evm.sumOfBalances(), evm.supply()]).toEqual([supply, supply])
}

describe('called by a transaction', () => {
  it('transfer costs the intrinsic gas and its fixed price, and leaves one log', async () => {
    const evm = chain()
    const data = transfer(BOB, 3n * COIN)
    const intrinsic = intrinsicGas(
      { to: new Uint8Array(20), data: hexToBytes(data), accessList: [], authorizationList: [] },
      'osaka',
    )
    const outcome = await evm.send({ from: ALICE, to: TOKEN, data })
    expect(outcome.gasUsed).toBe(intrinsic + NATIVE_TOKEN_GAS.transfer)
    expect(hexLogs(outcome.logs)).toEqual([transferLog(ALICE, BOB, 3n * COIN)])
    expect(evm.balance(BOB)).toBe(3n * COIN)
    expectConserved(evm)
  })

  it('runs with exactly the gas it uses, and not with one less', async () => {
    const evm = chain()
    const { gasUsed } = await evm.call({ from: ALICE, to: TOKEN, data: transfer(BOB, 1n) })
    expect((await evm.call({ from: ALICE, to: TOKEN, data: transfer(BOB, 1n), gas: gasUsed })).status).toBe('success')
    const short = await evm.call({ from: ALICE, to: TOKEN, data: transfer(BOB, 1n), gas: gasUsed - 1n })
    expect(short).toMatchObject({ status: 'failure', failure: 'out of gas', gasUsed: gasUsed - 1n })
  })

  it('sent value comes back, whatever the calldata', async () => {
    const evm = chain()
    for (const data of ['0x', '0xd0e30db0', '0x12345678'] as const) {
      const before = evm.balance(ALICE)
      const { gasUsed, effectiveGasPrice, logs } = await evm.send({ from: ALICE, to: TOKEN, data, value: 5n * COIN })
      expect(evm.balance(ALICE)).toBe(before - gasUsed * effectiveGasPrice)
      expect(logs).toHaveLength(1)
    }
    expect(evm.balance(TOKEN)).toBe(0n)
    expectConserved(evm)
  })

  it('value with a function that is not payable reverts and stays with the sender', async () => {
    const evm = chain()
    const outcome = await evm.send({ from: ALICE, to: TOKEN, data: transfer(BOB, 1n), value: 1n })
    expect(outcome).toMatchObject({ status: 'revert', logs: [] })
    expect([evm.balance(BOB), evm.balance(TOKEN)]).toEqual([0n, 0n])
    expectConserved(evm)
  })

  it('the upfront price of gas is not there to be transferred', async () => {
    const evm = chain()
    const outcome = await evm.send({ from: ALICE, to: TOKEN, data: transfer(BOB, 1000n * COIN) })
    expect(outcome.status).toBe('revert')
    const error = decodeErrorResult({ abi, data: bytesToHex(outcome.output) })
    expect(error.errorName).toBe('ERC20InsufficientBalance')
    expectConserved(evm)
  })

  it('the account of the token keeps its nonce and code, and no call empties it', async () => {
    const evm = chain()
    await evm.send({ from: ALICE, to: TOKEN })
    expect([evm.nonce(TOKEN), evm.code(TOKEN)]).toEqual([1n, '0x00'])
  })
})

describe('called by contracts', () => {
  it('balances agree before and after a transfer within one frame', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, 10n * COIN)
    const outcome = await evm.send({ from: ALICE, to: caller, data: callOf('sendAndCompare', BOB, 4n * COIN) })
    expect(resultOf('sendAndCompare', outcome)).toEqual([10n * COIN, 6n * COIN])
    expect(hexLogs(outcome.logs)).toEqual([transferLog(caller, BOB, 4n * COIN)])
    expectConserved(evm)
  })

  it('a constructor can transfer what the creation brought', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, 10n * COIN, 4n * COIN)
    expect([evm.balance(caller), evm.balance(BOB)]).toEqual([6n * COIN, 4n * COIN])
    expectConserved(evm)
  })

  it('deposit, withdraw and a plain call leave a contract with what it had', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, 10n * COIN)
    const outcome = await evm.send({ from: ALICE, to: caller, data: callOf('wrapAndUnwrap', 7n * COIN) })
    expect(outcome.status).toBe('success')
    expect(outcome.logs).toHaveLength(3)
    expect([evm.balance(caller), evm.balance(TOKEN)]).toEqual([10n * COIN, 0n])
  })

  it('a revert in a nested call undoes coins and logs', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, 10n * COIN)
    const outcome = await evm.send({ from: ALICE, to: caller, data: callOf('catchRevert', BOB, 4n * COIN) })
    expect(outcome).toMatchObject({ status: 'success', logs: [] })
    expect([evm.balance(caller), evm.balance(BOB)]).toEqual([10n * COIN, 0n])
    expectConserved(evm)
  })

  it('gives a contract the custom error, and the refusals as text', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, COIN)
    const tried = await evm.call({ from: ALICE, to: caller, data: callOf('tryTransfer', BOB, 2n * COIN) })
    const args = [getAddress(caller), COIN, 2n * COIN] as const
    expect(resultOf('tryTransfer', tried)).toEqual([
      false,
      encodeErrorResult({ abi, errorName: 'ERC20InsufficientBalance', args }),
    ])
    for (const [functionName, text] of [
      ['staticTransfer', 'write protection'],
      ['delegateTransfer', 'delegated call to a precompile'],
    ] as const) {
      const outcome = await evm.call({ from: ALICE, to: caller, data: callOf(functionName, BOB, 1n) })
      const [ok, data] = resultOf(functionName, outcome) as [boolean, Hex]
      expect([ok, decodeErrorResult({ abi: [], data }).args]).toEqual([false, [text]])
    }
  })

  it('CALLCODE is refused and the value stays', async () => {
    // CALLCODE(gas, token, 1, 0, 0, 0, 0): its success in memory word 0
    const code = concat(['0x5f5f5f5f600173', TOKEN, '0x5af25f5260205ff3'])
    const evm = chain({ code: { [BOB]: code }, balances: { [ALICE]: 999n * COIN, [BOB]: COIN } })
    const outcome = await evm.send({ from: ALICE, to: BOB })
    expect(outcome).toMatchObject({ status: 'success', output: new Uint8Array(32), logs: [] })
    expect([evm.balance(BOB), evm.balance(TOKEN)]).toEqual([COIN, 0n])
  })

  it('an allowance given and spent across transactions stays in storage', async () => {
    const evm = chain()
    const approve = encodeFunctionData({ abi, functionName: 'approve', args: [BOB, 9n * COIN] })
    await evm.send({ from: ALICE, to: BOB, value: COIN })
    await evm.send({ from: ALICE, to: TOKEN, data: approve })
    const spend = encodeFunctionData({ abi, functionName: 'transferFrom', args: [ALICE, BOB, 4n * COIN] })
    expect((await evm.send({ from: BOB, to: TOKEN, data: spend })).logs).toHaveLength(2)
    const query = encodeFunctionData({ abi, functionName: 'allowance', args: [ALICE, BOB] })
    const { output } = await evm.call({ from: BOB, to: TOKEN, data: query })
    expect(bytesToBigInt(output)).toBe(5n * COIN)
    expectConserved(evm)
  })
})

describe('the account of a module', () => {
  it('takes no coins from a transaction, which reverts with the reason and pays for its gas', async () => {
    const evm = chain()
    const outcome = await evm.send({ from: ALICE, to: POOL, value: 5n })
    expect(outcome).toMatchObject({ status: 'revert', gasUsed: 21_000n })
    expect(decodeErrorResult({ abi: [], data: bytesToHex(outcome.output) }).args).toEqual([
      `${toBech32(BONDED_POOL)} is not allowed to receive funds: unauthorized`,
    ])
    expect(evm.balance(POOL)).toBe(0n)
    expect(evm.sumOfBalances()).toBe(evm.supply())
    expect(await evm.send({ from: ALICE, to: POOL })).toMatchObject({ status: 'success', gasUsed: 21_000n })
  })

  it('takes them from no call of a contract either, only from a self-destruct', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, 10n)
    const tried = await evm.send({ from: ALICE, to: caller, data: callOf('tryTransfer', POOL, 1n) })
    expect(resultOf('tryTransfer', tried)).toMatchObject([false, expect.stringMatching(/^0x/)])
    expect(evm.balance(POOL)).toBe(0n)
    await evm.send({ from: ALICE, to: caller, data: callOf('destroyInto', POOL) })
    expect(evm.balance(POOL)).toBe(10n)
  })
})

describe('coins that reach the token without a call', () => {
  it('by self-destruct: they stay, and count', async () => {
    const evm = chain()
    const caller = await deployCaller(evm, 3n * COIN)
    expect((await evm.send({ from: ALICE, to: caller, data: callOf('destroyInto', TOKEN) })).status).toBe('success')
    expect([evm.balance(TOKEN), evm.balance(caller)]).toEqual([3n * COIN, 0n])
    await evm.send({ from: ALICE, to: TOKEN, value: COIN })
    expect(evm.balance(TOKEN)).toBe(3n * COIN)
    expectConserved(evm)
  })

  it('as block rewards, with the token as coinbase', async () => {
    const evm = chain({ feesTo: hexToBytes(TOKEN), coinbase: hexToBytes(TOKEN) })
    const { gasUsed, effectiveGasPrice } = await evm.send({ from: ALICE, to: TOKEN, data: transfer(BOB, COIN) })
    expect(evm.balance(TOKEN)).toBe(gasUsed * effectiveGasPrice)
    expectConserved(evm)
  })

  it('as a creation that destroys itself in favour of itself, they are burnt and the supply falls', async () => {
    const evm = chain()
    // ADDRESS SELFDESTRUCT as init code
    expect((await evm.send({ from: ALICE, data: '0x30ff', value: 2n * COIN })).burns).toMatchObject([
      { amountAcoin: 2n * COIN },
    ])
    expectConserved(evm, 998n * COIN)
  })
})

describe('delegation to the token (EIP-7702)', () => {
  it('is empty code: nothing runs', async () => {
    const key = keccak256(new TextEncoder().encode('an authority'))
    const authority = privateKeyToAddress(bytesToHex(key)).toLowerCase() as Hex
    const address = hexToBytes(TOKEN)
    const message = Uint8Array.of(5, ...encodeRLP([CHAIN_ID, address, 0n]))
    const signature = secp256k1.sign(keccak256(message), key, { prehash: false, format: 'recovered', lowS: true })
    const authorization = {
      chainId: CHAIN_ID,
      address,
      nonce: 0n,
      yParity: BigInt(signature[0]!),
      r: bytesToBigInt(signature.slice(1, 33)),
      s: bytesToBigInt(signature.slice(33)),
    }
    const evm = chain()
    const outcome = await evm.send({
      from: ALICE,
      to: authority,
      data: transfer(BOB, 1n),
      value: COIN,
      authorizationList: [authorization],
    })
    expect(evm.code(authority)).toBe(concat(['0xef0100', TOKEN]))
    expect(outcome).toMatchObject({ status: 'success', output: new Uint8Array(0), logs: [] })
    expect([evm.balance(authority), evm.balance(BOB)]).toEqual([COIN, 0n])
  })
})

describe('a chain that does not register the token', () => {
  it('has no such contract', async () => {
    const evm = chain({ withToken: false })
    for (const data of ['0x95d89b41', '0x313ce567', transfer(BOB, 1n)] as const) {
      expect(await evm.call({ from: ALICE, to: TOKEN, data })).toMatchObject({
        status: 'success',
        output: new Uint8Array(0),
      })
    }
    expect(evm.code(TOKEN)).toBe('0x')
    await evm.send({ from: ALICE, to: TOKEN, value: COIN })
    expect(evm.balance(TOKEN)).toBe(COIN)
  })
})

describe('infinite amounts', () => {
  it('an allowance of 2^256 - 1 survives spending', async () => {
    const evm = chain()
    await evm.send({ from: ALICE, to: BOB, value: COIN })
    await evm.send({
      from: ALICE,
      to: TOKEN,
      data: encodeFunctionData({ abi, functionName: 'approve', args: [BOB, maxUint256] }),
    })
    await evm.send({
      from: BOB,
      to: TOKEN,
      data: encodeFunctionData({ abi, functionName: 'transferFrom', args: [ALICE, BOB, COIN] }),
    })
    const query = encodeFunctionData({ abi, functionName: 'allowance', args: [ALICE, BOB] })
    expect(bytesToBigInt((await evm.call({ from: BOB, to: TOKEN, data: query })).output)).toBe(maxUint256)
  })
})
