import { expect, it } from 'vitest'
import type { UnsignedProposal } from '../../../src/chain/comet/types.ts'
import { localKey } from '../../../src/consensus/consensusKey.ts'
import { validatorKey } from '../../../src/consensus/validatorKey.ts'
import { ValidatorKeys } from '../../../src/consensus/validatorKeys.ts'
import { verifyEd25519 } from '../../../src/primitives/ed25519.ts'

const [first, second, other] = [1, 2, 3].map((byte) => validatorKey(new Uint8Array(32).fill(byte)))
const setOf = (...keys: { readonly address: Uint8Array; readonly publicKey: Uint8Array }[]) => ({
  validators: keys.map(({ address, publicKey }) => ({ address, publicKey, power: 1n })),
})
const signBytes = Uint8Array.of(1, 2, 3)

function signedWith(keys: ValidatorKeys, height: number): 'first' | 'second' {
  const proposal = { height } as UnsignedProposal
  const signature = keys.sign({ kind: 'proposal', proposal, signBytes })
  if (!(signature instanceof Uint8Array)) throw new Error('a local key signs at once')
  return verifyEd25519(first!.publicKey, signBytes, signature) ? 'first' : 'second'
}

it('signs each height with the key in its set', () => {
  const keys = new ValidatorKeys([first!, second!].map(localKey))
  expect(keys.addresses).toEqual([first!.address, second!.address])
  keys.begin(5, setOf(other!, first!))
  expect([keys.address, signedWith(keys, 5)]).toEqual([first!.address, 'first'])
  keys.begin(6, setOf(second!, other!))
  expect([keys.address, keys.publicKey, signedWith(keys, 6)]).toEqual([second!.address, second!.publicKey, 'second'])
  // A remote signer may answer late.
  expect(signedWith(keys, 5)).toBe('first')
  expect(keys.at(5).address).toEqual(first!.address)
  keys.begin(6, setOf(second!, other!))
  expect(keys.at(5).address).toEqual(first!.address)
})

it('uses the first key while none is in the set, and one only where both are', () => {
  const keys = new ValidatorKeys([first!, second!].map(localKey))
  expect(keys.address).toEqual(first!.address)
  expect(keys.keyIn(setOf(other!)).address).toEqual(first!.address)
  expect(keys.keyIn(setOf(second!, first!)).address).toEqual(first!.address)
  expect(() => new ValidatorKeys([])).toThrow(RangeError)
})
