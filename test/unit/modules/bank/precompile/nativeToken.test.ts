import {
  type Abi,
  decodeErrorResult,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  maxUint256,
  pad,
  parseEventLogs,
  size,
  slice,
  zeroAddress,
} from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { compileContract } from '../../../../../contracts/compile.ts'
import { MODULE_ACCOUNT_NAMES } from '../../../../../src/chain/genesis/genesisConstants.ts'
import type { BlockContext } from '../../../../../src/evm/blockContext.ts'
import type { PrecompileCall, PrecompileResult } from '../../../../../src/evm/precompile.ts'
import { mint } from '../../../../../src/modules/bank/ledger.ts'
import {
  allowanceSlot,
  NATIVE_TOKEN_ADDRESS,
  NATIVE_TOKEN_GAS,
  nativeToken,
} from '../../../../../src/modules/bank/precompile/nativeToken.ts'
import { precompileTable } from '../../../../../src/precompiles/registry.ts'
import { moduleAddress, toAddress } from '../../../../../src/primitives/address.ts'
import { bytesKey, bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../../src/state/journal.ts'
import { nativeTokenAbi as abi } from '../../../../support/precompiles/nativeTokenAbi.ts'
import { MemoryStateReader } from '../../../../support/state/memoryReader.ts'

const TOKEN = getAddress(bytesToHex(NATIVE_TOKEN_ADDRESS))
const ALICE = getAddress('0xa11ce00000000000000000000000000000000001')
const GOV = getAddress(bytesToHex(moduleAddress('gov')))
const BOB = getAddress('0xb0b0000000000000000000000000000000000002')
const CAROL = getAddress('0xca40100000000000000000000000000000000003')
const SUPPLY = 1_000_000n

const BLOCK: BlockContext = {
  number: 1,
  timestamp: 1,
  timeMs: 1_700_000_000_000,
  gasLimit: 30_000_000n,
  coinbase: new Uint8Array(20),
  baseFeePerGas: 1n,
  prevRandao: new Uint8Array(32),
  difficulty: 0n,
  blobBaseFee: 1n,
  blockHash: () => undefined,
}

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  mint(world, hexToBytes(ALICE), 600_000n)
  mint(world, hexToBytes(BOB), 400_000n)
  world.beginTransaction()
})

type CallOptions = Partial<Omit<PrecompileCall, 'caller' | 'data' | 'world' | 'block'>>

/** Calls as an engine does: the value moves first, and nothing stays of a call that did not succeed. */
function call(from: Hex, data: Hex, options: CallOptions = {}): PrecompileResult {
  const value = options.value ?? 0n
  const caller = toAddress(hexToBytes(from))
  world.checkpoint()
  world.subBalance(caller, value)
  world.addBalance(NATIVE_TOKEN_ADDRESS, value)
  const result = nativeToken.run({
    caller,
    value,
    data: hexToBytes(data),
    gasLimit: 1_000_000n,
    isStatic: false,
    isDelegated: false,
    world,
    block: BLOCK,
    beforeWrite: () => undefined,
    ...options,
  })
  if (result.status === 'success') world.commit()
  else world.revert()
  return result
}

const balance = (of: Hex) => world.getBalance(hexToBytes(of))

function events() {
  const logs = world.logs().map((log, logIndex) => ({
    address: bytesToHex(log.address),
    topics: log.topics.map(bytesToHex) as [Hex, ...Hex[]],
    data: bytesToHex(log.data),
    blockHash: pad('0x0'),
    blockNumber: 1n,
    blockTimestamp: 1n,
    logIndex,
    transactionHash: pad('0x0'),
    transactionIndex: 0,
    removed: false,
  }))
  const parsed = parseEventLogs({ abi, logs, strict: true })
  expect(parsed).toHaveLength(logs.length)
  return parsed.map(({ eventName, args }) => [eventName, ...Object.values(args)])
}

function expectRevert(result: PrecompileResult, errorName: string, ...args: readonly unknown[]): void {
  expect(result.status).toBe('revert')
  const decoded = decodeErrorResult({ abi, data: bytesToHex(result.output) })
  expect([decoded.errorName, ...(decoded.args ?? [])]).toEqual([errorName, ...args])
}

