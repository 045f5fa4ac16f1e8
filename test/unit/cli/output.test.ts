import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { formatAnswer, formatYaml } from '../../../src/cli/output.ts'
import type { Json } from '../../../src/primitives/protoScalars.ts'
import { runs } from '../../propertyRuns.ts'

describe('text', () => {
  it('is YAML as the SDK’s programs print it', () => {
    const json = { height: '7', txs: [{ code: 0, log: '' }], empty: [], nested: { b: [1, 2], a: 'x: y' } }
    expect(formatYaml(json)).toBe(
      'empty: []\nheight: "7"\nnested:\n  a: "x: y"\n  b:\n  - 1\n  - 2\ntxs:\n- code: 0\n  log: ""\n',
    )
    expect(formatAnswer(json, { output: 'text' })).toBe(formatYaml(json))
    expect(JSON.parse(formatAnswer(json, {}))).toEqual(json)
  })

  it('is read back by another program, in both versions of YAML', () => {
    const words = fc.constantFrom(
      'yes',
      'null',
      '~',
      '1e5',
      '0x10',
      '1_000',
      '- a',
      '# b',
      'a: b',
      'a #b',
      '2026-01-01',
    )
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.oneof(words, fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(
          fc.oneof(words, fc.string()).filter((name) => name !== '__proto__'),
          tie('value'),
          { maxKeys: 3 },
        ),
      ) as fc.Arbitrary<Json>,
    }))
    fc.assert(
      fc.property(value, (json) => {
        for (const version of ['1.1', '1.2'] as const) {
          expect(parse(formatYaml(json), { version })).toEqual(json)
        }
      }),
      { numRuns: runs(200) },
    )
  })
})
