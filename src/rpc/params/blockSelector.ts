import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../jsonrpc/errors.ts'
import type { ParamReader } from '../jsonrpc/method.ts'
import { decodeBlockNumber, jsonKind, objectReader, readBool, readHash, TypeMismatch } from './values.ts'

/** One block (EIP-1898). */
export type BlockSelector =
  | { readonly kind: 'number'; readonly number: BlockNumberOrTag }
  | { readonly kind: 'hash'; readonly hash: Hash; readonly requireCanonical: boolean }

const BLOCK_TAGS = ['earliest', 'latest', 'safe', 'finalized', 'pending'] as const

type BlockTag = (typeof BLOCK_TAGS)[number]

/** A block's number or a tag. */
export type BlockNumberOrTag = number | BlockTag

export function byNumber(number: BlockNumberOrTag): BlockSelector {
  return { kind: 'number', number }
}

export function byHash(hash: Hash): BlockSelector {
  return { kind: 'hash', hash, requireCanonical: false }
}

/** The default of methods that read state. */
export const LATEST: BlockSelector = byNumber('latest')

/** Whether `text` is a block tag. */
function isBlockTag(text: string): text is BlockTag {
  return (BLOCK_TAGS as readonly string[]).includes(text)
}

/**
 * Reads a tag or a QUANTITY (geth: rpc.BlockNumber, whose texts the errors of numbers and other
 * JSON have).
 */
export const readBlockNumberOrTag: ParamReader<BlockNumberOrTag> = (json) => {
  const text = typeof json === 'string' ? json : JSON.stringify(json)
  return isBlockTag(text) ? text : decodeBlockNumber(text)
}

const readFields = objectReader('BlockNumberOrHash', 'rpc.BlockNumberOrHash', {
  blockNumber: readBlockNumberOrTag,
  blockHash: readHash,
  requireCanonical: readBool,
})

/** Reads a tag, a QUANTITY, a block hash, `{blockNumber}` or `{blockHash, requireCanonical}`. */
export const readBlockNumberOrHash: ParamReader<BlockSelector> = (json) => {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return readSelector(json)
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'string')
  if (isBlockTag(json)) return byNumber(json)
  if (json.length === 66) return byHash(readBareHash(json))
  return byNumber(decodeBlockNumber(json))
}

function readSelector(json: object): BlockSelector {
  const { blockNumber, blockHash, requireCanonical = false } = readFields(json)
  if (blockNumber !== undefined && blockHash !== undefined) {
    throw new InvalidArgument('cannot specify both BlockHash and BlockNumber, choose one or the other')
  }
  if (blockHash !== undefined) return { kind: 'hash', hash: blockHash, requireCanonical }
  if (blockNumber !== undefined) return byNumber(blockNumber)
  throw new InvalidArgument('must specify either BlockHash or BlockNumber')
}

/** Reads a hash outside an object, where geth names the fault without the type. */
function readBareHash(text: string): Hash {
  try {
    return readHash(text)
  } catch (error) {
    throw error instanceof TypeMismatch ? new InvalidArgument(error.found) : error
  }
}
