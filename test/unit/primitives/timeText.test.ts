import { describe, expect, it } from 'vitest'
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from '../../../src/primitives/timeText.ts'

/** Values are those of time.ParseDuration and time.Parse (RFC 3339) of Go 1.26, through jsonpb of gogoproto 1.7.0. */

describe('durations', () => {
  it.each([
    ['600s', 600_000_000_000n],
    ['1.5s', 1_500_000_000n],
    ['-5s', -5_000_000_000n],
    ['+5s', 5_000_000_000n],
    ['1h', 3_600_000_000_000n],
    ['48h0m0s', 172_800_000_000_000n],
    ['1m30s', 90_000_000_000n],
    ['1.5h', 5_400_000_000_000n],
    ['100ms', 100_000_000n],
    ['7us', 7_000n],
    ['7\u00b5s', 7_000n],
    ['7\u03bcs', 7_000n],
    ['1ns', 1n],
    ['1.s', 1_000_000_000n],
    ['.5s', 500_000_000n],
    ['0.000000001s', 1n],
    ['0.0000000001s', 0n],
    ['1.1234567890s', 1_123_456_789n],
    ['0', 0n],
    ['-0', 0n],
  ])('%s', (text, nanos) => expect(parseDuration(text)).toBe(nanos))

  it.each([
    '',
    '600',
    '00',
    's',
    '.s',
    '-',
    '1s5',
    '1..5s',
    '1e3s',
    '600S',
    '1d',
    ' 1s',
    '1s ',
    '1s-1s',
    '1 s',
    `${'1'.repeat(64)}s`,
  ])('but not %j', (text) => expect(parseDuration(text)).toBeUndefined())

  it.each([
    [1_814_400_000_000_000n, '1814400s'],
    [400_000_000n, '0.400s'],
    [-5_000_000_001n, '-5.000000001s'],
    [0n, '0s'],
  ])('of %d ns are written as %s and read again', (nanos, text) => {
    expect(formatDuration(nanos)).toBe(text)
    expect(parseDuration(text)).toBe(nanos)
  })
})

describe('times', () => {
  it.each([
    ['2026-01-01T00:00:00Z', 1_767_225_600_000_000_000n],
    ['2026-01-01T00:00:00.123456789Z', 1_767_225_600_123_456_789n],
    ['2026-01-01T01:00:00+01:00', 1_767_225_600_000_000_000n],
    ['2025-12-31T18:30:00.5-05:30', 1_767_225_600_500_000_000n],
    ['2026-01-01T00:00:00-00:00', 1_767_225_600_000_000_000n],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000_000n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000_000n],
    ['9999-12-31T23:59:59.999999999Z', 253_402_300_799_999_999_999n],
  ])('%s', (text, nanos) => expect(parseTimestamp(text)).toBe(nanos))

  it.each([
    '2026-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-12-31T23:59:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '2026-01-01T00:00:00+0100',
    '2026-01-01T00:00:00',
    '2026-01-01',
    '2026-01-01t00:00:00z',
    '',
  ])('but not %j', (text) => expect(parseTimestamp(text)).toBeUndefined())

  it.each([
    [1_767_225_600_400_000_000n, '2026-01-01T00:00:00.4Z', '2026-01-01T00:00:00.400Z'],
    [1_767_225_600_000_120_000n, '2026-01-01T00:00:00.00012Z', '2026-01-01T00:00:00.000120Z'],
    [-1n, '1969-12-31T23:59:59.999999999Z', '1969-12-31T23:59:59.999999999Z'],
    [0n, '1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
  ])('of %d ns are written with all decimals, or with groups of three', (nanos, text, grouped) => {
    expect(formatTimestamp(nanos)).toBe(text)
    expect(formatTimestamp(nanos, 3)).toBe(grouped)
    expect(parseTimestamp(grouped)).toBe(nanos)
  })
})
