import type { Address } from '../../../primitives/address.ts'
import {
  bigIntToBytes,
  bigIntToMinimalBytes,
  bytesToBigInt,
  concatBytes,
  EMPTY_BYTES,
  hexToBytes,
  padLeft,
} from '../../../primitives/bytes.ts'
import { keccak256 } from '../../../primitives/hash.ts'
import type { WorldState } from '../../../state/world.ts'
import { defineError, defineEvents, encodePanic } from '../../precompileFunctions/abi/codec.ts'
import { address, bool, string, uint8, uint256 } from '../../precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  defineFunction,
  type FunctionContext,
  Revert,
  type TabledPrecompile,
} from '../../precompileFunctions/dispatch.ts'
import { getSupply, transfer } from '../ledger.ts'
import { isBlockedAddress } from '../send.ts'

/** COIN as an ERC-20 token: the token balance of an account is its balance in acoin. There is no second ledger. */
export const NATIVE_TOKEN_ADDRESS: Address = hexToBytes('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')

const SYMBOL = 'COIN'
const DECIMALS = 18n
/** The slot of OpenZeppelin's ERC20 for `mapping(address owner => mapping(address spender => uint256))`. */
const ALLOWANCES_SLOT = 1n
const INFINITE = (1n << 256n) - 1n
const ARITHMETIC_OVERFLOW = encodePanic(0x11n)

const EVENTS = defineEvents({
  Transfer: { indexed: { from: address, to: address }, data: { value: uint256 } },
  Approval: { indexed: { owner: address, spender: address }, data: { value: uint256 } },
  Deposit: { indexed: { dst: address }, data: { wad: uint256 } },
  Withdrawal: { indexed: { src: address }, data: { wad: uint256 } },
})

/** Revert data of ERC-6093's custom errors, which OpenZeppelin Contracts 5 uses; amounts are acoin. */
const ERRORS = {
  /** `sender` has `balance`, the call needs `needed` */
  insufficientBalance: defineError('ERC20InsufficientBalance', { sender: address, balance: uint256, needed: uint256 }),
  /** `spender` may spend `allowance`, the call needs `needed` */
  insufficientAllowance: defineError('ERC20InsufficientAllowance', {
    spender: address,
    allowance: uint256,
    needed: uint256,
  }),
  invalidSender: defineError('ERC20InvalidSender', { sender: address }),
  invalidReceiver: defineError('ERC20InvalidReceiver', { receiver: address }),
  invalidApprover: defineError('ERC20InvalidApprover', { approver: address }),
  invalidSpender: defineError('ERC20InvalidSpender', { spender: address }),
}

/**
 * Gas of each function of the native token, charged whatever the state is, so that an estimate is
 * exact. Each is at least the cost of the same call on an OpenZeppelin 5 ERC20 with nothing warm: a
 * lower price would make this contract a cheap way to grow the state. `transfer` may create an
 * account, so it pays for a new holder.
 *
 * | function     | OpenZeppelin ERC20, cold (execution gas)                           | here   |
 * |--------------|--------------------------------------------------------------------|--------|
 * | name, symbol | 3,086 (two storage reads; constants here)                          | 500    |
 * | decimals     | 176                                                                | 200    |
 * | totalSupply  | 2,325                                                              | 2,400  |
 * | balanceOf    | 2,559 (a cold account, as BALANCE reads it, is 2,600)              | 2,800  |
 * | allowance    | 2,810                                                              | 2,900  |
 * | transfer     | 29,181 to a new holder, 12,081 to an old one                       | 30,000 |
 * | approve      | 24,734 for a new allowance, 7,634 for a change                     | 25,000 |
 * | transferFrom | 34,157 to a new holder, and 1,756 for the Approval event           | 37,000 |
 * | deposit      | 6,700 (a call with value, beyond its stipend), 1,381 for the event | 10,000 |
 * | withdraw     | 2,600 for the balance, 1,381 for the event                         | 5,000  |
 */