function expectText(result: PrecompileResult, text: string): void {
  expect(result.status).toBe('revert')
  expect(decodeErrorResult({ abi: [], data: bytesToHex(result.output) }).args).toEqual([text])
}

const transfer = (to: Hex, value: bigint) => encodeFunctionData({ abi, functionName: 'transfer', args: [to, value] })
const approve = (to: Hex, value: bigint) => encodeFunctionData({ abi, functionName: 'approve', args: [to, value] })
const transferFrom = (from: Hex, to: Hex, value: bigint) =>
  encodeFunctionData({ abi, functionName: 'transferFrom', args: [from, to, value] })
const withdraw = (value: bigint) => encodeFunctionData({ abi, functionName: 'withdraw', args: [value] })
const deposit = encodeFunctionData({ abi, functionName: 'deposit' })

function allowance(owner: Hex, spender: Hex): bigint {
  const result = call(CAROL, encodeFunctionData({ abi, functionName: 'allowance', args: [owner, spender] }))
  return decodeFunctionResult({ abi, functionName: 'allowance', data: bytesToHex(result.output) })
}

describe('reading', () => {
  const views = [
    ['name', [], 'COIN', NATIVE_TOKEN_GAS.name],
    ['symbol', [], 'COIN', NATIVE_TOKEN_GAS.symbol],
    ['decimals', [], 18, NATIVE_TOKEN_GAS.decimals],
    ['totalSupply', [], SUPPLY, NATIVE_TOKEN_GAS.totalSupply],
    ['balanceOf', [ALICE], 600_000n, NATIVE_TOKEN_GAS.balanceOf],
    ['balanceOf', [CAROL], 0n, NATIVE_TOKEN_GAS.balanceOf],
    ['allowance', [ALICE, BOB], 0n, NATIVE_TOKEN_GAS.allowance],
  ] as const

  it.each(views)('%s(%s) is %s, also under STATICCALL', (functionName, args, expected, gas) => {
    for (const isStatic of [false, true]) {
      const data = encodeFunctionData({ abi, functionName, args } as Parameters<typeof encodeFunctionData>[0])
      const result = call(CAROL, data, { isStatic })
      expect(result).toMatchObject({ status: 'success', gasUsed: gas })
      expect(decodeFunctionResult({ abi, functionName, data: bytesToHex(result.output) })).toBe(expected)
    }
  })

  it('answers the two calls that the interface promises, to the byte', () => {
    expect(bytesToHex(call(CAROL, '0x95d89b41').output)).toBe(encodeAbiParameters([{ type: 'string' }], ['COIN']))
    expect(bytesToHex(call(CAROL, '0x313ce567').output)).toBe(`0x${'12'.padStart(64, '0')}`)
  })

  it('rejects value', () => {
    expect(call(ALICE, '0x95d89b41', { value: 1n })).toMatchObject({ status: 'revert', output: new Uint8Array(0) })
    expect(balance(ALICE)).toBe(600_000n)
  })
})

