import { existsSync, readFileSync } from 'node:fs'
import { createBlockHeader } from '@ethereumjs/block'
import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { describe, expect, it } from 'vitest'
import {
  decodeEthereumHeader,
  type EthereumHeader,
  encodeEthereumHeader,
  ethereumHeaderHash,
  readEthereumHeader,
} from '../../../../src/chain/block/ethereumBlock.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { atEnd, encodeRLP, enterList, openRLP } from '../../../../src/primitives/rlp.ts'

const hash = (byte: number) => new Uint8Array(32).fill(byte)

const frontier: EthereumHeader = {
  parentHash: hash(1),
  sha3Uncles: hash(2),
  miner: new Uint8Array(20).fill(3),
  stateRoot: hash(4),
  transactionsRoot: hash(5),
  receiptsRoot: hash(6),
  logsBloom: new Uint8Array(256).fill(7),
  difficulty: 0n,
  number: 1_000_000,
  gasLimit: 30_000_000n,
  gasUsed: 21_000n,
  timestamp: 1_700_000_000,
  extraData: new TextEncoder().encode('coind'),
  mixHash: hash(8),
  nonce: new Uint8Array(8),
  baseFeePerGas: undefined,
  withdrawalsRoot: undefined,
  blobGasUsed: undefined,
  excessBlobGas: undefined,
  parentBeaconBlockRoot: undefined,
  requestsHash: undefined,
}
const london = { ...frontier, baseFeePerGas: 10n ** 9n }
const shanghai = { ...london, withdrawalsRoot: hash(9) }
const cancun = { ...shanghai, blobGasUsed: 131_072n, excessBlobGas: 0n, parentBeaconBlockRoot: hash(10) }
const prague = { ...cancun, requestsHash: hash(11) }

const HEADERS: readonly (readonly [Hardfork, EthereumHeader])[] = [
  [Hardfork.London, london],
  [Hardfork.Shanghai, shanghai],
  [Hardfork.Cancun, cancun],
  [Hardfork.Prague, prague],
]

describe('header codec', () => {
  it.each([['frontier', frontier] as const, ...HEADERS])('decodes what it encodes: %s', (_fork, header) => {
    expect(decodeEthereumHeader(encodeEthereumHeader(header))).toEqual(header)
  })

  it.each(HEADERS)('hashes as @ethereumjs/block does: %s', (hardfork, header) => {
    const common = createCustomCommon({}, Mainnet, { hardfork })
    const { miner, sha3Uncles, transactionsRoot, receiptsRoot, ...rest } = header
    const theirs = createBlockHeader(
      {
        ...rest,
        uncleHash: sha3Uncles,
        coinbase: bytesToHex(miner),
        transactionsTrie: transactionsRoot,
        receiptTrie: receiptsRoot,
      } as Parameters<typeof createBlockHeader>[0],
      { common, skipConsensusFormatValidation: true },
    )
    expect(bytesToHex(ethereumHeaderHash(header))).toBe(bytesToHex(theirs.hash()))
  })

  it.each<[string, Uint8Array, string]>([
    ['a short list', encodeRLP([hash(1)]), 'rlp: too few elements for types.Header'],
    ['further fields', encodeRLP([...itemsOf(prague), 1n]), 'rlp: input list has too many elements for types.Header'],
    ['bytes behind', Uint8Array.of(...encodeEthereumHeader(prague), 0), 'rlp: input contains more than one value'],
    [
      'a short parent hash',
      encodeRLP([hash(1).subarray(1)]),
      'rlp: input string too short for common.Hash, decoding into (types.Header).ParentHash',
    ],
  ])('refuses %s', (_name, bytes, message) => {
    expect(() => decodeEthereumHeader(bytes)).toThrow(message)
  })
})

const CHAIN = new URL('../../../../../shared/fixtures/rpc-compat/chain.rlp', import.meta.url)

describe.skipIf(!existsSync(CHAIN))('a chain of every fork', () => {
  it('links up by our hashes', () => {
    const target = { type: 'types.Block', path: '' }
    const cursor = openRLP(new Uint8Array(readFileSync(CHAIN)))
    let parent: EthereumHeader | undefined
    let blocks = 0
    while (!atEnd(cursor)) {
      const end = enterList(cursor, target)
      const header = readEthereumHeader(cursor)
      if (parent !== undefined) expect(header.parentHash).toEqual(ethereumHeaderHash(parent))
      expect(header.number).toBe((parent?.number ?? 0) + 1)
      cursor.offset = cursor.end
      cursor.end = end
      parent = header
      blocks++
    }
    expect(blocks).toBe(54)
    expect(bytesToHex(ethereumHeaderHash(parent!))).toMatch(/^0xd226371d.*dcd7$/)
  })
})

/** The header's fields in order, as RLP items. */
function itemsOf(header: EthereumHeader) {
  return Object.values(header).map((value) => (typeof value === 'number' ? BigInt(value) : value!))
}
