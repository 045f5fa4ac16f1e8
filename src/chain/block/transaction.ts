import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import {
  atEnd,
  DecodingError,
  encodeRLP,
  enterList,
  leaveList,
  openRLP,
  type RLPCursor,
  type RLPInput,
  type RLPTarget,
  readBytes,
  readFixedBytes,
  readInteger,
  rlpField,
} from '../../primitives/rlp.ts'

export interface AccessListItem {
  readonly address: Address
  readonly storageKeys: readonly Uint8Array[]
}

/** EIP-7702 authorization. */
export interface Authorization {
  readonly chainId: bigint
  readonly address: Address
  readonly nonce: bigint
  readonly yParity: bigint
  readonly r: bigint
  readonly s: bigint
}

/** A decoded EVM transaction of any type. */
export interface Transaction {
  readonly type: 0 | 1 | 2 | 3 | 4
  readonly hash: Hash
  /** the EIP-2718 envelope; for a legacy transaction its RLP list */
  readonly raw: Uint8Array
  /** undefined for a legacy transaction without EIP-155 protection */
  readonly chainId: bigint | undefined
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** for types 0 and 1 the gas price */
  readonly maxFeePerGas: bigint
  /** for types 0 and 1 the gas price */
  readonly maxPriorityFeePerGas: bigint
  /** undefined creates a contract */
  readonly to: Address | undefined
  readonly value: bigint
  readonly data: Uint8Array
  readonly accessList: readonly AccessListItem[]
  readonly authorizationList: readonly Authorization[]
  readonly maxFeePerBlobGas: bigint
  readonly blobVersionedHashes: readonly Hash[]
  /** the signature's v as encoded: 27, 28 or 35 + 2·chainId + parity for type 0, the parity for the others */
  readonly v: bigint
  readonly yParity: 0 | 1
  readonly r: bigint
  readonly s: bigint
}

/** A transaction with the sender that its signature recovers to. */
export interface SignedTransaction {
  readonly transaction: Transaction
  readonly sender: Address
}

/** A transaction without its signature and the fields that depend on it. */
export type UnsignedTransaction = Omit<Transaction, 'hash' | 'raw' | 'v' | 'yParity' | 'r' | 's'>

/** A signature as the envelope holds it. */
type TransactionSignature = Pick<Transaction, 'v' | 'r' | 's'>

/** geth's text for a signature whose values are out of range (core/types/transaction_signing.go). */
export const INVALID_SIGNATURE = 'invalid sender: invalid transaction v, r, s values'

/**
 * Decodes an EIP-2718 envelope or a legacy transaction. Only the canonical encoding is accepted. Blob transactions are accepted in
 * their block form, without the sidecar. Byte strings are views on `raw`.
 * @param hash keccak256 of `raw`, if the caller knows it
 * @throws DecodingError with geth's text
 */
export function decodeTransaction(raw: Uint8Array, hash?: Hash): Transaction {
  const first = raw[0]
  if (first !== undefined && first > 0x7f) return decodeLegacy(raw, hash)
  if (raw.length <= 1) throw new DecodingError('typed transaction too short')
  if (first === undefined || first < 1 || first > 4) throw new DecodingError('transaction type not supported')
  return decodeTyped(raw, first as 1 | 2 | 3 | 4, hash)
}

/** Returns the envelope (legacy: the RLP list) of a transaction with its signature. */
export function encodeTransaction(transaction: UnsignedTransaction, signature: TransactionSignature): Uint8Array {
  return encodeEnvelope(transaction.type, [...unsignedItems(transaction), signature.v, signature.r, signature.s])
}

/**
 * Returns the bytes that are hashed for signing: as in EIP-155 for a legacy transaction with a
 * chain ID, otherwise the envelope without signature.
 */
export function encodeForSigning(transaction: UnsignedTransaction): Uint8Array {
  const items = unsignedItems(transaction)
  if (transaction.type === 0 && transaction.chainId !== undefined) items.push(transaction.chainId, 0n, 0n)
  return encodeEnvelope(transaction.type, items)
}

/**
 * Returns a transaction of `type` whose other fields are 0 or empty unless given; `gasPrice` fills
 * both fee fields.
 */
export function buildTransaction(
  fields: Partial<UnsignedTransaction> & Pick<UnsignedTransaction, 'type'> & { readonly gasPrice?: bigint },
): UnsignedTransaction {
  const { gasPrice = 0n, ...rest } = fields
  return {
    chainId: undefined,
    nonce: 0n,
    gasLimit: 0n,
    maxFeePerGas: gasPrice,
    maxPriorityFeePerGas: gasPrice,
    to: undefined,
    value: 0n,
    data: EMPTY_BYTES,
    accessList: [],
    authorizationList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    ...rest,
  }
}

/**
 * Returns the EIP-2718 envelope: the type, unless it is 0 (legacy), and the RLP list of the fields.
 */
function encodeEnvelope(type: number, items: readonly RLPInput[]): Uint8Array {
  const list = encodeRLP(items)
  if (type === 0) return list
  const envelope = new Uint8Array(list.length + 1)
  envelope[0] = type
  envelope.set(list, 1)
  return envelope
}