describe('transfer', () => {
  it.each([
    ['part', 1n],
    ['nothing', 0n],
    ['everything', 600_000n],
  ])('moves %s and emits Transfer', (_, amount) => {
    const result = call(ALICE, transfer(CAROL, amount))
    expect(result).toEqual({ status: 'success', output: hexToBytes(pad('0x1')), gasUsed: NATIVE_TOKEN_GAS.transfer })
    expect([balance(ALICE), balance(CAROL)]).toEqual([600_000n - amount, amount])
    expect(events()).toEqual([['Transfer', ALICE, CAROL, amount]])
  })

  it('of nothing creates no account', () => {
    call(ALICE, transfer(CAROL, 0n))
    expect(world.exists(hexToBytes(CAROL))).toBe(false)
  })

  it('to oneself keeps the balance, but needs it', () => {
    expect(call(ALICE, transfer(ALICE, 600_000n)).status).toBe('success')
    expect(balance(ALICE)).toBe(600_000n)
    expect(events()).toEqual([['Transfer', ALICE, ALICE, 600_000n]])
    expectRevert(call(ALICE, transfer(ALICE, 600_001n)), 'ERC20InsufficientBalance', ALICE, 600_000n, 600_001n)
  })

  it.each([
    ['too much', ALICE, BOB, 600_001n, ['ERC20InsufficientBalance', ALICE, 600_000n, 600_001n]],
    ['the largest amount', ALICE, BOB, maxUint256, ['ERC20InsufficientBalance', ALICE, 600_000n, maxUint256]],
    ['to the zero address', ALICE, zeroAddress, 0n, ['ERC20InvalidReceiver', zeroAddress]],
    ['to the token itself', ALICE, TOKEN, 1n, ['ERC20InvalidReceiver', TOKEN]],
    ["to a module's account", ALICE, GOV, 1n, ['ERC20InvalidReceiver', GOV]],
    ['by the zero address', zeroAddress, BOB, 0n, ['ERC20InvalidSender', zeroAddress]],
  ] as const)('reverts: %s', (_, from, to, amount, [name, ...args]) => {
    expectRevert(call(from, transfer(to, amount)), name, ...args)
    expect([balance(ALICE), balance(BOB)]).toEqual([600_000n, 400_000n])
    expect(events()).toEqual([])
  })

  it('panics as Solidity does when an overridden balance would overflow', () => {
    world.setBalance(hexToBytes(BOB), maxUint256)
    const result = call(ALICE, transfer(BOB, 1n))
    expect(result.status).toBe('revert')
    expect(decodeErrorResult({ abi: [], data: bytesToHex(result.output) })).toMatchObject({
      errorName: 'Panic',
      args: [17n],
    })
  })

  it('moves coins that reached the contract when the contract itself calls (eth_call may)', () => {
    world.addBalance(NATIVE_TOKEN_ADDRESS, 5n)
    expect(call(TOKEN, transfer(CAROL, 5n)).status).toBe('success')
    expect([balance(TOKEN), balance(CAROL)]).toEqual([0n, 5n])
  })
})