export const NATIVE_TOKEN_GAS = {
  name: 500n,
  symbol: 500n,
  decimals: 200n,
  totalSupply: 2_400n,
  balanceOf: 2_800n,
  allowance: 2_900n,
  transfer: 30_000n,
  approve: 25_000n,
  transferFrom: 37_000n,
  deposit: 10_000n,
  withdraw: 5_000n,
} as const

const SUCCESS = { success: true } as const

/**
 * ERC-20 with the errors of OpenZeppelin Contracts 5, in their order, and WETH9's deposit and
 * withdraw, which move nothing because there is nothing to wrap. Two differences from OpenZeppelin:
 * spending an allowance emits Approval, and the contract itself is an invalid receiver, since no
 * call could ever move coins out of its account again. Coins that reach the account without a call
 * (self-destruct, block rewards) stay there and count in totalSupply.
 */
export const nativeToken: TabledPrecompile = createPrecompile(NATIVE_TOKEN_ADDRESS, {
  events: EVENTS,
  functions: [
    defineFunction({
      name: 'name',
      inputs: {},
      outputs: { name: string },
      gas: NATIVE_TOKEN_GAS.name,
      mutability: 'view',
      run: () => ({ name: SYMBOL }),
    }),
    defineFunction({
      name: 'symbol',
      inputs: {},
      outputs: { symbol: string },
      gas: NATIVE_TOKEN_GAS.symbol,
      mutability: 'view',
      run: () => ({ symbol: SYMBOL }),
    }),
    defineFunction({
      name: 'decimals',
      inputs: {},
      outputs: { decimals: uint8 },
      gas: NATIVE_TOKEN_GAS.decimals,
      mutability: 'view',
      run: () => ({ decimals: DECIMALS }),
    }),
    defineFunction({
      name: 'totalSupply',
      inputs: {},
      outputs: { supply: uint256 },
      gas: NATIVE_TOKEN_GAS.totalSupply,
      mutability: 'view',
      run: ({ world }) => ({ supply: getSupply(world) }),
    }),
    defineFunction({
      name: 'balanceOf',
      inputs: { account: address },
      outputs: { balance: uint256 },
      gas: NATIVE_TOKEN_GAS.balanceOf,
      mutability: 'view',
      run: ({ world }, { account }) => ({ balance: world.getBalance(account) }),
    }),
    defineFunction({
      name: 'allowance',
      inputs: { owner: address, spender: address },
      outputs: { allowance: uint256 },
      gas: NATIVE_TOKEN_GAS.allowance,
      mutability: 'view',
      run: ({ world }, { owner, spender }) => ({
        allowance: getAllowance(world, owner, spender),
      }),
    }),
    defineFunction({
      name: 'transfer',
      inputs: { to: address, value: uint256 },
      outputs: { success: bool },
      gas: NATIVE_TOKEN_GAS.transfer,
      mutability: 'nonpayable',
      run: (context, { to, value }) => move(context, context.caller, to, value) ?? SUCCESS,
    }),
    defineFunction({
      name: 'approve',
      inputs: { spender: address, value: uint256 },
      outputs: { success: bool },
      gas: NATIVE_TOKEN_GAS.approve,
      mutability: 'nonpayable',
      run: (context, { spender, value }) => approve(context, context.caller, spender, value) ?? SUCCESS,
    }),
    defineFunction({
      name: 'transferFrom',
      inputs: { from: address, to: address, value: uint256 },
      outputs: { success: bool },
      gas: NATIVE_TOKEN_GAS.transferFrom,
      mutability: 'nonpayable',
      run: (context, { from, to, value }) =>
        spendAllowance(context, from, value) ?? move(context, from, to, value) ?? SUCCESS,
    }),
    defineFunction({
      name: 'deposit',
      inputs: {},
      outputs: {},
      gas: NATIVE_TOKEN_GAS.deposit,
      mutability: 'payable',
      run: (context) => {
        deposit(context)
        return {}
      },
    }),
    defineFunction({
      name: 'withdraw',
      inputs: { wad: uint256 },
      outputs: {},
      gas: NATIVE_TOKEN_GAS.withdraw,
      mutability: 'nonpayable',
      run: ({ world, caller, emit }, { wad }) => {
        const balance = world.getBalance(caller)
        if (balance < wad) return new Revert(ERRORS.insufficientBalance({ sender: caller, balance, needed: wad }))
        emit(EVENTS.Withdrawal, { src: caller, wad })
        return {}
      },
    }),
  ],
  fallback: {
    gas: NATIVE_TOKEN_GAS.deposit,
    mutability: 'payable',
    run: (context) => {
      deposit(context)
      return EMPTY_BYTES
    },
  },
})

