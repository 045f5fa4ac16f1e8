import type { AccessListItem } from '../../src/chain/block/transaction.ts'
import type { Hardfork } from '../../src/chain/genesis/hardfork.ts'
import { floorDataGas, intrinsicGas } from '../../src/evm/intrinsicGas.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bigIntToBytes, EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import type { FuzzMessage } from './fuzzCase.ts'
import { anyAddress } from './population.ts'
import type { Random } from './random.ts'

export function pickFork(random: Random): Hardfork {
  return random.weighted<Hardfork>([
    [2, 'osaka'],
    [1, 'prague'],
    [1, 'cancun'],
  ])
}

/** A message with random data, value and access list, and gas that may or may not do. */
export function messageTo(random: Random, to: Address | undefined): FuzzMessage {
  const data = random.oneIn(3) ? EMPTY_BYTES : random.bytes(random.pick([1, 4, 31, 32, 33, 36, 64, 68, 100, 132]))
  const value = random.oneIn(3) ? BigInt(random.below(1_000)) : 0n
  const accessList = random.oneIn(6) ? anyAccessList(random) : []
  const blobHashes =
    to !== undefined && random.oneIn(12) ? [random.bytes(32).with(0, 1), random.bytes(32).with(0, 1)] : []
  return { to, value, data, gasLimit: executionGas(random), accessList, blobHashes }
}

/** Gas for the run itself, beyond the intrinsic cost. */
export function executionGas(random: Random): bigint {
  return BigInt(
    random.weighted<() => number>([
      [14, () => random.below(5_000)],
      [25, () => random.between(5_000, 60_000)],
      [56, () => random.between(60_000, 300_000)],
      [4, () => random.between(300_000, 1_000_000)],
      [1, () => 2_000_000],
    ])(),
  )
}

/** The message with the gas that it must have added to its own. Osaka is the newest fork, and no cost here differs between forks. */
export function withIntrinsicGas(message: FuzzMessage): FuzzMessage {
  const intrinsic = intrinsicGas({ ...message, authorizationList: [] }, 'osaka')
  const floor = floorDataGas(message.data, 'osaka')
  const gasLimit = message.gasLimit + intrinsic
  return { ...message, gasLimit: gasLimit < floor ? floor : gasLimit }
}

function anyAccessList(random: Random): AccessListItem[] {
  return Array.from({ length: random.between(1, 3) }, () => ({
    address: anyAddress(random),
    storageKeys: Array.from({ length: random.below(4) }, (_, slot) => bigIntToBytes(BigInt(slot), 32)),
  }))
}
