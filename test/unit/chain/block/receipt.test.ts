import { encodeReceipt as encodeTheirs } from '@ethereumjs/vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bloomBits,
  bloomMayContainAny,
  encodeReceipt,
  logsBloom,
  mergeBlooms,
} from '../../../../src/chain/block/receipt.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'

const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const logs = fc.array(
  fc.record({
    address: bytesOf(20),
    topics: fc.array(bytesOf(32), { maxLength: 4 }),
    data: fc.uint8Array({ maxLength: 100 }),
  }),
  { maxLength: 4 },
)

describe('encodeReceipt', () => {
  it('agrees with @ethereumjs/vm for every type', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0 as const, 1 as const, 2 as const, 3 as const, 4 as const),
        fc.oneof(fc.constantFrom(0 as const, 1 as const), bytesOf(32)),
        fc.bigInt({ min: 1n, max: 2n ** 40n }),
        logs,
        (type, status, cumulativeGasUsed, list) => {
          const bloom = logsBloom(list)
          const ours = encodeReceipt({ type, status, cumulativeGasUsed, logsBloom: bloom, logs: list })
          const outcome = typeof status === 'number' ? { status } : { stateRoot: status }
          const theirs = encodeTheirs(
            {
              ...outcome,
              cumulativeBlockGasUsed: cumulativeGasUsed,
              bitvector: bloom,
              logs: list.map(({ address, topics, data }) => [address, topics, data]),
            } as Parameters<typeof encodeTheirs>[0],
            type,
          )
          expect(bytesToHex(ours)).toBe(bytesToHex(theirs))
        },
      ),
    )
  })
})

describe('bloom filters', () => {
  it('hold each address and topic, alone and merged', () => {
    fc.assert(
      fc.property(logs, logs, (some, others) => {
        const merged = mergeBlooms([logsBloom(some), logsBloom(others)])
        expect(merged).toEqual(logsBloom([...some, ...others]))
        for (const { address, topics } of [...some, ...others]) {
          for (const item of [address, ...topics]) expect(bloomMayContainAny(merged, bloomBits([item]))).toBe(true)
        }
      }),
    )
  })

  it('are the union of those of each log, however often logs repeat what is before them', () => {
    const few = <T>(make: (byte: number) => T) => fc.constantFrom(...[1, 2].map(make))
    const log = fc.record({
      address: few((byte) => new Uint8Array(20).fill(byte)),
      topics: fc.array(
        few((byte) => new Uint8Array(32).fill(byte)),
        { maxLength: 4 },
      ),
      data: fc.constant(new Uint8Array()),
    })
    fc.assert(
      fc.property(fc.array(log, { maxLength: 6 }), (list) => {
        expect(logsBloom(list)).toEqual(mergeBlooms(list.map((one) => logsBloom([one]))))
      }),
    )
  })

  it('has the bits of the yellow paper', () => {
    // three bits for one address, from the first three pairs of bytes of its hash
    const bloom = logsBloom([{ address: new Uint8Array(20), topics: [], data: new Uint8Array(3) }])
    const bits = [...bloom].flatMap((byte, at) =>
      [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => byte & (1 << bit)).map((bit) => (255 - at) * 8 + bit),
    )
    // keccak256 of 20 zero bytes begins with 5380c7b7ae81
    expect(bits.sort((a, b) => a - b)).toEqual([0x5380 & 0x7ff, 0xae81 & 0x7ff, 0xc7b7 & 0x7ff].sort((a, b) => a - b))
    const other = new Uint8Array(20).fill(1)
    expect(bloomMayContainAny(bloom, bloomBits([other]))).toBe(false)
    expect(bloomMayContainAny(bloom, bloomBits([other, new Uint8Array(20)]))).toBe(true)
  })
})
