import { decode, decodeFirst } from 'cborg'

/*
 * solc ends a code with CBOR of a map, and its length in two bytes: https://docs.soliditylang.org/en/latest/metadata.html. In the map are
 * the hash of the metadata, which has the hashes of all sources, and the version of solc.
 */

/** A map in a code, with the two bytes of its length. */
export interface MetadataPlace {
  readonly start: number
  readonly length: number
}

/** Names of hashes: of IPFS, and of Swarm by older compilers. */
const HASHES = ['ipfs', 'bzzr0', 'bzzr1'] as const
/** The map is shorter than this: hash, version of a nightly build, a mark of experiments. */
const MAX_LENGTH = 200
const LENGTH_BYTES = 2
/** CBOR of maps with one to four entries. */
const MAP_1 = 0xa1
const MAP_4 = 0xa4

/** Whether the code ends with a hash of its metadata. */
export function hasMetadataHash(code: Uint8Array): boolean {
  if (code.length < LENGTH_BYTES) return false
  const length = lengthAt(code, code.length - LENGTH_BYTES)
  const start = code.length - LENGTH_BYTES - length
  return start >= 0 && isMetadata(code.subarray(start, start + length))
}

/** Whether these bytes are a map with a hash, and its length. */
export function isMetadataWithLength(bytes: Uint8Array): boolean {
  const length = bytes.length - LENGTH_BYTES
  return length > 0 && lengthAt(bytes, length) === length && isMetadata(bytes.subarray(0, length))
}

/**
 * Where the code has hashes of metadata: its own, and those of contracts that it creates. Bytes of the contract's own that only look like
 * it are left out, as they are the same in the code of the changed sources.
 * @param changed the code that the same compiler makes of sources with other metadata
 * @returns undefined when the bytecode differs in something else
 */
export function metadataPlaces(code: Uint8Array, changed: Uint8Array): readonly MetadataPlace[] | undefined {
  if (code.length !== changed.length) return undefined
  const places: MetadataPlace[] = []
  for (let at = 0; at < code.length; at++) {
    if (code[at] === changed[at]) continue
    const place = metadataAround(code, at)
    if (place === undefined) return undefined
    places.push(place)
    at = place.start + place.length - 1
  }
  return places
}

/** The map with a hash that has the byte at `at`. */
function metadataAround(code: Uint8Array, at: number): MetadataPlace | undefined {
  for (let start = at; start >= Math.max(0, at - MAX_LENGTH); start--) {
    const first = code[start]!
    if (first < MAP_1 || first > MAP_4) continue
    const length = metadataLength(code.subarray(start, start + MAX_LENGTH))
    if (length !== undefined && start + length > at) return { start, length }
  }
  return undefined
}

/** Length of the map at the start of these bytes, with its length field; undefined: there is no map. */
function metadataLength(bytes: Uint8Array): number | undefined {
  try {
    const [value, rest] = decodeFirst(bytes) as [unknown, Uint8Array]
    const length = bytes.length - rest.length
    const isOwn = isHashMap(value) && rest.length >= LENGTH_BYTES && lengthAt(bytes, length) === length
    return isOwn ? length + LENGTH_BYTES : undefined
  } catch {
    // cborg throws on bytes that are not CBOR.
    return undefined
  }
}

function isMetadata(bytes: Uint8Array): boolean {
  try {
    return isHashMap(decode(bytes))
  } catch {
    return false
  }
}

function isHashMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return HASHES.some((name) => (value as Record<string, unknown>)[name] instanceof Uint8Array)
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!
}
