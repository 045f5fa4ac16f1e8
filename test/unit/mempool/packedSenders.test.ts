import { expect, it } from 'vitest'
import { packHashes, packSenders, unpackHashes, unpackSenders } from '../../../src/mempool/packedMessages.ts'

const hash = (index: number) => new Uint8Array(32).fill(index)
const address = (index: number) => new Uint8Array(20).fill(index)

it.each([[[]], [[1]], [[1, 2, 3, 4, 5]]])('the answer to %j names who is known, in order', (indices) => {
  const known = new Map(indices.filter((index) => index % 2 === 1).map((index) => [hash(index)[0], address(index)]))
  const answer = packSenders(packHashes(indices.map(hash)), (asked) => known.get(asked[31]))
  expect(unpackHashes(packHashes(indices.map(hash)))).toEqual(indices.map(hash))
  expect(unpackSenders(answer)).toEqual(indices.map((index) => (index % 2 === 1 ? address(index) : undefined)))
})
