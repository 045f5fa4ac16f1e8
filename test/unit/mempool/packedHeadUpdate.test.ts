import fc from 'fast-check'
import { expect, it } from 'vitest'
import { packHeadUpdate, unpackHeadUpdate } from '../../../src/mempool/packedMessages.ts'
import type { AccountState, PoolHeadUpdate } from '../../../src/mempool/types.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const integer = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n })
const plain = fc.record({
  nonce: integer(64n),
  balance: fc.oneof(integer(256n), integer(70n), fc.constantFrom(0n, 2n ** 256n - 1n)),
  code: fc.constantFrom<AccountState['code'][]>('none', 'contract', 'delegation'),
})
const state: fc.Arbitrary<AccountState> = fc
  .tuple(plain, fc.boolean())
  .map(([fields, isVesting]) => ({ ...fields, ...(isVesting && { isVesting }) }))
const updates: fc.Arbitrary<PoolHeadUpdate> = fc.record({
  height: fc.nat(),
  baseFeePerGas: integer(256n),
  minimumBaseFee: integer(256n),
  gasLimit: integer(64n),
  accounts: fc.array(fc.tuple(bytes(20), state), { maxLength: 10 }),
  included: fc.array(bytes(32), { maxLength: 10 }),
})

const shown = ({ accounts, included, ...head }: PoolHeadUpdate) => ({
  ...head,
  accounts: accounts.map(([address, account]) => [bytesToHex(address), account]),
  included: included.map(bytesToHex),
})

it('gives back what was packed', () => {
  fc.assert(
    fc.property(updates, (update) => {
      const packed = packHeadUpdate(update)
      expect(packed.length).toBe(packed.buffer.byteLength)
      expect(shown(unpackHeadUpdate(packed))).toEqual(shown(update))
    }),
  )
})