function unsignedItems(transaction: UnsignedTransaction): RLPInput[] {
  const { type, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, value, data } = transaction
  const to = transaction.to ?? EMPTY_BYTES
  if (type === 0) return [nonce, maxFeePerGas, gasLimit, to, value, data]
  const chainId = transaction.chainId ?? 0n
  const accessList = transaction.accessList.map(({ address, storageKeys }) => [address, storageKeys])
  if (type === 1) return [chainId, nonce, maxFeePerGas, gasLimit, to, value, data, accessList]
  const items: RLPInput[] = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, value, data, accessList]
  if (type === 3) items.push(transaction.maxFeePerBlobGas, transaction.blobVersionedHashes)
  if (type === 4) {
    items.push(transaction.authorizationList.map((a) => [a.chainId, a.address, a.nonce, a.yParity, a.r, a.s]))
  }
  return items
}

function decodeLegacy(raw: Uint8Array, hash: Hash | undefined): Transaction {
  const names = TARGETS[0]
  const cursor = openRLP(raw)
  const outerEnd = enterList(cursor, names.list)
  const nonce = readInteger(cursor, 8, names.nonce)
  const gasPrice = readInteger(cursor, 32, names.gasPrice)
  const gasLimit = readInteger(cursor, 8, names.gasLimit)
  const to = readRecipient(cursor, names.to)
  const value = readInteger(cursor, 32, names.value)
  const data = readBytes(cursor, names.data)
  const v = readInteger(cursor, 32, names.v)
  const r = readInteger(cursor, 32, names.r)
  const s = readInteger(cursor, 32, names.s)
  finish(cursor, outerEnd, names.list)
  const isProtected = v >= 35n
  if (!isProtected && v !== 27n && v !== 28n) throw new DecodingError(INVALID_SIGNATURE)
  return {
    type: 0,
    hash: hash ?? keccak256(raw),
    raw,
    chainId: isProtected ? (v - 35n) >> 1n : undefined,
    nonce,
    gasLimit,
    maxFeePerGas: gasPrice,
    maxPriorityFeePerGas: gasPrice,
    to,
    value,
    data,
    accessList: [],
    authorizationList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    v,
    yParity: (v & 1n) === 1n ? 0 : 1,
    r,
    s,
  }
}

function decodeTyped(raw: Uint8Array, type: 1 | 2 | 3 | 4, hash: Hash | undefined): Transaction {
  const names = TARGETS[type]
  const cursor = openRLP(raw, 1)
  const outerEnd = enterList(cursor, names.list)
  const chainId = readInteger(cursor, 32, names.chainId)
  const nonce = readInteger(cursor, 8, names.nonce)
  const maxPriorityFeePerGas = readInteger(cursor, 32, type === 1 ? names.gasPrice : names.tip)
  const maxFeePerGas = type === 1 ? maxPriorityFeePerGas : readInteger(cursor, 32, names.feeCap)
  const gasLimit = readInteger(cursor, 8, names.gasLimit)
  const to = type < 3 ? readRecipient(cursor, names.to) : readFixedBytes(cursor, 20, names.requiredTo)
  const value = readInteger(cursor, 32, names.value)
  const data = readBytes(cursor, names.data)
  const accessList = readAccessList(cursor, names)
  const maxFeePerBlobGas = type === 3 ? readInteger(cursor, 32, names.blobFeeCap) : 0n
  const blobVersionedHashes = type === 3 ? readHashes(cursor, names.blobHashes, names.blobHash) : []
  const authorizationList = type === 4 ? readAuthorizations(cursor, names) : []
  const v = readInteger(cursor, 32, names.v)
  const r = readInteger(cursor, 32, names.r)
  const s = readInteger(cursor, 32, names.s)
  finish(cursor, outerEnd, names.list)
  if (v > 1n) throw new DecodingError(INVALID_SIGNATURE)
  return {
    type,
    hash: hash ?? keccak256(raw),
    raw,
    chainId,
    nonce,
    gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas,
    to,
    value,
    data,
    accessList,
    authorizationList,
    maxFeePerBlobGas,
    blobVersionedHashes,
    v,
    yParity: v === 1n ? 1 : 0,
    r,
    s,
  }
}

function finish(cursor: RLPCursor, outerEnd: number, list: RLPTarget): void {
  leaveList(cursor, outerEnd, list)
  if (!atEnd(cursor)) throw new DecodingError('rlp: input contains more than one value')
}

function readRecipient(cursor: RLPCursor, target: RLPTarget): Uint8Array | undefined {
  if (cursor.offset < cursor.end) {
    const first = cursor.bytes[cursor.offset]!
    if (first === 0x80) {
      cursor.offset++
      return undefined
    }
    if (first === 0xc0) {
      throw new DecodingError(
        `rlp: wrong kind of empty value (got List, want String) for ${target.type}, decoding into ${target.path}`,
      )
    }
  }
  return readFixedBytes(cursor, 20, target)
}

