import type { AccessListItem, Authorization } from '../../chain/transaction.ts'
import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { readAddress, readData, readHash } from './data.ts'
import { listReader, objectReader } from './object.ts'
import { quantity, readUint64, readUint256 } from './quantity.ts'

/** The transaction object of eth_call and its kin, with the fields that were given. */
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

/** geth: ethapi.TransactionArgs. Unknown keys are ignored, null is absent. */
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

/** Calldata of a request: `input` wins over `data`, and clients send both. */
export function callData(request: Pick<CallRequest, 'data' | 'input'>): Uint8Array {
  return request.input ?? request.data ?? EMPTY_BYTES
}

function missing(field: string, type: string): InvalidArgument {
  return new InvalidArgument(`missing required field '${field}' for ${type}`)
}
