import { encodeEthereumHeader } from '../../../src/chain/block/ethereumBlock.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, keccak256, ZERO_HASH } from '../../../src/primitives/hash.ts'
import type { Manifest, ManifestChunk } from '../../../src/snapshot/manifest.ts'

export const LAST_KEY: Hash = new Uint8Array(32).fill(0xff)

/** A key that begins with these hex digits, with this digit in all further places. */
export function keyOf(digits: string, rest: string): Hash {
  return hexToBytes(digits.padEnd(64, rest))
}

/** A manifest of block 5,000, whose chunks there are not. */
export function testManifest(changes: Partial<Manifest> = {}): Manifest {
  const stateRoot = new Uint8Array(32).fill(3)
  const ethereumHeader = encodeEthereumHeader({
    parentHash: ZERO_HASH,
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: new Uint8Array(20),
    stateRoot,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    difficulty: 0n,
    number: 5000,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: 1_700_000_000,
    extraData: new Uint8Array(0),
    mixHash: ZERO_HASH,
    nonce: new Uint8Array(8),
    baseFeePerGas: 1n,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: undefined,
    excessBlobGas: undefined,
    parentBeaconBlockRoot: undefined,
    requestsHash: undefined,
  })
  return {
    chainId: 'coin_76287-1',
    evmChainId: 76287,
    genesisHash: new Uint8Array(32).fill(1),
    height: 5000,
    consensusHash: new Uint8Array(32).fill(2),
    ethereumHeader,
    ethereumHash: keccak256(ethereumHeader),
    stateRoot,
    lightBlocks: [Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)],
    mirrors: ['https://mirror.example/snapshots/5000/'],
    chunks: testChunks(),
    ...changes,
  }
}

/** Two addresses in the order of their hashes. */
export const OWNERS = [new Uint8Array(20).fill(1), new Uint8Array(20).fill(2)].sort((a, b) =>
  Buffer.compare(keccak256(a), keccak256(b)),
) as [Uint8Array, Uint8Array]

/** Chunks of all kinds that fit together. */
export function testChunks(): ManifestChunk[] {
  let count = 0
  const file = () => ({ sha256: new Uint8Array(32).fill(0x40 + count++), bytes: 1000 + count, unpackedBytes: 8 << 20 })
  const [first, second] = OWNERS
  return [
    { kind: 'accounts', ...file(), first: ZERO_HASH, last: keyOf('7', 'f') },
    { kind: 'accounts', ...file(), first: keyOf('8', '0'), last: LAST_KEY },
    { kind: 'storage', ...file(), address: first, first: ZERO_HASH, last: keyOf('1234', '5') },
    { kind: 'storage', ...file(), address: first, first: keyOf('1234', '5').with(31, 0x56), last: LAST_KEY },
    { kind: 'storage', ...file(), address: second, first: ZERO_HASH, last: LAST_KEY },
    { kind: 'native', ...file(), first: ZERO_HASH, last: LAST_KEY },
    { kind: 'codes', ...file() },
    { kind: 'codes', ...file() },
    { kind: 'blocks', ...file(), from: 3977, to: 4500 },
    { kind: 'blocks', ...file(), from: 4501, to: 5000 },
  ]
}
