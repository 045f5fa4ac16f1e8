import type { Address } from '../../primitives/address.ts'
import { hexToBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument, RPC_CODES, RpcError } from '../jsonrpc/errors.ts'
import type { ParamReader } from '../jsonrpc/method.ts'
import { type BlockNumberOrTag, readBlockNumberOrTag } from './blockSelector.ts'
import { objectReader, readHash } from './values.ts'

/** The filter object of eth_getLogs, eth_newFilter and the `logs` subscription. */
export interface LogFilter {
  readonly blockHash: Hash | undefined
  /** undefined: latest */
  readonly fromBlock: BlockNumberOrTag | undefined
  /** undefined: latest */
  readonly toBlock: BlockNumberOrTag | undefined
  /** any of these; empty: every address */
  readonly addresses: readonly Address[]
  /** by position any of these; an empty list matches any topic (which must be there) */
  readonly topics: readonly (readonly Hash[])[]
}

/** geth's limits (eth/filters/api.go): positions, and alternatives in one position. */
const MAX_TOPICS = 4
const MAX_ALTERNATIVES = 1000

const TOO_MANY_ALTERNATIVES = 'exceed max addresses or topics per search position'

const readFields = objectReader('input', 'filters.input', {
  blockHash: readHash,
  fromBlock: readBlockNumberOrTag,
  toBlock: readBlockNumberOrTag,
  address: (json: unknown) => json,
  topics: (json: unknown) => json,
})

/** Reads geth's filters.FilterCriteria, with the limits that geth's methods check. */
export const readLogFilter: ParamReader<LogFilter> = (json) => {
  const { blockHash, fromBlock, toBlock, address, topics } = readFields(json)
  if (blockHash !== undefined && (fromBlock !== undefined || toBlock !== undefined)) {
    throw new InvalidArgument('cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other')
  }
  return { blockHash, fromBlock, toBlock, addresses: readAddresses(address), topics: readTopics(topics) }
}

function readAddresses(json: unknown): readonly Address[] {
  if (json === undefined) return []
  if (typeof json === 'string') return [decodeSized(json, 20, 'address', 'invalid address: ')]
  if (!Array.isArray(json)) throw new InvalidArgument('invalid addresses in query')
  if (json.length > MAX_ALTERNATIVES) throw exceeded(TOO_MANY_ALTERNATIVES)
  return json.map((item: unknown, index) => {
    if (typeof item !== 'string') throw new InvalidArgument(`non-string address at index ${index}`)
    return decodeSized(item, 20, 'address', `invalid address at index ${index}: `)
  })
}

function readTopics(json: unknown): readonly (readonly Hash[])[] {
  if (json === undefined) return []
  if (!Array.isArray(json)) throw new InvalidArgument('invalid topic(s)')
  if (json.length > MAX_TOPICS) throw exceeded('exceed max topics')
  return json.map((position: unknown) => {
    if (position === null) return []
    if (typeof position === 'string') return [decodeSized(position, 32, 'topic')]
    if (!Array.isArray(position)) throw new InvalidArgument('invalid topic(s)')
    if (position.length > MAX_ALTERNATIVES) throw exceeded(TOO_MANY_ALTERNATIVES)
    const alternatives = position.map((topic: unknown) => {
      if (topic === null) return undefined
      if (typeof topic !== 'string') throw new InvalidArgument('invalid topic(s)')
      return decodeSized(topic, 32, 'topic')
    })
    // null among the alternatives matches any topic
    return alternatives.includes(undefined) ? [] : alternatives.filter((topic) => topic !== undefined)
  })
}

function decodeSized(text: string, size: number, what: 'address' | 'topic', prefix = ''): Uint8Array {
  if (text === '') throw new InvalidArgument(`${prefix}empty hex string`)
  if (!/^0x/i.test(text)) throw new InvalidArgument(`${prefix}hex string without 0x prefix`)
  if (text.length % 2 !== 0) throw new InvalidArgument(`${prefix}hex string of odd length`)
  if (!/^0x[0-9a-f]*$/i.test(text)) throw new InvalidArgument(`${prefix}invalid hex string`)
  const bytes = hexToBytes(text)
  if (bytes.length === size) return bytes
  throw new InvalidArgument(
    `${prefix}hex has invalid length ${bytes.length} after decoding; expected ${size} for ${what}`,
  )
}

/**
 * Returns the error for a limit. geth checks limits inside the methods, so these texts do not name
 * the argument.
 */
function exceeded(message: string): RpcError {
  return new RpcError(RPC_CODES.invalidParams, message)
}
