import { isIP } from 'node:net'
import { z } from 'zod'
import { type Address, AddressChecksumError, AddressError, parseTypedAddress } from '../primitives/address.ts'
import { hexToBytes } from '../primitives/bytes.ts'
import { type Hash, toHash } from '../primitives/hash.ts'
import { parseDuration } from '../primitives/timeText.ts'

/** Values that a variable may have: a description for documents and error messages, and the schema that reads them. */
export interface ValueKind<T> {
  /** completes "it must be …" */
  readonly expects: string
  readonly schema: z.ZodType<T, string>
}

/** A schema's message when the text has another form than `expects` says: the error then shows `expects` alone. */
export const WRONG_FORM = 'wrong form'

/** 10^18 acoin are one COIN. */
const COIN_DECIMALS = 18
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** Makes a kind whose values `read` reads; it returns undefined for a wrong text. */
function kind<T>(expects: string, read: (text: string) => T | undefined): ValueKind<T> {
  const schema = z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: WRONG_FORM })
    return z.NEVER
  })
  return { expects, schema }
}

/** One of `values`. */
export function choice<const V extends string>(values: readonly V[]): ValueKind<V> {
  return kind(`${values.slice(0, -1).join(', ')} or ${values.at(-1)}`, (text) => values.find((value) => value === text))
}

/** One or more of `values`, in the order in which they are given here. */
export function choices<const V extends string>(values: readonly V[]): ValueKind<readonly V[]> {
  return kind(`one or more of ${values.join(', ')}, separated by commas`, (text) => {
    const words = items(text.toLowerCase())
    const isList = words.length > 0 && words.every((word) => (values as readonly string[]).includes(word))
    return isList ? values.filter((value) => words.includes(value)) : undefined
  })
}

/** `true` or `false` (or 1 and 0). */
export const yesOrNo: ValueKind<boolean> = kind('true or false', (text) => {
  const word = text.toLowerCase()
  if (word === 'false' || word === '0') return false
  return word === 'true' || word === '1' ? true : undefined
})

/** A whole decimal number from `min` to `max`, both included. */
export function integer(min: number, max: number, unit = 'a whole number'): ValueKind<number> {
  return kind(`${unit} from ${min} to ${max}`, (text) => {
    if (!/^[0-9]{1,16}$/.test(text)) return undefined
    const value = Number(text)
    return value >= min && value <= max ? value : undefined
  })
}

/** Heights of blocks. */
export const heights: ValueKind<readonly number[]> = kind('block heights separated by commas', (value) => {
  const list = items(value)
  return list.every((item) => /^[1-9][0-9]{0,15}$/.test(item)) ? list.map(Number) : undefined
})

/** A duration, read as milliseconds: days, or as in Go (`336h`, `1h30m`). */
export const duration: ValueKind<number> = kind('a duration like 14d, 336h or 90m', (value) => {
  const days = /^([0-9]{1,5})d$/.exec(value)?.[1]
  const nanos = parseDuration(days === undefined ? value : `${Number(days) * 24}h`)
  const ms = Number((nanos ?? 0n) / 1_000_000n)
  return ms > 0 && Number.isSafeInteger(ms) ? ms : undefined
})

/** A part of a whole. */
export const share: ValueKind<number> = kind('a number from 0 to 1, like 0.05', (value) => {
  if (!/^[0-9](\.[0-9]{1,9})?$/.test(value)) return undefined
  return Number(value) <= 1 ? Number(value) : undefined
})

