import type { Address } from '../../primitives/address.ts'
import type { WorldState } from '../../state/world.ts'
import { getSupply, setSupply } from './supply.ts'

/**
 * Makes `amount` acoin in the account `to`; the total supply grows by it.
 * @throws RangeError (a bug) when the supply would not fit 256 bits
 */
export function mint(world: Pick<WorldState, 'addBalance' | 'native'>, to: Address, amount: bigint): void {
  if (amount === 0n) return
  setSupply(world, getSupply(world) + amount)
  world.addBalance(to, amount)
}
