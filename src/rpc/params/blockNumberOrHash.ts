import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { type BlockNumberOrTag, isBlockTag, readBlockNumberOrTag } from './blockNumberOrTag.ts'
import { readBool } from './bool.ts'
import { readHash } from './data.ts'
import { jsonKind, TypeMismatch } from './mismatch.ts'
import { objectReader } from './object.ts'
import { decodeBlockNumber } from './quantity.ts'

/** One block (EIP-1898). */
export type BlockSelector =
  | { readonly kind: 'number'; readonly number: BlockNumberOrTag }
  | { readonly kind: 'hash'; readonly hash: Hash; readonly requireCanonical: boolean }

/** The block that state methods read when they are not told another. */
export const LATEST: BlockSelector = { kind: 'number', number: 'latest' }

const readFields = objectReader('BlockNumberOrHash', 'rpc.BlockNumberOrHash', {
  blockNumber: readBlockNumberOrTag,
  blockHash: readHash,
  requireCanonical: readBool,
})

/** A tag, a QUANTITY, a block hash, `{blockNumber}` or `{blockHash, requireCanonical}`. */
export const readBlockNumberOrHash: ParamReader<BlockSelector> = (json) => {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return readSelector(json)
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'string')
  if (isBlockTag(json)) return { kind: 'number', number: json }
  if (json.length === 66) return { kind: 'hash', hash: readBareHash(json), requireCanonical: false }
  return { kind: 'number', number: decodeBlockNumber(json) }
}

function readSelector(json: object): BlockSelector {
  const { blockNumber, blockHash, requireCanonical = false } = readFields(json)
  if (blockNumber !== undefined && blockHash !== undefined) {
    throw new InvalidArgument('cannot specify both BlockHash and BlockNumber, choose one or the other')
  }
  if (blockHash !== undefined) return { kind: 'hash', hash: blockHash, requireCanonical }
  if (blockNumber !== undefined) return { kind: 'number', number: blockNumber }
  throw new InvalidArgument('must specify either BlockHash or BlockNumber')
}

/** Outside an object geth names the fault without the type. */
function readBareHash(text: string): Hash {
  try {
    return readHash(text)
  } catch (error) {
    throw error instanceof TypeMismatch ? new InvalidArgument(error.found) : error
  }
}