function readHashes(cursor: RLPCursor, list: RLPTarget, item: RLPTarget): Uint8Array[] {
  const outerEnd = enterList(cursor, list)
  const hashes: Uint8Array[] = []
  try {
    while (!atEnd(cursor)) hashes.push(readFixedBytes(cursor, 32, item))
  } catch (error) {
    throw withIndex(error, '[#]', hashes.length)
  }
  leaveList(cursor, outerEnd, list)
  return hashes
}

function readAccessList(cursor: RLPCursor, names: TargetTable): AccessListItem[] {
  const outerEnd = enterList(cursor, names.accessList)
  const items: AccessListItem[] = []
  try {
    while (!atEnd(cursor)) {
      const listEnd = enterList(cursor, names.accessTuple)
      const address = readFixedBytes(cursor, 20, names.accessAddress)
      const storageKeys = readHashes(cursor, names.storageKeys, names.storageKey)
      leaveList(cursor, listEnd, names.accessTuple)
      items.push({ address, storageKeys })
    }
  } catch (error) {
    throw withIndex(error, '[*]', items.length)
  }
  leaveList(cursor, outerEnd, names.accessList)
  return items
}

function readAuthorizations(cursor: RLPCursor, names: TargetTable): Authorization[] {
  const outerEnd = enterList(cursor, names.authorizations)
  const items: Authorization[] = []
  try {
    while (!atEnd(cursor)) {
      const listEnd = enterList(cursor, names.authorization)
      const chainId = readInteger(cursor, 32, names.authorizationChainId)
      const address = readFixedBytes(cursor, 20, names.authorizationAddress)
      const nonce = readInteger(cursor, 8, names.authorizationNonce)
      const yParity = readInteger(cursor, 1, names.authorizationV)
      const r = readInteger(cursor, 32, names.authorizationR)
      const s = readInteger(cursor, 32, names.authorizationS)
      leaveList(cursor, listEnd, names.authorization)
      items.push({ chainId, address, nonce, yParity, r, s })
    }
  } catch (error) {
    throw withIndex(error, '[*]', items.length)
  }
  leaveList(cursor, outerEnd, names.authorizations)
  return items
}

/** Replaces `mark` in the path of a decoding error by the index of the list item that failed. */
function withIndex(error: unknown, mark: string, index: number): unknown {
  if (!(error instanceof DecodingError)) return error
  return new DecodingError(error.message.replace(mark, `[${index}]`))
}

type TargetTable = ReturnType<typeof createTargets>

/** Go types and field names of geth's structures (core/types/tx_*.go), which its decoding errors mention. */
function createTargets(struct: string, integer: string) {
  const list: RLPTarget = { type: struct, path: '' }
  const field = (name: string, type: string, of: RLPTarget = list): RLPTarget => rlpField(of, name, type)
  const accessList = field('.AccessList', 'types.AccessList')
  const accessTuple: RLPTarget = { type: 'types.AccessTuple', path: `${accessList.path}[*]` }
  const storageKeys = field('.StorageKeys', '[]common.Hash', accessTuple)
  const blobHashes = field('.BlobHashes', '[]common.Hash')
  const authorizations = field('.AuthList', '[]types.SetCodeAuthorization')
  const authorization: RLPTarget = { type: 'types.SetCodeAuthorization', path: `${authorizations.path}[*]` }
  return {
    list,
    chainId: field('.ChainID', integer),
    nonce: field('.Nonce', 'uint64'),
    gasPrice: field('.GasPrice', integer),
    tip: field('.GasTipCap', integer),
    feeCap: field('.GasFeeCap', integer),
    gasLimit: field('.Gas', 'uint64'),
    to: field('.To', '*common.Address'),
    requiredTo: field('.To', 'common.Address'),
    value: field('.Value', integer),
    data: field('.Data', '[]uint8'),
    accessList,
    accessTuple,
    accessAddress: field('.Address', 'common.Address', accessTuple),
    storageKeys,
    storageKey: { type: 'common.Hash', path: `${storageKeys.path}[#]` },
    blobFeeCap: field('.BlobFeeCap', integer),
    blobHashes,
    blobHash: { type: 'common.Hash', path: `${blobHashes.path}[#]` },
    authorizations,
    authorization,
    authorizationChainId: field('.ChainID', 'uint256.Int', authorization),
    authorizationAddress: field('.Address', 'common.Address', authorization),
    authorizationNonce: field('.Nonce', 'uint64', authorization),
    authorizationV: field('.V', 'uint8', authorization),
    authorizationR: field('.R', 'uint256.Int', authorization),
    authorizationS: field('.S', 'uint256.Int', authorization),
    v: field('.V', integer),
    r: field('.R', integer),
    s: field('.S', integer),
  }
}

const TARGETS = [
  createTargets('types.LegacyTx', '*big.Int'),
  createTargets('types.AccessListTx', '*big.Int'),
  createTargets('types.DynamicFeeTx', '*big.Int'),
  createTargets('types.BlobTx', '*uint256.Int'),
  createTargets('types.SetCodeTx', '*uint256.Int'),
] as const
