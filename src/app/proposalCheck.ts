import { type ChainConfig, forkAt, nativeGasLimit } from '../chain/chainConfig.ts'
import { floorDataGas, intrinsicGas } from '../evm/intrinsicGas.ts'
import { DEFAULT_AUTH_PARAMS } from '../modules/auth/params.ts'
import { type GasParams, laneGas } from '../modules/tx/gas.ts'
import type { Entry } from './entry.ts'

/**
 * Why a proposed block's entries are invalid, without executing it: one that no state could ever start (bytes, signature, chain
 * ID, intrinsic gas), or all of them exceed the block's gas at their cheapest. Entries that a state may start are
 * allowed to fail when their turn comes.
 * @param nativeCosts of the state before the block
 */
export function checkEntries(
  entries: readonly Entry[],
  height: number,
  chain: Pick<ChainConfig, 'forks' | 'blockGasLimit' | 'maxBlockBytes'>,
  nativeCosts: GasParams = DEFAULT_AUTH_PARAMS,
): string | undefined {
  const fork = forkAt(chain, height)
  let bytes = 0
  let gas = 0n
  let nativeGas = 0n
  for (const [position, entry] of entries.entries()) {
    if ('reason' in entry) return `transaction ${position}: ${entry.reason}`
    if ('native' in entry) {
      bytes += entry.native.raw.length
      nativeGas += laneGas(entry.native, nativeCosts)
      continue
    }
    const { transaction } = entry
    const intrinsic = intrinsicGas(transaction, fork)
    const floor = floorDataGas(transaction.data, fork)
    const minimum = intrinsic > floor ? intrinsic : floor
    if (transaction.gasLimit < minimum) {
      return `transaction ${position}: intrinsic gas too low: gas ${transaction.gasLimit}, minimum needed ${minimum}`
    }
    bytes += transaction.raw.length
    gas += leastGasUsed(intrinsic, floor)
  }
  if (bytes > chain.maxBlockBytes) return `the transactions take ${bytes} bytes, at most ${chain.maxBlockBytes} fit`
  if (gas > chain.blockGasLimit) return `the transactions need ${gas} gas, the block has ${chain.blockGasLimit}`
  const lane = nativeGasLimit(chain.blockGasLimit)
  if (nativeGas > lane) return `the native transactions need ${nativeGas} gas, the block has ${lane} for them`
  return undefined
}

/** EIP-3529: refunds give back at most a fifth of the gas; EIP-7623: the data's price is a floor. */
function leastGasUsed(intrinsic: bigint, floor: bigint): bigint {
  const charged = intrinsic - intrinsic / 5n
  return charged > floor ? charged : floor
}