describe('allowances', () => {
  it('approve sets, emits, and keeps the value in the slot where OpenZeppelin has it', () => {
    expect(call(ALICE, approve(BOB, 70n))).toMatchObject({ status: 'success', gasUsed: NATIVE_TOKEN_GAS.approve })
    expect(events()).toEqual([['Approval', ALICE, BOB, 70n]])
    expect(allowance(ALICE, BOB)).toBe(70n)
    expect(allowance(BOB, ALICE)).toBe(0n)
    const parameters = [{ type: 'address' }, { type: 'uint256' }] as const
    const inner = keccak256(encodeAbiParameters(parameters, [ALICE, 1n]))
    const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'bytes32' }], [BOB, inner]))
    expect(bytesToHex(allowanceSlot(hexToBytes(ALICE), hexToBytes(BOB)))).toBe(slot)
    expect(world.getStorage(NATIVE_TOKEN_ADDRESS, hexToBytes(slot))).toEqual(Uint8Array.of(70))
  })

  it('approve of nothing clears the slot', () => {
    call(ALICE, approve(BOB, 70n))
    call(ALICE, approve(BOB, 0n))
    expect(allowance(ALICE, BOB)).toBe(0n)
    expect(world.hasStorage(NATIVE_TOKEN_ADDRESS)).toBe(false)
  })

  it('spending lowers the allowance and emits Approval, then Transfer', () => {
    call(ALICE, approve(BOB, 70n))
    const result = call(BOB, transferFrom(ALICE, CAROL, 30n))
    expect(result).toEqual({
      status: 'success',
      output: hexToBytes(pad('0x1')),
      gasUsed: NATIVE_TOKEN_GAS.transferFrom,
    })
    expect(events().slice(1)).toEqual([
      ['Approval', ALICE, BOB, 40n],
      ['Transfer', ALICE, CAROL, 30n],
    ])
    expect([allowance(ALICE, BOB), balance(ALICE), balance(BOB), balance(CAROL)]).toEqual([
      40n,
      599_970n,
      400_000n,
      30n,
    ])
  })

  it('an infinite allowance stays, and spending it emits no Approval', () => {
    call(ALICE, approve(BOB, maxUint256))
    call(BOB, transferFrom(ALICE, BOB, 30n))
    expect(allowance(ALICE, BOB)).toBe(maxUint256)
    expect(events().slice(1)).toEqual([['Transfer', ALICE, BOB, 30n]])
  })

  it('one less than infinite is finite', () => {
    call(ALICE, approve(BOB, maxUint256 - 1n))
    call(BOB, transferFrom(ALICE, BOB, 1n))
    expect(allowance(ALICE, BOB)).toBe(maxUint256 - 2n)
  })

  it.each([
    ['no allowance', BOB, ALICE, CAROL, 1n, ['ERC20InsufficientAllowance', BOB, 0n, 1n]],
    ['no allowance for oneself', ALICE, ALICE, CAROL, 1n, ['ERC20InsufficientAllowance', ALICE, 0n, 1n]],
    [
      'allowance before balance',
      CAROL,
      ALICE,
      BOB,
      700_000n,
      ['ERC20InsufficientAllowance', CAROL, 650_000n, 700_000n],
    ],
    ['balance after allowance', CAROL, ALICE, BOB, 600_001n, ['ERC20InsufficientBalance', ALICE, 600_000n, 600_001n]],
    ['from the zero address', BOB, zeroAddress, CAROL, 0n, ['ERC20InvalidApprover', zeroAddress]],
    ['by the zero address', zeroAddress, ALICE, CAROL, 0n, ['ERC20InvalidSpender', zeroAddress]],
    ['to the zero address', CAROL, ALICE, zeroAddress, 1n, ['ERC20InvalidReceiver', zeroAddress]],
    ['to the token', CAROL, ALICE, TOKEN, 1n, ['ERC20InvalidReceiver', TOKEN]],
  ] as const)('transferFrom reverts: %s', (_, spender, from, to, amount, [name, ...args]) => {
    call(ALICE, approve(CAROL, 650_000n))
    expectRevert(call(spender, transferFrom(from, to, amount)), name, ...args)
    expect([allowance(ALICE, CAROL), balance(ALICE)]).toEqual([650_000n, 600_000n])
    expect(events()).toHaveLength(1)
  })

  it('approve refuses the zero address on either side', () => {
    expectRevert(call(ALICE, approve(zeroAddress, 1n)), 'ERC20InvalidSpender', zeroAddress)
    expectRevert(call(zeroAddress, approve(BOB, 1n)), 'ERC20InvalidApprover', zeroAddress)
  })
})

describe('deposit and withdraw', () => {
  it.each([
    ['deposit()', deposit],
    ['empty calldata', '0x'],
    ['calldata shorter than a selector', '0xd0e30d'],
    ['an unknown selector', '0x01ffc9a700'],
  ] as const)('%s gives the value back and emits Deposit', (_, data) => {
    for (const value of [0n, 123n, 599_877n]) {
      expect(call(ALICE, data, { value })).toEqual({
        status: 'success',
        output: new Uint8Array(0),
        gasUsed: NATIVE_TOKEN_GAS.deposit,
      })
    }
    expect([balance(ALICE), balance(TOKEN)]).toEqual([600_000n, 0n])
    expect(events()).toEqual([0n, 123n, 599_877n].map((value) => ['Deposit', ALICE, value]))
  })

  it('leaves coins alone that the contract already had', () => {
    world.addBalance(NATIVE_TOKEN_ADDRESS, 5n)
    call(ALICE, deposit, { value: 7n })
    expect([balance(ALICE), balance(TOKEN)]).toEqual([600_000n, 5n])
  })

  it('withdraw needs the balance, moves nothing, emits Withdrawal', () => {
    expect(call(ALICE, withdraw(600_000n))).toEqual({
      status: 'success',
      output: new Uint8Array(0),
      gasUsed: NATIVE_TOKEN_GAS.withdraw,
    })
    expect(balance(ALICE)).toBe(600_000n)
    expect(events()).toEqual([['Withdrawal', ALICE, 600_000n]])
    expectRevert(call(ALICE, withdraw(600_001n)), 'ERC20InsufficientBalance', ALICE, 600_000n, 600_001n)
  })
})

