import { z } from 'zod'
import { decodeEthereumHeader, type EthereumHeader } from '../chain/block/ethereumBlock.ts'
import type { Address } from '../primitives/address.ts'
import { bytesToHex, compareBytes, decodeUtf8, equalBytes, hexToBytes } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import { DecodingError } from '../primitives/rlp.ts'
import { RULES } from '../storage/format.ts'
import { MAX_PACKED_BYTES, MAX_UNPACKED_BYTES } from './chunk.ts'

/*
 * `manifest.json` of a snapshot: which block it is of, and which chunks it has. It is not trusted:
 * a light client has to verify its light blocks, and each chunk is verified against the state root
 * that follows from them. Reading it checks everything that needs no other file.
 */

export const MANIFEST_NAME = 'manifest.json'
/**
 * Returns whether a directory has the name of a complete snapshot, its height, which it gets at the
 * end (see `makeSnapshot`).
 */
export function isSnapshotName(name: string): boolean {
  return /^[1-9]\d{0,14}$/.test(name)
}

/** More than a state of 400 GB needs. */
export const MAX_MANIFEST_BYTES = 16 << 20
export const MAX_CHUNKS = 65_536
/** The newest blocks in a snapshot: as many as `BLOCKHASH` and fee history reach back, 256 and 1,024. */
const SNAPSHOT_BLOCKS = 1024
const MAX_MIRRORS = 64
/** of base64: a light block of 10,000 validators has less than 2 MiB */
const MAX_LIGHT_BLOCK_TEXT = 3 << 20

/** A manifest that cannot be used, in one line. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

/** A snapshot cannot be made, or is invalid; the message says why, in one line. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/**
 * No server can deliver the files of a snapshot now, or no peer has one that can be restored; the
 * message says why, in one line.
 */
export class SnapshotUnavailableError extends Error {
  override readonly name = 'SnapshotUnavailableError'
}

export interface Manifest {
  /** native chain ID */
  readonly chainId: string
  readonly evmChainId: number
  readonly genesisHash: Hash
  /** of the block after which the state is */
  readonly height: number
  /** hash of the block's consensus header */
  readonly consensusHash: Hash
  /** RLP of its Ethereum header */
  readonly ethereumHeader: Uint8Array
  readonly ethereumHash: Hash
  readonly stateRoot: Hash
  /** tendermint.types.LightBlock of this height and of the two that follow */
  readonly lightBlocks: readonly [Uint8Array, Uint8Array, Uint8Array]
  /** URLs of directories with the same files */
  readonly mirrors: readonly string[]
  readonly chunks: readonly ManifestChunk[]
}

/** A chunk in a manifest. `first` and `last`: the range of keys in its trie that it has all leaves of, both included. */
export type ManifestChunk = ChunkFile &
  (
    | { readonly kind: 'accounts' | 'native'; readonly first: Hash; readonly last: Hash }
    | { readonly kind: 'storage'; readonly address: Address; readonly first: Hash; readonly last: Hash }
    | { readonly kind: 'codes' }
    | { readonly kind: 'blocks'; readonly from: number; readonly to: number }
  )

interface ChunkFile {
  /** of the file; its name too, see {@link chunkName} */
  readonly sha256: Hash
  readonly bytes: number
  readonly unpackedBytes: number
}

/** Returns the file of a chunk, in the directory of the manifest. */
export function chunkName({ sha256 }: Pick<ManifestChunk, 'sha256'>): string {
  return `${bytesToHex(sha256).slice(2)}.zst`
}

/** Messages name a chunk so. */
export function describeChunk(chunk: ManifestChunk): string {
  if (chunk.kind === 'codes') return 'contract code'
  if (chunk.kind === 'blocks') return `blocks ${chunk.from} to ${chunk.to}`
  const owner = chunk.kind === 'storage' ? ` of ${bytesToHex(chunk.address)}` : ''
  return `${chunk.kind}${owner} from ${bytesToHex(chunk.first).slice(0, 10)}… on`
}

