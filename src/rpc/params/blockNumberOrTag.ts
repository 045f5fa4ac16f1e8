import type { ParamReader } from '../method.ts'
import { decodeBlockNumber } from './quantity.ts'

export const BLOCK_TAGS = ['earliest', 'latest', 'safe', 'finalized', 'pending'] as const

export type BlockTag = (typeof BLOCK_TAGS)[number]

/** A block's number or a tag. */
export type BlockNumberOrTag = number | BlockTag

/** Whether `text` is a block tag. */
export function isBlockTag(text: string): text is BlockTag {
  return (BLOCK_TAGS as readonly string[]).includes(text)
}

/** A tag or a QUANTITY (geth: rpc.BlockNumber; the errors of numbers and other JSON are those of its text). */
export const readBlockNumberOrTag: ParamReader<BlockNumberOrTag> = (json) => {
  const text = typeof json === 'string' ? json : JSON.stringify(json)
  return isBlockTag(text) ? text : decodeBlockNumber(text)
}
