import type { Decimal } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { putInflation } from './minter.ts'
import { MINT_PARAMS, type MintParams } from './params.ts'

/** Writes the module's part of block 0. */
export function initMint(
  native: Pick<NativeStore, 'set' | 'delete'>,
  { params, inflation }: { readonly params: MintParams; readonly inflation: Decimal },
): void {
  MINT_PARAMS.set(native, params)
  putInflation(native, inflation)
}