/** Returns the schema of 0x and lower-case hex digits of so many bytes. */
export const hex = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-f]{${bytes * 2}}$`), `expected 0x and ${bytes * 2} lower-case hex digits`)
    .transform(hexToBytes)
/** A native chain ID: one line, since it is shown to the operator. */
export const chainId = z
  .string()
  .min(1)
  .max(50)
  .regex(/^[^\p{C}]+$/u, 'expected a line of text')
const hexOfAnyLength = z
  .string()
  .max(4096)
  .regex(/^0x([0-9a-f]{2})+$/, 'expected 0x and lower-case hex digits')
  .transform(hexToBytes)
const lightBlock = z
  .base64()
  .max(MAX_LIGHT_BLOCK_TEXT)
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64')))
const height = z.int().min(1)
/** URLs of directories with the same files */
export const mirrors = z
  .array(z.url({ protocol: /^https?$/ }).max(2048))
  .max(MAX_MIRRORS)
  .optional()

/** Checks whether a manifest may name these mirrors. @throws ManifestError */
export function checkMirrors(urls: readonly string[]): void {
  const { success } = mirrors.safeParse(urls)
  if (!success) {
    throw new ManifestError(
      `the mirrors cannot be used: a manifest names up to ${MAX_MIRRORS} addresses, which begin with http:// or https://`,
    )
  }
}

const file = {
  sha256: hex(32),
  bytes: z.int().min(1).max(MAX_PACKED_BYTES),
  unpacked_bytes: z.int().min(1).max(MAX_UNPACKED_BYTES),
}
const keyRange = { first: hex(32), last: hex(32) }
const chunkSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('accounts'), ...file, ...keyRange }),
  z.strictObject({ kind: z.literal('storage'), ...file, address: hex(20), ...keyRange }),
  z.strictObject({ kind: z.literal('native'), ...file, ...keyRange }),
  z.strictObject({ kind: z.literal('codes'), ...file }),
  z.strictObject({ kind: z.literal('blocks'), ...file, from: height, to: height }),
])
const schema = z.strictObject({
  format: z.literal(RULES),
  chain_id: chainId,
  evm_chain_id: z.int().min(1),
  genesis_hash: hex(32),
  height,
  consensus_hash: hex(32),
  ethereum_header: hexOfAnyLength,
  ethereum_hash: hex(32),
  state_root: hex(32),
  light_blocks: z.tuple([lightBlock, lightBlock, lightBlock]),
  mirrors,
  chunks: z.array(chunkSchema).min(1).max(MAX_CHUNKS),
})

/**
 * Reads a manifest: form, limits, and that the ranges of its chunks leave nothing out and have nothing twice.
 * @throws ManifestError
 */
export function readManifest(bytes: Uint8Array): Manifest {
  const data = parseManifest(bytes, schema, WHAT)
  const manifest: Manifest = {
    chainId: data.chain_id,
    evmChainId: data.evm_chain_id,
    genesisHash: data.genesis_hash,
    height: data.height,
    consensusHash: data.consensus_hash,
    ethereumHeader: data.ethereum_header,
    ethereumHash: data.ethereum_hash,
    stateRoot: data.state_root,
    lightBlocks: data.light_blocks,
    mirrors: data.mirrors ?? [],
    chunks: data.chunks.map(({ unpacked_bytes, ...chunk }) => ({ ...chunk, unpackedBytes: unpacked_bytes })),
  }
  checkHeader(manifest)
  checkChunks(manifest)
  return manifest
}

/**
 * Returns the content of a `manifest.json`.
 * @param what "the snapshot", for messages
 * @throws ManifestError
 */
