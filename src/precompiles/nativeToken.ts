import { getSupply, transfer } from '../modules/bank/ledger.ts'
import { isBlockedAddress } from '../modules/bank/send.ts'
import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES, hexToBytes } from '../primitives/bytes.ts'
import { encodePanic } from './abi/errors.ts'
import { defineEvent } from './abi/event.ts'
import { address, bool, string, uint8, uint256 } from './abi/types.ts'
import { getAllowance, setAllowance } from './allowances.ts'
import { createPrecompile, defineFunction, type FunctionContext, Revert, type TabledPrecompile } from './dispatch.ts'
import * as errors from './erc20Errors.ts'
import { NATIVE_TOKEN_GAS as GAS } from './nativeTokenGas.ts'

/** COIN as an ERC-20 token: the token balance of an account is its balance in acoin. There is no second ledger. */
export const NATIVE_TOKEN_ADDRESS: Address = hexToBytes('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')

const SYMBOL = 'COIN'
const DECIMALS = 18n
const INFINITE = (1n << 256n) - 1n
const ARITHMETIC_OVERFLOW = encodePanic(0x11n)

const TRANSFER = defineEvent('Transfer', { indexed: { from: address, to: address }, data: { value: uint256 } })
const APPROVAL = defineEvent('Approval', { indexed: { owner: address, spender: address }, data: { value: uint256 } })
const DEPOSIT = defineEvent('Deposit', { indexed: { dst: address }, data: { wad: uint256 } })
const WITHDRAWAL = defineEvent('Withdrawal', { indexed: { src: address }, data: { wad: uint256 } })

const SUCCESS = { success: true } as const

/**
 * ERC-20 with the errors and their order of OpenZeppelin Contracts 5, and WETH9's deposit and withdraw, which move
 * nothing because there is nothing to wrap. Where it departs from OpenZeppelin: spending an allowance emits Approval, and the contract itself is
 * an invalid receiver, since no call could ever move coins out of it again. Coins that reach its account without a call
 * (self-destruct, block rewards) stay there and count in totalSupply.
 */
export const nativeToken: TabledPrecompile = createPrecompile(
  NATIVE_TOKEN_ADDRESS,
  [
    defineFunction({
      name: 'name',
      inputs: {},
      outputs: { name: string },
      gas: GAS.name,
      mutability: 'view',
      run: () => ({ name: SYMBOL }),
    }),
    defineFunction({
      name: 'symbol',
      inputs: {},
      outputs: { symbol: string },
      gas: GAS.symbol,
      mutability: 'view',
      run: () => ({ symbol: SYMBOL }),
    }),
    defineFunction({
      name: 'decimals',
      inputs: {},
      outputs: { decimals: uint8 },
      gas: GAS.decimals,
      mutability: 'view',
      run: () => ({ decimals: DECIMALS }),
    }),
    defineFunction({
      name: 'totalSupply',
      inputs: {},
      outputs: { supply: uint256 },
      gas: GAS.totalSupply,
      mutability: 'view',
      run: ({ world }) => ({ supply: getSupply(world) }),
    }),
    defineFunction({
      name: 'balanceOf',
      inputs: { account: address },
      outputs: { balance: uint256 },
      gas: GAS.balanceOf,
      mutability: 'view',
      run: ({ world }, { account }) => ({ balance: world.getBalance(account) }),
    }),
    defineFunction({
      name: 'allowance',
      inputs: { owner: address, spender: address },
      outputs: { allowance: uint256 },
      gas: GAS.allowance,
      mutability: 'view',
      run: ({ world }, { owner, spender }) => ({
        allowance: getAllowance(world, NATIVE_TOKEN_ADDRESS, owner, spender),
      }),
    }),
    defineFunction({
      name: 'transfer',
      inputs: { to: address, value: uint256 },
      outputs: { success: bool },
      gas: GAS.transfer,
      mutability: 'nonpayable',
      run: (context, { to, value }) => move(context, context.caller, to, value) ?? SUCCESS,
    }),
    defineFunction({
      name: 'approve',
      inputs: { spender: address, value: uint256 },
      outputs: { success: bool },
      gas: GAS.approve,
      mutability: 'nonpayable',
      run: (context, { spender, value }) => approve(context, context.caller, spender, value) ?? SUCCESS,
    }),
    defineFunction({
      name: 'transferFrom',
      inputs: { from: address, to: address, value: uint256 },
      outputs: { success: bool },
      gas: GAS.transferFrom,
      mutability: 'nonpayable',
      run: (context, { from, to, value }) =>
        spendAllowance(context, from, value) ?? move(context, from, to, value) ?? SUCCESS,
    }),
    defineFunction({
      name: 'deposit',
      inputs: {},
      outputs: {},
      gas: GAS.deposit,
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
      gas: GAS.withdraw,
      mutability: 'nonpayable',
      run: ({ world, caller }, { wad }) => {
        const balance = world.getBalance(caller)
        if (balance < wad) return new Revert(errors.insufficientBalance({ sender: caller, balance, needed: wad }))
        world.emitLog(WITHDRAWAL.log(NATIVE_TOKEN_ADDRESS, { src: caller, wad }))
        return {}
      },
    }),
  ],
  {
    gas: GAS.deposit,
    mutability: 'payable',
    run: (context) => {
      deposit(context)
      return EMPTY_BYTES
    },
  },
)

