import type { Address } from '../../primitives/address.ts'
import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { readAddress, readHash } from './data.ts'
import { objectReader } from './object.ts'
import { readUint64, readUint256 } from './quantity.ts'

/** What a call replaces of the block that it runs in. */
export interface BlockOverrides {
  readonly number?: number | undefined
  readonly difficulty?: bigint | undefined
  /** whole seconds */
  readonly time?: number | undefined
  readonly gasLimit?: bigint | undefined
  readonly feeRecipient?: Address | undefined
  readonly prevRandao?: Hash | undefined
  readonly baseFeePerGas?: bigint | undefined
  readonly blobBaseFee?: bigint | undefined
  /** only eth_simulateV1 knows these */
  readonly beaconRoot?: unknown
  readonly withdrawals?: unknown
}

/** Heights and seconds are plain numbers in the node. */
function safeInteger(read: ParamReader<bigint>): ParamReader<number> {
  return (json) => {
    const value = read(json)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new InvalidArgument('hex number > 53 bits')
    return Number(value)
  }
}

/** geth: override.BlockOverrides. */
export const readBlockOverrides: ParamReader<BlockOverrides> = objectReader(
  'BlockOverrides',
  'override.BlockOverrides',
  {
    number: safeInteger(readUint256),
    difficulty: readUint256,
    time: safeInteger(readUint64),
    gasLimit: readUint64,
    feeRecipient: readAddress,
    prevRandao: readHash,
    baseFeePerGas: readUint256,
    blobBaseFee: readUint256,
    beaconRoot: (json: unknown) => json,
    withdrawals: (json: unknown) => json,
  },
)