export function parseManifest<T>(bytes: Uint8Array, form: z.ZodType<T>, what: string): T {
  if (bytes.length > MAX_MANIFEST_BYTES) {
    throw unusableManifest(what, `it has ${bytes.length} bytes, over ${MAX_MANIFEST_BYTES}`)
  }
  const json = parseJson(bytes, what)
  checkRules(json, what)
  const result = form.safeParse(json)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw unusableManifest(what, issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`)
}

/** @throws ManifestError when another version of the program wrote the manifest */
function checkRules(json: unknown, what: string): void {
  const format = typeof json === 'object' && json !== null && 'format' in json ? json.format : undefined
  if (typeof format !== 'number' || format === RULES) return
  throw unusableManifest(
    what,
    format < RULES
      ? `it has format ${format}: an older version of coind wrote it, whose rules differ. Name ${what} of a chain that this version runs`
      : `it has format ${format}: a newer version of coind wrote it. Use that version`,
  )
}

function parseJson(bytes: Uint8Array, what: string): unknown {
  const text = decodeUtf8(bytes)
  if (text === undefined) throw unusableManifest(what, 'it is not UTF-8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw unusableManifest(what, 'it is not JSON')
  }
  // The schema would look at millions of elements, and describe each that is wrong, before it counts them.
  for (const value of Object.values(json ?? {})) {
    if (Array.isArray(value) && value.length > MAX_CHUNKS) {
      throw unusableManifest(what, `a list in it has more than ${MAX_CHUNKS} elements`)
    }
  }
  return json
}

/** How much of a problem is shown: it may repeat names that are in the manifest, of any length. */
const SHOWN_LENGTH = 300

/** @param what as for {@link parseManifest} */
export function unusableManifest(what: string, problem: string): ManifestError {
  // What a stranger writes must not move the cursor of a terminal.
  const shown = problem.slice(0, SHOWN_LENGTH).replaceAll(/\p{C}/gu, '?')
  return new ManifestError(`the manifest of ${what} cannot be used: ${shown}`)
}

function checkHeader({ ethereumHeader, ethereumHash, stateRoot, height }: Manifest): void {
  if (!equalBytes(keccak256(ethereumHeader), ethereumHash)) fail('ethereum_hash is not that of ethereum_header')
  const header = decodeHeader(ethereumHeader)
  if (header.number !== height) fail(`ethereum_header is of block ${header.number}, the manifest of ${height}`)
  if (!equalBytes(header.stateRoot, stateRoot)) fail('state_root is not that of ethereum_header')
}

function decodeHeader(rlp: Uint8Array): EthereumHeader {
  try {
    return decodeEthereumHeader(rlp)
  } catch (error) {
    if (!(error instanceof DecodingError)) throw error
    return fail(`ethereum_header: ${error.message}`)
  }
}

const KINDS = ['accounts', 'storage', 'native', 'codes', 'blocks'] as const
const FIRST_KEY: Hash = new Uint8Array(32)
const LAST_KEY: Hash = new Uint8Array(32).fill(0xff)

/** Chunks are in the order of {@link KINDS}, those of a kind in the order of their ranges, and the ranges leave no gap. */
function checkChunks({ chunks, height }: Manifest): void {
  const names = new Set<string>()
  const storages = new Map<string, RangeChunk[]>()
  for (const [index, chunk] of chunks.entries()) {
    const place = `chunks.${index}: ${describeChunk(chunk)}`
    const name = chunkName(chunk)
    if (names.has(name)) fail(`${place}: the same file is listed twice`)
    names.add(name)
    const former = chunks[index - 1]
    if (former !== undefined && isBefore(chunk, former)) fail(`${place}: it comes before ${describeChunk(former)}`)
    if (chunk.kind !== 'storage') continue
    const owner = bytesToHex(chunk.address)
    const storage = storages.get(owner)
    if (storage === undefined) storages.set(owner, [chunk])
    else storage.push(chunk)
  }
  for (const kind of ['accounts', 'native'] as const) {
    checkTiling(
      kind,
      chunks.filter((chunk): chunk is RangeChunk => chunk.kind === kind),
    )
  }
  for (const [owner, storage] of storages) checkTiling(`storage of ${owner}`, storage)
  checkBlocks(
    chunks.filter((chunk) => chunk.kind === 'blocks'),
    height,
  )
}

type RangeChunk = Extract<ManifestChunk, { first: Hash }>

/** Returns whether `chunk` belongs before `former`, by its kind or by the account of its storage. */
function isBefore(chunk: ManifestChunk, former: ManifestChunk): boolean {
  if (chunk.kind !== former.kind) return KINDS.indexOf(chunk.kind) < KINDS.indexOf(former.kind)
  if (chunk.kind !== 'storage' || former.kind !== 'storage' || equalBytes(chunk.address, former.address)) return false
  return compareBytes(keccak256(chunk.address), keccak256(former.address)) < 0
}

/** Checks that the ranges of these chunks are all keys of a trie, each once, in ascending order. */
function checkTiling(what: string, chunks: readonly RangeChunk[]): void {
  let next: Hash | undefined = FIRST_KEY
  for (const { first, last } of chunks) {
    if (next === undefined) fail(`${what}: a range follows the last key`)
    if (!equalBytes(first, next)) fail(`${what}: expected a range from ${bytesToHex(next)} on`)
    if (compareBytes(first, last) > 0) fail(`${what}: the range from ${bytesToHex(first)} on ends before`)
    next = equalBytes(last, LAST_KEY) ? undefined : keyAfter(last)
  }
  if (next !== undefined) fail(`${what}: the ranges end before ${bytesToHex(next)}`)
}

function checkBlocks(chunks: readonly Extract<ManifestChunk, { from: number }>[], height: number): void {
  let next = oldestSnapshotBlock(height)
  for (const { from, to } of chunks) {
    if (from !== next || to < from || to > height) fail(`blocks ${from} to ${to} are not those from ${next} on`)
    next = to + 1
  }
  if (next !== height + 1) fail(`the blocks from ${next} on are missing`)
}

/** Returns the lowest block in a snapshot of this height. */
export function oldestSnapshotBlock(height: number): number {
  return Math.max(1, height - SNAPSHOT_BLOCKS + 1)
}

/** Returns the next key; `key` is not the last one. */
export function keyAfter(key: Hash): Hash {
  const next = key.slice()
  let at = 31
  while (next[at] === 0xff) next[at--] = 0
  next[at]!++
  return next
}

const WHAT = 'the snapshot'

function fail(problem: string): never {
  throw unusableManifest(WHAT, problem)
}

/** Returns the bytes of `manifest.json`: the same for the same manifest. */
export function encodeManifest(manifest: Manifest): Uint8Array {
  const { chainId, evmChainId, genesisHash, ethereumHeader, consensusHash, ethereumHash, stateRoot } = manifest
  const json = {
    format: RULES,
    chain_id: chainId,
    evm_chain_id: evmChainId,
    genesis_hash: bytesToHex(genesisHash),
    height: manifest.height,
    consensus_hash: bytesToHex(consensusHash),
    ethereum_header: bytesToHex(ethereumHeader),
    ethereum_hash: bytesToHex(ethereumHash),
    state_root: bytesToHex(stateRoot),
    light_blocks: manifest.lightBlocks.map((block) => Buffer.from(block).toString('base64')),
    ...(manifest.mirrors.length === 0 ? {} : { mirrors: manifest.mirrors }),
    chunks: manifest.chunks.map(chunkJson),
  }
  return new TextEncoder().encode(`${JSON.stringify(json)}\n`)
}

function chunkJson(chunk: ManifestChunk): Record<string, string | number> {
  const { kind, sha256, bytes, unpackedBytes } = chunk
  const json = { kind, sha256: bytesToHex(sha256), bytes, unpacked_bytes: unpackedBytes }
  if (chunk.kind === 'codes') return json
  if (chunk.kind === 'blocks') return { ...json, from: chunk.from, to: chunk.to }
  const range = { first: bytesToHex(chunk.first), last: bytesToHex(chunk.last) }
  return chunk.kind === 'storage' ? { ...json, address: bytesToHex(chunk.address), ...range } : { ...json, ...range }
}