/** Returns the value of the call: the caller has as many tokens, that is coins, as before. */
function deposit({ world, caller, value, emit }: FunctionContext): void {
  const returned = transfer(world, NATIVE_TOKEN_ADDRESS, caller, value)
  if (!returned.ok) throw new Error('the value of the call is not in the account of the native token')
  emit(EVENTS.Deposit, { dst: caller, wad: value })
}

/** Moves coins. @returns why it failed */
function move({ world, emit }: FunctionContext, from: Address, to: Address, amount: bigint): Revert | undefined {
  if (isZero(from)) return new Revert(ERRORS.invalidSender({ sender: from }))
  if (isZero(to) || isBlockedAddress(to)) return new Revert(ERRORS.invalidReceiver({ receiver: to }))
  const moved = transfer(world, from, to, amount)
  if (!moved.ok) {
    return new Revert(
      moved.reason === 'overflow'
        ? ARITHMETIC_OVERFLOW
        : ERRORS.insufficientBalance({ sender: from, balance: moved.balance, needed: amount }),
    )
  }
  emit(EVENTS.Transfer, { from, to, value: amount })
  return undefined
}

/** Sets an allowance. @returns why it failed */
function approve(
  { world, emit }: FunctionContext,
  owner: Address,
  spender: Address,
  amount: bigint,
): Revert | undefined {
  if (isZero(owner)) return new Revert(ERRORS.invalidApprover({ approver: owner }))
  if (isZero(spender)) return new Revert(ERRORS.invalidSpender({ spender }))
  setAllowance(world, owner, spender, amount)
  emit(EVENTS.Approval, { owner, spender, value: amount })
  return undefined
}

/**
 * Reduces the caller's allowance of `owner`'s coins, unless it is unlimited.
 * @returns why it failed
 */
function spendAllowance(context: FunctionContext, owner: Address, amount: bigint): Revert | undefined {
  const { world, caller } = context
  const allowance = getAllowance(world, owner, caller)
  if (allowance === INFINITE) return undefined
  if (allowance < amount) {
    return new Revert(ERRORS.insufficientAllowance({ spender: caller, allowance, needed: amount }))
  }
  return approve(context, owner, caller, allowance - amount)
}

/**
 * Returns the storage slot of one allowance in Solidity's layout: keccak256(spender .
 * keccak256(owner . slot)), words of 32 bytes.
 */
export function allowanceSlot(owner: Address, spender: Address): Uint8Array {
  const ofOwner = keccak256(concatBytes(padLeft(owner, 32), bigIntToBytes(ALLOWANCES_SLOT, 32)))
  return keccak256(concatBytes(padLeft(spender, 32), ofOwner))
}

/** Returns the amount of `owner`'s tokens that `spender` may still move. */
function getAllowance(world: Pick<WorldState, 'getStorage'>, owner: Address, spender: Address): bigint {
  return bytesToBigInt(world.getStorage(NATIVE_TOKEN_ADDRESS, allowanceSlot(owner, spender)))
}

function setAllowance(world: Pick<WorldState, 'setStorage'>, owner: Address, spender: Address, amount: bigint): void {
  world.setStorage(NATIVE_TOKEN_ADDRESS, allowanceSlot(owner, spender), bigIntToMinimalBytes(amount))
}

function isZero(account: Address): boolean {
  return account.every((byte) => byte === 0)
}
