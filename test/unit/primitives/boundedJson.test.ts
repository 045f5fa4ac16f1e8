import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_JSON_DEPTH, parseBoundedJson } from '../../../src/primitives/boundedJson.ts'

const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth)

function depthOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0
  return 1 + Math.max(0, ...Object.values(json).map(depthOf))
}

function valuesOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 1
  return Object.values(json).reduce((sum: number, value) => sum + valuesOf(value), 1)
}

describe('parseBoundedJson', () => {
  it.each([
    { name: 'a text at the default depth', text: nested(MAX_JSON_DEPTH) },
    { name: 'brackets in strings', text: JSON.stringify(['['.repeat(100), '\\"{{', '"[']), bounds: { depth: 1 } },
    { name: 'closed values side by side', text: `[${Array(100).fill('{}')}]`, bounds: { depth: 2 } },
    { name: 'a length that is just allowed', text: '"abc"', bounds: { length: 5 } },
    { name: 'an empty object', text: '{}', bounds: { values: 2 } },
  ])('parses $name', ({ text, bounds }) => {
    const read = parseBoundedJson(text, { length: 10_000, ...bounds })
    expect(read).toMatchObject({ kind: 'parsed', json: JSON.parse(text) })
  })

  it.each([
    { text: nested(MAX_JSON_DEPTH + 1), reason: 'depth' },
    { text: nested(100_000), reason: 'depth' },
    { text: '['.repeat(100_000), reason: 'depth' },
    { text: '{"a":'.repeat(65), reason: 'depth' },
    { text: '"abcd"', reason: 'length', bounds: { length: 5 } },
    { text: '[1,2,3]', reason: 'values', bounds: { values: 3 } },
    { text: '', reason: 'syntax' },
    { text: ']]]]', reason: 'syntax' },
    { text: '"\\', reason: 'syntax' },
  ])('refuses by $reason', ({ text, reason, bounds }) => {
    const read = parseBoundedJson(text, { length: 1_000_000, ...bounds })
    expect(read).toEqual({ kind: 'refused', reason })
  })

  it('parses what JSON.parse does at exactly the depth that a text has, and bounds its values', () => {
    fc.assert(
      fc.property(fc.json({ depthSize: 'medium' }), (text) => {
        const json: unknown = JSON.parse(text)
        const depth = depthOf(json)
        const bounds = { length: text.length, depth, values: 1 + 2 * valuesOf(json) }
        const read = parseBoundedJson(text, bounds)
        expect(read).toEqual({ kind: 'parsed', json, values: expect.any(Number) })
        if (read.kind === 'parsed') expect(read.values).toBeGreaterThanOrEqual(valuesOf(json))
        if (depth > 0) expect(parseBoundedJson(text, { ...bounds, depth: depth - 1 }).kind).toBe('refused')
        const fewer = valuesOf(json) - 1
        if (fewer > 0) expect(parseBoundedJson(text, { ...bounds, values: fewer }).kind).toBe('refused')
      }),
    )
  })
})
