import fc from 'fast-check'
import { bytesToHex, decodeAbiParameters, encodeAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { decodeValues, encodeValues } from '../../../../../src/modules/precompileFunctions/abi/codec.ts'
import { runs } from '../../../../propertyRuns.ts'
import { anyType, toBytes } from '../../../../support/precompiles/abi/abiArbitrary.ts'

/** Parameters of random types with random values. */
const parameters = fc
  .array(anyType, { minLength: 1, maxLength: 5 })
  .chain((cases) => fc.tuple(fc.constant(cases), fc.tuple(...cases.map(({ values }) => values))))

describe('against viem', () => {
  it('encodes the same bytes and reads its own back', () => {
    fc.assert(
      fc.property(parameters, ([cases, values]) => {
        const fields = Object.fromEntries(cases.map(({ type }, index) => [`p${index}`, type]))
        const named = Object.fromEntries(values.map((value, index) => [`p${index}`, value]))
        const theirs = values.map((value, index) => cases[index]!.toViem(value))
        const encoded = encodeValues(fields, named)
        expect(bytesToHex(encoded)).toBe(
          encodeAbiParameters(
            cases.map(({ parameter }) => parameter),
            theirs,
          ),
        )
        expect(decodeValues(fields, encoded)).toEqual(named)
        // more than the arguments is no matter, less is
        expect(decodeValues(fields, Buffer.concat([encoded, Uint8Array.of(1, 2, 3)]))).toEqual(named)
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('refuses or reads changed encodings without breaking, and never reads what viem reads otherwise', () => {
    fc.assert(
      fc.property(
        parameters,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        ([cases, values], changes) => {
          const fields = Object.fromEntries(cases.map(({ type }, index) => [`p${index}`, type]))
          const list = cases.map(({ parameter }) => parameter)
          const encoded = toBytes(
            encodeAbiParameters(
              list,
              values.map((value, index) => cases[index]!.toViem(value)),
            ),
          )
          for (const [at, byte] of changes) encoded[at % encoded.length] = byte
          const ours = decodeValues(fields, encoded)
          if (ours === undefined) return
          const theirs = cases.map(({ toViem }, index) => toViem(ours[`p${index}`]))
          expect(decodeAbiParameters(list, encoded)).toEqual(theirs)
        },
      ),
      { numRuns: runs(1_000) },
    )
  })
})
