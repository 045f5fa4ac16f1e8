import {
  type Abi,
  decodeErrorResult,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
  maxUint256,
  parseEventLogs,
  zeroAddress,
} from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { createMemoryChain, hexLogs, type MemoryChain, TOKEN } from '../../support/precompiles/memoryChain.ts'

const COIN = 10n ** 18n
const ALICE = getAddress('0xa11ce00000000000000000000000000000000001')
const BOB = getAddress('0xb0b0000000000000000000000000000000000002')
const WRAPPED = compileContract('WrappedCoin.sol', 'WrappedCoin')
const abi = WRAPPED.abi as unknown as Abi

/** A chain whose genesis does not register the native token, with the wrapper deployed by Alice. */
let evm: MemoryChain
let wrapped: Hex

beforeEach(async () => {
  evm = createMemoryChain({ withToken: false, balances: { [ALICE]: 100n * COIN, [BOB]: 100n * COIN } })
  const deployed = await evm.send({ from: ALICE, data: WRAPPED.bytecode })
  expect(deployed.status).toBe('success')
  wrapped = bytesToHex(deployed.createdAddress!)
})

async function read(functionName: string, ...args: readonly unknown[]): Promise<unknown> {
  const data = encodeFunctionData({ abi, functionName, args })
  const { status, output } = await evm.call({ from: BOB, to: wrapped, data })
  expect(status).toBe('success')
  return decodeFunctionResult({ abi, functionName, data: bytesToHex(output) })
}

/** Events hash of the transaction, or the custom error it reverted with. */
async function send(from: Hex, functionName: string, args: readonly unknown[], value = 0n): Promise<unknown[]> {
  const outcome = await evm.send({ from, to: wrapped, data: encodeFunctionData({ abi, functionName, args }), value })
  if (outcome.status === 'success') return events(outcome.logs)
  const error = decodeErrorResult({ abi, data: bytesToHex(outcome.output) })
  return [error.errorName, ...(error.args ?? [])]
}

function events(logs: Parameters<typeof hexLogs>[0]): unknown[] {
  const parsed = parseEventLogs({ abi, logs: hexLogs(logs) as never }) as unknown as {
    eventName: string
    args: object
  }[]
  expect(parsed).toHaveLength(logs.length)
  return parsed.map(({ eventName, args }) => [eventName, ...Object.values(args)])
}

async function expectBacked(): Promise<void> {
  expect(await read('totalSupply')).toBe(evm.balance(wrapped))
  expect(evm.sumOfBalances()).toBe(200n * COIN)
}

it('is an ERC-20 token where the native one is absent', async () => {
  expect(evm.code(TOKEN)).toBe('0x')
  expect([await read('name'), await read('symbol'), await read('decimals')]).toEqual(['Wrapped COIN', 'WCOIN', 18])
  expect(await read('totalSupply')).toBe(0n)
})

describe('deposit', () => {
  it('mints one token a coin, by function and by plain transfer', async () => {
    expect(await send(ALICE, 'deposit', [], 3n * COIN)).toEqual([
      ['Deposit', ALICE, 3n * COIN],
      ['Transfer', zeroAddress, ALICE, 3n * COIN],
    ])
    expect((await evm.send({ from: BOB, to: wrapped, value: COIN })).status).toBe('success')
    expect([await read('balanceOf', ALICE), await read('balanceOf', BOB)]).toEqual([3n * COIN, COIN])
    await expectBacked()
  })
})

