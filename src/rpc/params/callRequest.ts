import type { AccessListItem, Authorization } from '../../chain/block/transaction.ts'
import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../jsonrpc/errors.ts'
import type { ParamReader } from '../jsonrpc/method.ts'
import {
  listReader,
  objectReader,
  quantity,
  readAddress,
  readData,
  readHash,
  readUint64,
  readUint256,
  recordReader,
  strictObjectReader,
} from './values.ts'

/** The transaction object of eth_call and similar methods, with the fields that were present. */
export interface CallRequest {
  readonly from?: Address | undefined
  readonly to?: Address | undefined
  readonly gas?: bigint | undefined
  readonly gasPrice?: bigint | undefined
  readonly maxFeePerGas?: bigint | undefined
  readonly maxPriorityFeePerGas?: bigint | undefined
  readonly value?: bigint | undefined
  readonly nonce?: bigint | undefined
  readonly data?: Uint8Array | undefined
  readonly input?: Uint8Array | undefined
  readonly accessList?: readonly AccessListItem[] | undefined
  readonly chainId?: bigint | undefined
  readonly maxFeePerBlobGas?: bigint | undefined
  readonly blobVersionedHashes?: readonly Hash[] | undefined
  readonly authorizationList?: readonly Authorization[] | undefined
}

const readTuple = objectReader('AccessTuple', 'types.AccessTuple', {
  address: readAddress,
  storageKeys: listReader(readHash, '[]common.Hash'),
})

const readAccessListItem: ParamReader<AccessListItem> = (json) => {
  const { address, storageKeys } = readTuple(json)
  if (address === undefined) throw missing('address', 'AccessTuple')
  if (storageKeys === undefined) throw missing('storageKeys', 'AccessTuple')
  return { address, storageKeys }
}

const readUnsignedInt256 = quantity(256, 'hexutil.U256')

const readAuthorizationFields = objectReader('SetCodeAuthorization', 'types.SetCodeAuthorization', {
  chainId: readUnsignedInt256,
  address: readAddress,
  nonce: readUint64,
  yParity: readUint64,
  r: readUnsignedInt256,
  s: readUnsignedInt256,
})

const readAuthorization: ParamReader<Authorization> = (json) => {
  const fields = readAuthorizationFields(json)
  const need = <K extends keyof Authorization>(name: K): Authorization[K] => {
    const value = fields[name]
    if (value === undefined) throw missing(name, 'SetCodeAuthorization')
    return value as Authorization[K]
  }
  return {
    chainId: need('chainId'),
    address: need('address'),
    nonce: need('nonce'),
    yParity: need('yParity'),
    r: need('r'),
    s: need('s'),
  }
}

function missing(field: string, type: string): InvalidArgument {
  return new InvalidArgument(`missing required field '${field}' for ${type}`)
}

/** Reads geth's ethapi.TransactionArgs. Unknown keys are ignored, null means absent. */
export const readCallRequest: ParamReader<CallRequest> = objectReader('TransactionArgs', 'ethapi.TransactionArgs', {
  from: readAddress,
  to: readAddress,
  gas: readUint64,
  gasPrice: readUint256,
  maxFeePerGas: readUint256,
  maxPriorityFeePerGas: readUint256,
  value: readUint256,
  nonce: readUint64,
  data: readData,
  input: readData,
  accessList: listReader(readAccessListItem, 'types.AccessList'),
  chainId: readUint256,
  maxFeePerBlobGas: readUint256,
  blobVersionedHashes: listReader(readHash, '[]common.Hash'),
  authorizationList: listReader(readAuthorization, '[]types.SetCodeAuthorization'),
})

/** Returns the calldata of a request: `input` before `data`; clients may send both. */
export function callData(request: Pick<CallRequest, 'data' | 'input'>): Uint8Array {
  return request.input ?? request.data ?? EMPTY_BYTES
}

type SlotValues = readonly (readonly [slot: Uint8Array, value: Uint8Array])[]

/** Replacements for one account, applied before a call runs. */
export interface AccountOverride {
  readonly nonce?: bigint | undefined
  readonly code?: Uint8Array | undefined
  readonly balance?: bigint | undefined
  /** replaces the whole storage */
  readonly state?: SlotValues | undefined
  /** replaces these slots */
  readonly stateDiff?: SlotValues | undefined
  readonly movePrecompileToAddress?: Address | undefined
}

export type StateOverrides = readonly (readonly [address: Address, override: AccountOverride])[]

const readSlots: ParamReader<SlotValues> = recordReader(readHash, readHash, 'map[common.Hash]common.Hash')

const ACCOUNT_OVERRIDE = [
  'OverrideAccount',
  'override.OverrideAccount',
  {
    nonce: readUint64,
    code: readData,
    balance: readUint256,
    state: readSlots,
    stateDiff: readSlots,
    movePrecompileToAddress: readAddress,
  },
] as const
const STATE_OVERRIDE = 'override.StateOverride'

/**
 * Reads the state overrides of eth_call and similar methods: `{address: {nonce, code, balance,
 * state | stateDiff}}`.
 */
export const readStateOverrides: ParamReader<StateOverrides> = recordReader(
  readAddress,
  objectReader(...ACCOUNT_OVERRIDE),
  STATE_OVERRIDE,
)

/** Reads the state overrides of eth_simulateV1, where an unknown field is an error. */
export const readStrictStateOverrides: ParamReader<StateOverrides> = recordReader(
  readAddress,
  strictObjectReader(...ACCOUNT_OVERRIDE),
  STATE_OVERRIDE,
)

/** Replacements for fields of the block that a call runs in. */
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
  /** only known to eth_simulateV1 */
  readonly beaconRoot?: Hash | undefined
  readonly withdrawals?: readonly unknown[] | undefined
}

/** Returns a reader of heights and seconds, which are plain numbers in the node. */
function safeInteger(read: ParamReader<bigint>): ParamReader<number> {
  return (json) => {
    const value = read(json)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new InvalidArgument('hex number > 53 bits')
    return Number(value)
  }
}

const BLOCK_OVERRIDES = [
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
    beaconRoot: readHash,
    withdrawals: listReader((json) => json, 'types.Withdrawals'),
  },
] as const

/** Reads geth's override.BlockOverrides. */
export const readBlockOverrides: ParamReader<BlockOverrides> = objectReader(...BLOCK_OVERRIDES)

/** Reads the block overrides of eth_simulateV1, where an unknown field is an error. */
export const readStrictBlockOverrides: ParamReader<BlockOverrides> = strictObjectReader(...BLOCK_OVERRIDES)