describe('rules of the call', () => {
  const writes: readonly (readonly [string, Hex])[] = [
    ['transfer', transfer(BOB, 1n)],
    ['approve', approve(BOB, 1n)],
    ['transferFrom', transferFrom(ALICE, BOB, 0n)],
    ['withdraw', withdraw(1n)],
    ['deposit', deposit],
    ['empty calldata', '0x'],
    ['an unknown selector', '0xffffffff'],
  ]

  it.each(writes)('%s reverts under STATICCALL', (_, data) => {
    expectText(call(ALICE, data, { isStatic: true }), 'write protection')
    expect(world.logs()).toHaveLength(0)
  })

  it.each([...writes, ['symbol', '0x95d89b41'] as const])('%s reverts under DELEGATECALL and CALLCODE', (_, data) => {
    expectText(call(ALICE, data, { isDelegated: true }), 'delegated call to a precompile')
  })

  it.each(writes.slice(0, 4))('%s rejects value without revert data', (_, data) => {
    expect(call(ALICE, data, { value: 1n })).toMatchObject({ status: 'revert', output: new Uint8Array(0) })
    expect([balance(ALICE), balance(TOKEN)]).toEqual([600_000n, 0n])
  })

  it.each(writes.slice(0, 4))('%s reverts on calldata that is a byte short, and ignores a byte too many', (_, data) => {
    call(BOB, approve(ALICE, 1n))
    expect(call(ALICE, slice(data, 0, size(data) - 1))).toMatchObject({ status: 'revert', output: new Uint8Array(0) })
    expect(call(ALICE, `${data}ff`)).toMatchObject({ status: 'success' })
  })

  it('reverts on an address with a bit set above its 160', () => {
    const clean = transfer(BOB, 1n)
    for (const byte of [0, 5, 11]) {
      const at = 2 + (4 + byte) * 2
      const dirty = `${clean.slice(0, at)}01${clean.slice(at + 2)}` as Hex
      expect(call(ALICE, dirty)).toMatchObject({ status: 'revert', output: new Uint8Array(0) })
    }
    expect(call(ALICE, clean).status).toBe('success')
  })

  it('takes all gas when there is too little, and exactly its price when there is enough', () => {
    const gasLimit = NATIVE_TOKEN_GAS.transfer
    expect(call(ALICE, transfer(BOB, 1n), { gasLimit: gasLimit - 1n })).toEqual({
      status: 'failure',
      output: new Uint8Array(0),
      gasUsed: gasLimit - 1n,
      failure: 'out of gas',
    })
    expect(call(ALICE, transfer(BOB, 1n), { gasLimit })).toMatchObject({ status: 'success', gasUsed: gasLimit })
  })

  it('charges a call that reverts the price of its function', () => {
    expect(call(ALICE, transfer(BOB, maxUint256)).gasUsed).toBe(NATIVE_TOKEN_GAS.transfer)
  })
})

describe('the Solidity interface', () => {
  it('declares what the contract has', () => {
    const shape = (entries: Abi) =>
      entries
        .filter((entry) => 'name' in entry)
        .map(({ type, name, inputs }) => `${type} ${name}(${inputs.map((input) => input.type)})`)
        .sort()
    expect(shape(compileContract('ICoinToken.sol', 'ICoinToken').abi as unknown as Abi)).toEqual(shape(abi))
  })
})

describe('the table of registered precompiles', () => {
  it('holds what the genesis registers, accounts of modules and nothing else', () => {
    const modules = MODULE_ACCOUNT_NAMES.map((name) => bytesKey(moduleAddress(name)))
    expect([...precompileTable([]).keys()]).toEqual(modules)
    const table = precompileTable([NATIVE_TOKEN_ADDRESS])
    expect([...table.keys()]).toEqual([...modules, bytesKey(NATIVE_TOKEN_ADDRESS)])
    expect(table.get(bytesKey(NATIVE_TOKEN_ADDRESS))).toBe(nativeToken)
  })

  it('refuses an address without an implementation', () => {
    expect(() => precompileTable([hexToBytes(BOB)])).toThrow(
      `the genesis registers a precompile at ${BOB}, which this version lacks`,
    )
  })
})