/** Names and values of HTTP headers, in the form of OpenTelemetry and of W3C Baggage: values are percent-encoded. */
export const headerList: ValueKind<Readonly<Record<string, string>>> = kind(
  'headers like name=value, separated by commas',
  (value) => {
    const pairs = items(value).map((item) => /^([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*([\x20-\x7e]*)$/.exec(item))
    const entries: [string, string][] = []
    for (const pair of pairs) {
      const decoded = pair === null ? undefined : percentDecoded(pair[2]!)
      if (decoded === undefined) return undefined
      entries.push([pair![1]!, decoded])
    }
    return Object.fromEntries(entries)
  },
)

export const port: ValueKind<number> = integer(1, 65_535, 'a port')

/** An amount in COIN with up to 18 decimals; read as acoin. */
export function coinAmount(minCoin: bigint, maxCoin: bigint): ValueKind<bigint> {
  return kind(`an amount in COIN from ${minCoin} to ${maxCoin}`, (text) => {
    const match = /^([0-9]{1,30})(?:\.([0-9]{1,18}))?$/.exec(text)
    if (match === null) return undefined
    const acoin = BigInt(match[1]! + (match[2] ?? '').padEnd(COIN_DECIMALS, '0'))
    const unit = 10n ** BigInt(COIN_DECIMALS)
    return acoin >= minCoin * unit && acoin <= maxCoin * unit ? acoin : undefined
  })
}

export const account: ValueKind<Address> = {
  expects: 'an address: 0x and 40 hex digits, or coin1…',
  schema: z.string().transform((text, context): Address => {
    try {
      return parseTypedAddress(text)
    } catch (error) {
      if (!(error instanceof AddressError)) throw error
      const message = error instanceof AddressChecksumError ? error.message : WRONG_FORM
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
  }),
}

export const hash: ValueKind<Hash> = kind('64 hex digits', (text) => {
  const digits = text.replace(/^0x/i, '')
  return /^[0-9a-f]{64}$/i.test(digits) ? toHash(hexToBytes(digits)) : undefined
})

/** A line of printable text. */
export function text(maxLength: number): ValueKind<string> {
  return kind(`1 to ${maxLength} printable characters`, (value) =>
    value.length <= maxLength && /^[^\p{C}]+$/u.test(value) ? value : undefined,
  )
}

export const directory: ValueKind<string> = kind('a path', (value) => (value.includes('\0') ? undefined : value))

export const httpUrl: ValueKind<string> = kind('a URL, http://… or https://…', (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? value : undefined
})

export const host: ValueKind<string> = kind('an IP address or a host name', (value) =>
  isHost(value) ? value : undefined,
)

export const hostNames: ValueKind<readonly string[]> = kind('host names separated by commas', (value) => {
  const names = items(value.toLowerCase())
  return names.length > 0 && names.every(isHost) ? names : undefined
})

export const hostAndPort: ValueKind<string> = kind('host:port', (value) => (isHostAndPort(value) ? value : undefined))

export const nodeId: ValueKind<string> = kind('a node ID, 40 hex digits, or a libp2p peer ID', (value) =>
  isNodeId(value) ? value : undefined,
)

export const nodeIds: ValueKind<readonly string[]> = kind('node IDs separated by commas', (value) => {
  const ids = items(value)
  return ids.every(isNodeId) ? ids : undefined
})

export interface PeerAddress {
  readonly id: string
  /** host:port */
  readonly address: string
}

export const peerList: ValueKind<readonly PeerAddress[]> = kind('id@host:port, separated by commas', (value) => {
  const peers = items(value).map((item) => {
    const at = item.indexOf('@')
    return { id: item.slice(0, Math.max(at, 0)), address: item.slice(at + 1) }
  })
  return peers.every((peer) => isNodeId(peer.id) && isHostAndPort(peer.address)) ? peers : undefined
})

/** Where remote signers dial in. */
export type SignerAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

export const signerAddress: ValueKind<SignerAddress> = kind('tcp://host:port or unix:///path', (value) => {
  const [, scheme, rest = ''] = /^(tcp|unix):\/\/(.+)$/.exec(value) ?? []
  if (scheme === 'unix') return rest.startsWith('/') && !rest.includes('\0') ? { kind: 'unix', path: rest } : undefined
  if (scheme !== 'tcp' || !isHostAndPort(rest)) return undefined
  const colon = rest.lastIndexOf(':')
  const name = rest.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { kind: 'tcp', host: name, port: Number(rest.slice(colon + 1)) }
})

/** ed25519 public keys, 32 bytes each. */
export const publicKeys: ValueKind<readonly Uint8Array[]> = kind(
  'ed25519 public keys in base64 or as 64 hex digits, separated by commas',
  (value) => {
    const keys = items(value).map((item) => Buffer.from(item, /^[0-9a-f]{64}$/i.test(item) ? 'hex' : 'base64'))
    return keys.every((key) => key.length === 32) ? keys.map((key) => new Uint8Array(key)) : undefined
  },
)

/** The IP addresses whose first `prefix` bits are those of `address`. */
export interface AddressRange {
  readonly address: string
  readonly prefix: number
}

/** A single address is the range that holds it alone. */
export const addressRanges: ValueKind<readonly AddressRange[]> = kind(
  'IP addresses, or ranges like 10.0.0.0/8, separated by commas',
  (value) => {
    const ranges = items(value).map(addressRange)
    return ranges.every((range) => range !== undefined) ? ranges : undefined
  },
)

function addressRange(text: string): AddressRange | undefined {
  const [, address = '', digits] = /^([^/%]+)(?:\/([0-9]{1,3}))?$/.exec(text) ?? []
  const bits = isIP(address) === 4 ? 32 : 128
  const prefix = digits === undefined ? bits : Number(digits)
  return isIP(address) !== 0 && prefix <= bits ? { address, prefix } : undefined
}

/** `*`, or web origins; none for `none`. */
export const origins: ValueKind<readonly string[]> = kind('*, none, or origins like https://app.example', (value) => {
  if (value === 'none') return []
  const list = items(value)
  if (list.length === 1 && list[0] === '*') return list
  // The origin of a browser extension has a scheme of its own, for which URL returns the origin "null".
  return list.length > 0 && list.every((origin) => /^[a-z][a-z0-9+.-]*:\/\/[^/\s*?#@]+$/i.test(origin))
    ? list
    : undefined
})

/** `archive`, or the number of blocks whose state is retained. */
export const pruningMode: ValueKind<'archive' | number> = kind(
  'archive, or a number of blocks from 1 to 1000000000',
  (value) => (value === 'archive' ? value : integer(1, 1_000_000_000).schema.safeParse(value).data),
)

function items(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Decodes a text; undefined: it has a wrong escape, or one of a character that no header may have. */
function percentDecoded(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value)
    return /^[\x20-\x7e]*$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

function isHost(value: string): boolean {
  return isIP(value) !== 0 || HOST_NAME.test(value)
}

function isHostAndPort(value: string): boolean {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(value)
  if (match === null) return false
  const number = Number(match[3])
  return (match[1] === undefined ? isHost(match[2]!) : isIP(match[1]) === 6) && number >= 1 && number <= 65_535
}

function isNodeId(value: string): boolean {
  return /^[0-9a-f]{40}$/.test(value) || /^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/.test(value)
}
