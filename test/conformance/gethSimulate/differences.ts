import { isDeepStrictEqual } from 'node:util'

/** An answer without its envelope. */
export type Answer = { readonly result: unknown } | { readonly error: unknown }

/**
 * Where geth's words differ from this node's; docs/json-rpc.md tells clients. geth 1.17 puts `out of gas: ` before whatever goes wrong while the price
 * of an opcode is found, names opcodes that its fork does not have, looks at the gas for a code before
 * its length, and has other errors for points that are none.
 */
const WORDS: readonly (readonly [geths: RegExp, ours: string])[] = [
  [/^out of gas: .*?( \(gas limit was capped .*\))?$/, 'out of gas$1'],
  [/^invalid opcode: (?:[A-Z][A-Z0-9]+|opcode 0x[0-9a-f]+ not defined)$/, 'invalid opcode'],
  [/^(?:invalid fp\.Element encoding|invalid point: .*|point is not on curve)$/, 'invalid point'],
  [
    /^(?:max code size exceeded(?:: code size \d+ limit \d+)?|contract creation code storage out of gas)/,
    'code not stored',
  ],
  [/^bn256: (?:malformed point|coordinate exceeds modulus)$/, 'invalid point'],
]

/** geth shows this chain ID, of no chain, in legacy transactions of simulations, which nobody signed. */
const UNSIGNED_CHAIN_ID = '0x7fffffffffffffee'

/** Logs of failed frames count in the indices of later ones here, as in the cases of execution-apis: their order is compared. */
function indexedInOrder(block: Readonly<Record<string, unknown>>): unknown {
  let next = 0
  const renumbered = (logs: unknown): unknown =>
    Array.isArray(logs) ? logs.map((log) => ({ ...(log as object), logIndex: next++ })) : logs
  const { calls } = block
  if (!Array.isArray(calls)) return block
  return { ...block, calls: calls.map((call) => ({ ...call, logs: renumbered(call.logs) })) }
}

/** @returns where two answers differ, or undefined: `result[0].calls[1].gasUsed: "0x5208", geth "0x5209"` */
export function difference(ours: Answer, geths: Answer): string | undefined {
  return firstDifference(comparable(ours), comparable(geths), '')
}

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(indexedInOrder(value as Readonly<Record<string, unknown>>) as object)
      .filter(([key, entry]) => key !== 'chainId' || entry !== UNSIGNED_CHAIN_ID)
      .map(([key, entry]) => [
        key,
        key === 'message' && typeof entry === 'string' ? inCommonWords(entry) : comparable(entry),
      ]),
  )
}

function inCommonWords(message: string): string {
  for (const [geths, common] of WORDS) if (geths.test(message)) return message.replace(geths, common)
  return message
}

/** Hashes follow from the rest: what they are hashes of says more. */
const DERIVED = new Set([
  'hash',
  'parentHash',
  'blockHash',
  'transactionHash',
  'stateRoot',
  'receiptsRoot',
  'transactionsRoot',
  'logsBloom',
])

function firstDifference(ours: unknown, geths: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(ours, geths)) return undefined
  if (isObject(ours) && isObject(geths) && Array.isArray(ours) === Array.isArray(geths)) {
    const keys = [...new Set([...Object.keys(ours), ...Object.keys(geths)])]
    for (const key of [...keys.filter((name) => !DERIVED.has(name)), ...keys.filter((name) => DERIVED.has(name))]) {
      const found = firstDifference(ours[key], geths[key], Array.isArray(ours) ? `${path}[${key}]` : `${path}.${key}`)
      if (found !== undefined) return found
    }
  }
  const text = (value: unknown): string => (JSON.stringify(value) ?? 'absent').slice(0, 300)
  return `${path.slice(1)}: ${text(ours)}, geth ${text(geths)}`
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