/** Gives the value of the call back: the caller has as many tokens, that is coins, as before. */
function deposit({ world, caller, value }: FunctionContext): void {
  const returned = transfer(world, NATIVE_TOKEN_ADDRESS, caller, value)
  if (!returned.ok) throw new Error('the value of the call is not in the account of the native token')
  world.emitLog(DEPOSIT.log(NATIVE_TOKEN_ADDRESS, { dst: caller, wad: value }))
}

/** Moves coins; undefined when that succeeded. */
function move({ world }: FunctionContext, from: Address, to: Address, amount: bigint): Revert | undefined {
  if (isZero(from)) return new Revert(errors.invalidSender({ sender: from }))
  if (isZero(to) || isBlockedAddress(to)) return new Revert(errors.invalidReceiver({ receiver: to }))
  const moved = transfer(world, from, to, amount)
  if (!moved.ok) {
    return new Revert(
      moved.reason === 'overflow'
        ? ARITHMETIC_OVERFLOW
        : errors.insufficientBalance({ sender: from, balance: moved.balance, needed: amount }),
    )
  }
  world.emitLog(TRANSFER.log(NATIVE_TOKEN_ADDRESS, { from, to, value: amount }))
  return undefined
}

/** Sets an allowance; undefined when that succeeded. */
function approve({ world }: FunctionContext, owner: Address, spender: Address, amount: bigint): Revert | undefined {
  if (isZero(owner)) return new Revert(errors.invalidApprover({ approver: owner }))
  if (isZero(spender)) return new Revert(errors.invalidSpender({ spender }))
  setAllowance(world, NATIVE_TOKEN_ADDRESS, owner, spender, amount)
  world.emitLog(APPROVAL.log(NATIVE_TOKEN_ADDRESS, { owner, spender, value: amount }))
  return undefined
}

/** Takes `amount` off what the caller may spend of `owner`'s, unless that is unlimited; undefined when that succeeded. */
function spendAllowance(context: FunctionContext, owner: Address, amount: bigint): Revert | undefined {
  const { world, caller } = context
  const allowance = getAllowance(world, NATIVE_TOKEN_ADDRESS, owner, caller)
  if (allowance === INFINITE) return undefined
  if (allowance < amount) {
    return new Revert(errors.insufficientAllowance({ spender: caller, allowance, needed: amount }))
  }
  return approve(context, owner, caller, allowance - amount)
}

function isZero(account: Address): boolean {
  return account.every((byte) => byte === 0)
}
