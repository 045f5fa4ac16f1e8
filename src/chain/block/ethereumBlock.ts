import type { Address } from '../../primitives/address.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import {
  atEnd,
  DecodingError,
  encodeRLP,
  encodeRLPList,
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
import type { SignedTransaction } from './transaction.ts'

/** An Ethereum block header of any fork; fields that later forks added are undefined. */
export interface EthereumHeader {
  readonly parentHash: Hash
  readonly sha3Uncles: Hash
  readonly miner: Address
  readonly stateRoot: Hash
  readonly transactionsRoot: Hash
  readonly receiptsRoot: Hash
  /** 256 bytes */
  readonly logsBloom: Uint8Array
  readonly difficulty: bigint
  readonly number: number
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  /** whole seconds */
  readonly timestamp: number
  readonly extraData: Uint8Array
  readonly mixHash: Hash
  /** 8 bytes */
  readonly nonce: Uint8Array
  /** since London */
  readonly baseFeePerGas: bigint | undefined
  /** since Shanghai */
  readonly withdrawalsRoot: Hash | undefined
  /** since Cancun */
  readonly blobGasUsed: bigint | undefined
  readonly excessBlobGas: bigint | undefined
  readonly parentBeaconBlockRoot: Hash | undefined
  /** since Prague */
  readonly requestsHash: Hash | undefined
}

/** Returns the block hash: keccak256(rlp(header)). */
export function ethereumHeaderHash(header: EthereumHeader): Hash {
  return keccak256(encodeEthereumHeader(header))
}

/**
 * Returns the RLP of the Ethereum block: header, transactions (typed ones as byte strings), no
 * uncles, no withdrawals. Source: EIP-2718, EIP-4895.
 */
export function encodeEthereumBlock(header: EthereumHeader, transactions: readonly SignedTransaction[]): Uint8Array {
  const parts = [
    encodeEthereumHeader(header),
    encodeRLPList(
      transactions.map(({ transaction }) => (transaction.type === 0 ? transaction.raw : encodeRLP(transaction.raw))),
    ),
    EMPTY_LIST,
  ]
  if (header.withdrawalsRoot !== undefined) parts.push(EMPTY_LIST)
  return encodeRLPList(parts)
}

/** Returns the length of {@link encodeEthereumBlock} in bytes. */
export function ethereumBlockSize(header: EthereumHeader, transactions: readonly SignedTransaction[]): number {
  return encodeEthereumBlock(header, transactions).length
}

const EMPTY_LIST = Uint8Array.of(0xc0)

/** Returns the header's RLP. It ends before the first undefined field of a later fork. */
export function encodeEthereumHeader(header: EthereumHeader): Uint8Array {
  const items: RLPInput[] = [
    header.parentHash,
    header.sha3Uncles,
    header.miner,
    header.stateRoot,
    header.transactionsRoot,
    header.receiptsRoot,
    header.logsBloom,
    header.difficulty,
    BigInt(header.number),
    header.gasLimit,
    header.gasUsed,
    BigInt(header.timestamp),
    header.extraData,
    header.mixHash,
    header.nonce,
  ]
  const later = [
    header.baseFeePerGas,
    header.withdrawalsRoot,
    header.blobGasUsed,
    header.excessBlobGas,
    header.parentBeaconBlockRoot,
    header.requestsHash,
  ]
  for (const item of later) {
    if (item === undefined) break
    items.push(item)
  }
  return encodeRLP(items)
}

/**
 * @throws DecodingError when `bytes` is not the canonical encoding of one header
 */
export function decodeEthereumHeader(bytes: Uint8Array): EthereumHeader {
  const cursor = openRLP(bytes)
  const header = readEthereumHeader(cursor)
  if (!atEnd(cursor)) throw new DecodingError('rlp: input contains more than one value')
  return header
}

/**
 * Reads a header inside a larger structure. Byte strings are views on the input.
 * @throws DecodingError
 */
export function readEthereumHeader(cursor: RLPCursor): EthereumHeader {
  const outerEnd = enterList(cursor, HEADER)
  const header: EthereumHeader = {
    parentHash: readHash(cursor, '.ParentHash'),
    sha3Uncles: readHash(cursor, '.UncleHash'),
    miner: readFixedBytes(cursor, 20, target('.Coinbase', 'common.Address')),
    stateRoot: readHash(cursor, '.Root'),
    transactionsRoot: readHash(cursor, '.TxHash'),
    receiptsRoot: readHash(cursor, '.ReceiptHash'),
    logsBloom: readFixedBytes(cursor, 256, target('.Bloom', 'types.Bloom')),
    difficulty: readInteger(cursor, 32, target('.Difficulty', '*big.Int')),
    number: readNumber(cursor, target('.Number', '*big.Int')),
    gasLimit: readInteger(cursor, 8, target('.GasLimit', 'uint64')),
    gasUsed: readInteger(cursor, 8, target('.GasUsed', 'uint64')),
    timestamp: readNumber(cursor, target('.Time', 'uint64')),
    extraData: readBytes(cursor, target('.Extra', '[]uint8')),
    mixHash: readHash(cursor, '.MixDigest'),
    nonce: readFixedBytes(cursor, 8, target('.Nonce', 'types.BlockNonce')),
    baseFeePerGas: optional(cursor, () => readInteger(cursor, 32, target('.BaseFee', '*big.Int'))),
    withdrawalsRoot: optional(cursor, () => readHash(cursor, '.WithdrawalsHash')),
    blobGasUsed: optional(cursor, () => readInteger(cursor, 8, target('.BlobGasUsed', 'uint64'))),
    excessBlobGas: optional(cursor, () => readInteger(cursor, 8, target('.ExcessBlobGas', 'uint64'))),
    parentBeaconBlockRoot: optional(cursor, () => readHash(cursor, '.ParentBeaconRoot')),
    requestsHash: optional(cursor, () => readHash(cursor, '.RequestsHash')),
  }
  leaveList(cursor, outerEnd, HEADER)
  return header
}

const HEADER: RLPTarget = { type: 'types.Header', path: '' }

function target(name: string, type: string): RLPTarget {
  return rlpField(HEADER, name, type)
}

function readHash(cursor: RLPCursor, name: string): Hash {
  return readFixedBytes(cursor, 32, target(name, 'common.Hash'))
}

function readNumber(cursor: RLPCursor, field: RLPTarget): number {
  const value = Number(readInteger(cursor, 8, field))
  if (!Number.isSafeInteger(value)) throw new DecodingError(`rlp: input string too long for ${field.type}`)
  return value
}

function optional<Value>(cursor: RLPCursor, read: () => Value): Value | undefined {
  return atEnd(cursor) ? undefined : read()
}
