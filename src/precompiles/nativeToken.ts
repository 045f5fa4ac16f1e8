import type { StatefulPrecompile } from '../evm/precompile.ts'
import { getSupply } from '../modules/bank/supply.ts'
import { transfer } from '../modules/bank/transfer.ts'
import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES, equalBytes, hexToBytes } from '../primitives/bytes.ts'
import { encodePanic, encodeString, encodeValues, eventTopic } from './abi.ts'
import { getAllowance, setAllowance } from './allowances.ts'
import { createPrecompile, defineFunction, type FunctionContext, type FunctionOutcome } from './dispatch.ts'
import * as errors from './erc20Errors.ts'
import { NATIVE_TOKEN_GAS as GAS } from './nativeTokenGas.ts'

/** COIN as an ERC-20 token: the token balance of an account is its balance in acoin. There is no second ledger. */
export const NATIVE_TOKEN_ADDRESS: Address = hexToBytes('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')

const SYMBOL = 'COIN'
const DECIMALS = 18n
const INFINITE = (1n << 256n) - 1n
const TRUE = 1n
const ARITHMETIC_OVERFLOW = encodePanic(0x11n)

const TRANSFER = eventTopic('Transfer(address,address,uint256)')
const APPROVAL = eventTopic('Approval(address,address,uint256)')
const DEPOSIT = eventTopic('Deposit(address,uint256)')
const WITHDRAWAL = eventTopic('Withdrawal(address,uint256)')

const text = (value: string): FunctionOutcome => ({ output: encodeString(value) })
const word = (value: bigint): FunctionOutcome => ({ output: encodeValues(value) })
const revert = (data: Uint8Array): FunctionOutcome => ({ revert: data })

/**
 * ERC-20 with the errors and their order of OpenZeppelin Contracts 5, and WETH9's deposit and withdraw, which move
 * nothing because there is nothing to wrap. Where it departs from OpenZeppelin: spending an allowance emits Approval, and the contract itself is
 * an invalid receiver, since no call could ever move coins out of it again. Coins that reach its account without a call
 * (self-destruct, block rewards) stay there and count in totalSupply.
 */
export const nativeToken: StatefulPrecompile = createPrecompile(
  NATIVE_TOKEN_ADDRESS,
  [
    defineFunction({ name: 'name', inputs: [], gas: GAS.name, mutability: 'view', run: () => text(SYMBOL) }),
    defineFunction({ name: 'symbol', inputs: [], gas: GAS.symbol, mutability: 'view', run: () => text(SYMBOL) }),
    defineFunction({ name: 'decimals', inputs: [], gas: GAS.decimals, mutability: 'view', run: () => word(DECIMALS) }),
    defineFunction({
      name: 'totalSupply',
      inputs: [],
      gas: GAS.totalSupply,
      mutability: 'view',
      run: ({ world }) => word(getSupply(world)),
    }),
    defineFunction({
      name: 'balanceOf',
      inputs: ['address'],
      gas: GAS.balanceOf,
      mutability: 'view',
      run: ({ world }, account) => word(world.getBalance(account)),
    }),
    defineFunction({
      name: 'allowance',
      inputs: ['address', 'address'],
      gas: GAS.allowance,
      mutability: 'view',
      run: ({ world }, owner, spender) => word(getAllowance(world, NATIVE_TOKEN_ADDRESS, owner, spender)),
    }),
    defineFunction({
      name: 'transfer',
      inputs: ['address', 'uint256'],
      gas: GAS.transfer,
      mutability: 'nonpayable',
      run: (context, to, amount) => move(context, context.caller, to, amount) ?? word(TRUE),
    }),
    defineFunction({
      name: 'approve',
      inputs: ['address', 'uint256'],
      gas: GAS.approve,
      mutability: 'nonpayable',
      run: (context, spender, amount) => approve(context, context.caller, spender, amount) ?? word(TRUE),
    }),
    defineFunction({
      name: 'transferFrom',
      inputs: ['address', 'address', 'uint256'],
      gas: GAS.transferFrom,
      mutability: 'nonpayable',
      run: (context, from, to, amount) =>
        spendAllowance(context, from, amount) ?? move(context, from, to, amount) ?? word(TRUE),
    }),
    defineFunction({ name: 'deposit', inputs: [], gas: GAS.deposit, mutability: 'payable', run: deposit }),
    defineFunction({
      name: 'withdraw',
      inputs: ['uint256'],
      gas: GAS.withdraw,
      mutability: 'nonpayable',
      run: ({ world, caller }, amount) => {
        const balance = world.getBalance(caller)
        if (balance < amount) return revert(errors.insufficientBalance(caller, balance, amount))
        emit(world, [WITHDRAWAL, encodeValues(caller)], amount)
        return { output: EMPTY_BYTES }
      },
    }),
  ],
  { gas: GAS.deposit, mutability: 'payable', run: deposit },
)

/** Gives the value of the call back: the caller has as many tokens, that is coins, as before. */
function deposit({ world, caller, value }: FunctionContext): FunctionOutcome {
  const returned = transfer(world, NATIVE_TOKEN_ADDRESS, caller, value)
  if (!returned.ok) throw new Error('the value of the call is not in the account of the native token')
  emit(world, [DEPOSIT, encodeValues(caller)], value)
  return { output: EMPTY_BYTES }
}

/** Moves coins; undefined when that succeeded. */
function move({ world }: FunctionContext, from: Address, to: Address, amount: bigint): FunctionOutcome | undefined {
  if (isZero(from)) return revert(errors.invalidSender(from))
  if (isZero(to) || equalBytes(to, NATIVE_TOKEN_ADDRESS)) return revert(errors.invalidReceiver(to))
  const moved = transfer(world, from, to, amount)
  if (!moved.ok) {
    return revert(
      moved.reason === 'overflow' ? ARITHMETIC_OVERFLOW : errors.insufficientBalance(from, moved.balance, amount),
    )
  }
  emit(world, [TRANSFER, encodeValues(from), encodeValues(to)], amount)
  return undefined
}

/** Sets an allowance; undefined when that succeeded. */
function approve(
  { world }: FunctionContext,
  owner: Address,
  spender: Address,
  amount: bigint,
): FunctionOutcome | undefined {
  if (isZero(owner)) return revert(errors.invalidApprover(owner))
  if (isZero(spender)) return revert(errors.invalidSpender(spender))
  setAllowance(world, NATIVE_TOKEN_ADDRESS, owner, spender, amount)
  emit(world, [APPROVAL, encodeValues(owner), encodeValues(spender)], amount)
  return undefined
}

/** Takes `amount` off what the caller may spend of `owner`'s, unless that is unlimited; undefined when that succeeded. */
function spendAllowance(context: FunctionContext, owner: Address, amount: bigint): FunctionOutcome | undefined {
  const { world, caller } = context
  const allowance = getAllowance(world, NATIVE_TOKEN_ADDRESS, owner, caller)
  if (allowance === INFINITE) return undefined
  if (allowance < amount) return revert(errors.insufficientAllowance(caller, allowance, amount))
  return approve(context, owner, caller, allowance - amount)
}

function emit(world: FunctionContext['world'], topics: readonly Uint8Array[], amount: bigint): void {
  world.emitLog({ address: NATIVE_TOKEN_ADDRESS, topics, data: encodeValues(amount) })
}

function isZero(address: Address): boolean {
  return address.every((byte) => byte === 0)
}
