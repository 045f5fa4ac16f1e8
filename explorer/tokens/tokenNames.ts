import { bytesToBigInt, bytesToHex, EMPTY_BYTES, hexToBytes, toQuantity } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import type { IndexLock, Row } from '../database/indexDatabase.ts'
import type { Hex } from '../node/answers.ts'
import { type NodeClient, NodeError, NodeRefusal } from '../node/nodeClient.ts'

/** Tokens asked for at once, between two batches of blocks. */
const AT_ONCE = 10
/** Gas of a question: enough for any proxy, and too little to keep a node busy or to make an answer of a megabyte. */
const QUESTION_GAS = 300_000
/** Bytes of an answer that are read. */
const MAX_ANSWER = 4_096
/** Characters of a name that are stored. */
const MAX_NAME = 64
/** Decimals of a number of 256 bits. */
const MAX_DECIMALS = 77
/** The node's error code for too many requests, which are sent again later. */
const LIMIT_EXCEEDED = -32_005
/** Invisible characters, and those that change the direction of the text around them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

const QUESTIONS = ['name()', 'symbol()', 'decimals()'].map((signature) =>
  bytesToHex(keccak256(Buffer.from(signature)).subarray(0, 4)),
)

/**
 * Requests the names of the next few tokens that the index lacks, and stores them. A row of token_name is created with its token, and
 * `is_asked` marks that its contract has answered. The next call asks again when the node does not respond.
 */
export async function describeTokens({
  database,
  node,
}: {
  readonly database: IndexLock
  readonly node: Pick<NodeClient, 'ethereum'>
}): Promise<void> {
  const waiting = await database.queries
    .selectFrom('token_name')
    .select('address')
    .where('is_asked', '=', 0)
    .limit(AT_ONCE)
    .execute()
  if (waiting.length === 0) return
  let rows: readonly Row<'token_name'>[]
  try {
    rows = await Promise.all(
      waiting.map(async ({ address }): Promise<Row<'token_name'>> => {
        const to = bytesToHex(address)
        const [name, symbol, decimals] = await Promise.all(QUESTIONS.map((data) => ask(node, to, data)))
        return nameRow(address, name!, symbol!, decimals!)
      }),
    )
  } catch (error) {
    if (error instanceof NodeError) return
    throw error
  }
  await database.write((writer) => writer.replace('token_name', rows))
}

/** The row of token_name of a token whose contract returned these answers. */
export function nameRow(
  address: Uint8Array,
  name: Uint8Array,
  symbol: Uint8Array,
  decimals: Uint8Array,
): Row<'token_name'> {
  const [shownName, shownSymbol] = [textOf(name), textOf(symbol)]
  const places = decimals.length === 32 ? bytesToBigInt(decimals) : undefined
  return {
    address,
    is_asked: 1,
    name: shownName,
    symbol: shownSymbol,
    decimals: places === undefined || places > MAX_DECIMALS ? null : Number(places),
    name_key: searchKey(shownName ?? ''),
    symbol_key: searchKey(shownSymbol ?? ''),
  }
}

/** The key by which a name is searched: see the table `token_name`. */
export function searchKey(text: string): Uint8Array {
  return new TextEncoder().encode(text.toLowerCase())
}

/** Calls a contract. Returns no bytes when the call reverts or runs out of gas. */
async function ask(node: Pick<NodeClient, 'ethereum'>, to: Hex, data: Hex): Promise<Uint8Array> {
  try {
    const call = { to, data, gas: toQuantity(QUESTION_GAS) }
    const [answer] = (await node.ethereum([{ method: 'eth_call', params: [call, 'latest'] }])) as [Hex]
    return hexToBytes(answer.slice(0, 2 + 2 * MAX_ANSWER))
  } catch (error) {
    if (error instanceof NodeRefusal && error.code !== LIMIT_EXCEEDED) return EMPTY_BYTES
    throw error
  }
}

/** A `string`, or the `bytes32` that some of the oldest tokens return; null when it is neither, or shows nothing. */
function textOf(answer: Uint8Array): string | null {
  const bytes = answer.length === 32 ? untilZero(answer) : stringIn(answer)
  const shown = new TextDecoder().decode(bytes).replace(UNSEEN, '').replace(/\s+/g, ' ').trim()
  return shown === '' ? null : [...shown].slice(0, MAX_NAME).join('')
}

function untilZero(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

/** Returns the bytes of the ABI-encoded string that is the whole answer; no bytes when the string does not fit in it. */
function stringIn(answer: Uint8Array): Uint8Array {
  if (answer.length < 64) return EMPTY_BYTES
  const place = bytesToBigInt(answer.subarray(0, 32))
  if (place + 32n > BigInt(answer.length)) return EMPTY_BYTES
  const start = Number(place) + 32
  const length = bytesToBigInt(answer.subarray(start - 32, start))
  return length > BigInt(answer.length - start) ? EMPTY_BYTES : answer.subarray(start, start + Number(length))
}