describe('withdraw', () => {
  it('burns tokens and pays coins', async () => {
    await send(ALICE, 'deposit', [], 3n * COIN)
    const before = evm.balance(ALICE)
    const outcome = await evm.send({
      from: ALICE,
      to: wrapped,
      data: encodeFunctionData({ abi, functionName: 'withdraw', args: [COIN] }),
    })
    expect(events(outcome.logs)).toEqual([
      ['Withdrawal', ALICE, COIN],
      ['Transfer', ALICE, zeroAddress, COIN],
    ])
    expect(evm.balance(ALICE)).toBe(before + COIN - outcome.gasUsed * outcome.effectiveGasPrice)
    await expectBacked()
  })

  it('pays no more than the caller has', async () => {
    await send(ALICE, 'deposit', [], 3n * COIN)
    expect(await send(BOB, 'withdraw', [1n])).toEqual(['ERC20InsufficientBalance', BOB, 0n, 1n])
    await expectBacked()
  })

  it('fails as a whole when the caller cannot receive coins', async () => {
    // a Puppet that wraps is paid by its receive function; without one the payment fails
    const refuser = compileContract('test/Refuser.sol', 'Refuser')
    const refuserAbi = refuser.abi as unknown as Abi
    const data = encodeDeployData({ abi: refuserAbi, bytecode: refuser.bytecode, args: [wrapped] })
    const deployed = await evm.send({ from: ALICE, data, value: COIN })
    const to = bytesToHex(deployed.createdAddress!)
    expect(await read('balanceOf', to)).toBe(COIN)
    const outcome = await evm.send({
      from: ALICE,
      to,
      data: encodeFunctionData({ abi: refuserAbi, functionName: 'unwrap', args: [COIN] }),
    })
    expect(outcome.status).toBe('revert')
    expect(decodeErrorResult({ abi, data: bytesToHex(outcome.output) })).toMatchObject({
      errorName: 'CoinTransferFailed',
      args: [getAddress(to), COIN],
    })
    expect(await read('balanceOf', to)).toBe(COIN)
    await expectBacked()
  })
})

describe('transfers', () => {
  beforeEach(() => send(ALICE, 'deposit', [], 10n))

  it.each([
    ['transfer', ALICE, 'transfer', [BOB, 4n], [['Transfer', ALICE, BOB, 4n]]],
    ['transfer of nothing', BOB, 'transfer', [ALICE, 0n], [['Transfer', BOB, ALICE, 0n]]],
    ['transfer to oneself', ALICE, 'transfer', [ALICE, 10n], [['Transfer', ALICE, ALICE, 10n]]],
    ['too much', ALICE, 'transfer', [BOB, 11n], ['ERC20InsufficientBalance', ALICE, 10n, 11n]],
    ['to the zero address', ALICE, 'transfer', [zeroAddress, 1n], ['ERC20InvalidReceiver', zeroAddress]],
    ['without allowance', BOB, 'transferFrom', [ALICE, BOB, 1n], ['ERC20InsufficientAllowance', BOB, 0n, 1n]],
    ['approve nobody', ALICE, 'approve', [zeroAddress, 1n], ['ERC20InvalidSpender', zeroAddress]],
  ] as const)('%s', async (_, from, functionName, args, expected) => {
    expect(await send(from, functionName, args)).toEqual(expected)
    expect(await read('totalSupply')).toBe(10n)
    expect(((await read('balanceOf', ALICE)) as bigint) + ((await read('balanceOf', BOB)) as bigint)).toBe(10n)
  })

  it('to the contract itself is refused', async () => {
    expect(await send(ALICE, 'transfer', [wrapped, 1n])).toEqual(['ERC20InvalidReceiver', getAddress(wrapped)])
  })

  it('spends a finite allowance and keeps an infinite one', async () => {
    await send(ALICE, 'approve', [BOB, 5n])
    expect(await send(BOB, 'transferFrom', [ALICE, BOB, 2n])).toEqual([
      ['Approval', ALICE, BOB, 3n],
      ['Transfer', ALICE, BOB, 2n],
    ])
    expect(await send(BOB, 'transferFrom', [ALICE, BOB, 4n])).toEqual(['ERC20InsufficientAllowance', BOB, 3n, 4n])
    await send(ALICE, 'approve', [BOB, maxUint256])
    expect(await send(BOB, 'transferFrom', [ALICE, BOB, 2n])).toEqual([['Transfer', ALICE, BOB, 2n]])
    expect(await read('allowance', ALICE, BOB)).toBe(maxUint256)
  })
})
