import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  EventQueryError,
  type EventValues,
  heightRange,
  indexTerms,
  matchesEvents,
  parseEventQuery,
} from '../../../../src/rpc/events/eventQuery.ts'
import { runs } from '../../../propertyRuns.ts'

const values: EventValues = new Map([
  ['tm.event', ['Tx']],
  ['tx.height', ['5']],
  ['transfer.amount', ['5acoin', '1000000000000000000000acoin']],
  ['transfer.recipient', ['coin1abc']],
  ['proposal.end', ['2026-01-02T03:04:05Z']],
  ['rate.value', ['0.050000000000000000']],
])

describe('event queries', () => {
  it.each([
    ["tm.event='Tx'", true],
    ["tm.event = 'NewBlock'", false],
    ["tm.event='Tx' AND tx.height=5", true],
    ["tm.event='Tx' AND tx.height>5", false],
    ['tx.height>=5 AND tx.height<=5', true],
    ['tx.height<5', false],
    ["transfer.amount='5acoin'", true],
    ['transfer.amount>999999999999999999999', true],
    ['transfer.amount>1000000000000000000000', false],
    ["transfer.amount CONTAINS 'acoin'", true],
    ["transfer.amount CONTAINS 'other'", false],
    ['transfer.recipient EXISTS', true],
    ['transfer.nobody EXISTS', false],
    ['rate.value<0.06 AND rate.value>0.04', true],
    ['proposal.end>TIME 2026-01-01T00:00:00Z', true],
    ['proposal.end<DATE 2026-01-02', false],
    ["transfer.recipient='coin1abc' AND tm.event='Tx'", true],
    ['  tx.height  =  5  ', true],
    ['tx.height=-5', false],
  ])('%s', (text, expected) => {
    expect(matchesEvents(parseEventQuery(text), values)).toBe(expected)
  })

  it('have as many conditions as fit into 512 bytes', () => {
    expect(parseEventQuery(Array(50).fill('a.b=5').join(' AND ')).conditions).toHaveLength(50)
    expect(parseEventQuery(`x='${'a'.repeat(508)}'`).conditions).toHaveLength(1)
    expect(() => parseEventQuery(`x='${'a'.repeat(509)}'`)).toThrow('maximum query length exceeded')
  })

  it.each([
    '',
    ' ',
    'AND',
    'tx.height',
    'tx.height=',
    "tx.height='5",
    'tx.height=5 AND',
    'tx.height=5 OR tx.height=6',
    "tx.height>'5'",
    'tx.height=1.2.3',
    'a CONTAINS 5',
    "='x'",
    'x=TIME yesterday',
    "x='1' y='2'",
    `x='${'a'.repeat(509)}'`,
    `x='${'é'.repeat(300)}'`,
    '((x=1))',
  ])('are refused: %s', (text) => {
    expect(() => parseEventQuery(text)).toThrow(EventQueryError)
  })

  it('never throw anything else', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'txheight.= <>\'"\\5AND EXISTSCONTAINS') }), (text) => {
        try {
          matchesEvents(parseEventQuery(text), values)
        } catch (error) {
          expect(error).toBeInstanceOf(EventQueryError)
        }
      }),
      { numRuns: runs(3_000) },
    )
  })

  it.each([
    ['tx.height=5', [5, 5]],
    ['tx.height>5', [6, 100]],
    ['tx.height>=5 AND tx.height<50', [5, 49]],
    ['tx.height<5.5 AND tx.height>2.5', [3, 5]],
    ["tx.height='7'", [7, 7]],
    ['tx.height=5.5', [1, 0]],
    ['tx.height>5 AND tx.height<5', [1, 0]],
    ['tx.height>99999999999999999999999', [1, 0]],
    ['other=5', [1, 100]],
  ])('bound heights: %s', (text, expected) => {
    expect(heightRange(parseEventQuery(text), 'tx.height', 1, 100)).toEqual(expected)
  })

  it('name what an index can look up', () => {
    const query = parseEventQuery("tm.event='Tx' AND a.b='c' AND d.e>5 AND f.g EXISTS AND h.i CONTAINS 'j' AND k.l=5")
    expect(indexTerms(query, new Set(['tm.event']))).toEqual([
      { key: 'a.b', value: 'c' },
      { key: 'd.e' },
      { key: 'f.g' },
      { key: 'h.i' },
      { key: 'k.l' },
    ])
  })
})
