import type { Address } from '../../primitives/address.ts'
import type { ModuleContext } from '../context.ts'
import type { SdkError } from '../sdkError.ts'
import { emitBurn, emitCoinbase, emitCoinReceived, emitCoinSpent } from './bankEvents.ts'
import { burn } from './burn.ts'
import { mint } from './mint.ts'
import { transferError } from './send.ts'

type CoinContext = {
  readonly world: Pick<ModuleContext['world'], 'getBalance' | 'addBalance' | 'subBalance' | 'emitEvent' | 'native'>
}

/**
 * Makes coins in an account, with the events of MintCoins (x/bank/keeper/keeper.go).
 * @throws RangeError (a bug) when the supply would not fit 256 bits
 */
export function mintCoins({ world }: CoinContext, to: Address, amountAcoin: bigint): void {
  mint(world, to, amountAcoin)
  emitCoinReceived(world, to, amountAcoin)
  emitCoinbase(world, to, amountAcoin)
}

/** Destroys coins of an account, with the events of BurnCoins. */
export function burnCoins({ world }: CoinContext, from: Address, amountAcoin: bigint): SdkError | undefined {
  const burnt = burn(world, from, amountAcoin)
  if (!burnt.ok) return transferError(burnt, amountAcoin)
  emitCoinSpent(world, from, amountAcoin)
  emitBurn(world, from, amountAcoin)
  return undefined
}
