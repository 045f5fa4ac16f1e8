import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, keyBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH, keccak256 } from '../../../src/primitives/hash.ts'
import { BoundedCache } from '../../../src/state/caches.ts'
import { decodeAccount, encodeAccount } from '../../../src/state/flatState.ts'
import { decodeAccountLeaf, encodeAccountLeaf, storageRootIn } from '../../../src/state/trie.ts'
import { ByteWriter, decodeAscending, VarintReader, writeAscending } from '../../../src/state/varint.ts'

const account = fc.record({
  nonce: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  balance: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  codeHash: fc.oneof(fc.constant(EMPTY_CODE_HASH), fc.uint8Array({ minLength: 32, maxLength: 32 })),
})

describe('codecs', () => {
  it('read accounts as they were written', () => {
    fc.assert(
      fc.property(account, (value) => {
        expect(decodeAccount(encodeAccount(value))).toEqual(value)
        const root = keccak256(value.codeHash)
        const leaf = encodeAccountLeaf(value, bytesKey(root))
        expect(decodeAccountLeaf(keyBytes(leaf))).toEqual({ account: value, storageRoot: root })
        expect(keyBytes(storageRootIn(leaf))).toEqual(root)
      }),
    )
    expect(decodeAccount(encodeAccount(undefined))).toBeUndefined()
    expect(encodeAccount({ nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }).length).toBe(1)
  })

  it('read ascending numbers as they were written', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 47 })), (numbers) => {
        const sorted = numbers.sort((a, b) => a - b)
        const writer = new ByteWriter()
        writeAscending(writer, sorted)
        expect(decodeAscending(new VarintReader(writer.finish()), sorted.length)).toEqual(sorted)
      }),
    )
    expect(() => new VarintReader(Uint8Array.of(0x80)).next()).toThrow('too early')
  })
})

describe('BoundedCache', () => {
  it('keeps what is used and at most its limit', () => {
    const cache = new BoundedCache<number>(100, () => 1)
    for (let i = 0; i < 1000; i++) {
      cache.set(`${i}`, i)
      cache.set('again', i)
      expect(cache.get('again')).toBe(i)
      if (i > 0) expect(cache.get('0') ?? 0).toBe(0)
    }
    let kept = 0
    for (let i = 0; i < 1000; i++) if (cache.get(`${i}`) !== undefined) kept++
    expect(kept).toBeGreaterThan(40)
    expect(kept).toBeLessThanOrEqual(100)
    expect(cache.get('999')).toBe(999)
  })
})
