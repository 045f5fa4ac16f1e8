import { describe, expect, it } from 'vitest'
import {
  bytesText,
  type ProgressUnit,
  SmoothedRate,
  secondsLeft,
  startProgress,
} from '../../../src/telemetry/progress.ts'

/** Work that does `perSecond` a second, tells its progress every `stepMs`, and is watched. */
function watch(options: {
  readonly unit?: ProgressUnit
  readonly columns?: number | undefined
  readonly from?: number
  readonly total?: number
  readonly perSecond: number
  readonly seconds: number
  readonly stepMs?: number
  readonly withLogger?: boolean
}) {
  const { unit = 'blocks', columns, from = 0, total, perSecond, seconds, stepMs = 10 } = options
  const written: string[] = []
  const logged: unknown[] = []
  let nowMs = 1_000_000
  const progress = startProgress({
    title: 'importing',
    unit,
    ...(total === undefined ? {} : { total }),
    ...(options.withLogger === true
      ? { logger: { info: (fields: unknown, text?: string) => logged.push({ ...Object(fields), text }) } }
      : {}),
    output: { columns: () => columns, write: (text) => written.push(text) },
    nowMs: () => nowMs,
  })
  for (let ms = 0; ms <= seconds * 1000; ms += stepMs, nowMs += stepMs) progress.update(from + (perSecond * ms) / 1000)
  const shown = [...written]
  progress.end()
  return { shown, afterEnd: written.slice(shown.length), logged }
}

describe('startProgress', () => {
  it('says nothing of what is over within a moment', () => {
    for (const columns of [undefined, 80]) {
      const { shown, afterEnd } = watch({ columns, total: 100, perSecond: 250, seconds: 0.4 })
      expect([...shown, ...afterEnd]).toEqual([])
    }
  })

  it('writes a line every ten seconds where there is no terminal, however often it is told', () => {
    const { shown, afterEnd } = watch({ total: 100_000, perSecond: 1_000, seconds: 35, stepMs: 1 })
    expect(shown).toEqual([
      'importing: 10,000 of 100,000 blocks, 10 %, 1,000 blocks/s, 1 min 30 s left\n',
      'importing: 20,000 of 100,000 blocks, 20 %, 1,000 blocks/s, 1 min 20 s left\n',
      'importing: 30,000 of 100,000 blocks, 30 %, 1,000 blocks/s, 1 min 10 s left\n',
    ])
    expect(afterEnd).toEqual([])
  })

  it('gives the lines to a log, as numbers', () => {
    const { shown, logged } = watch({ total: 1_000, perSecond: 20, seconds: 10, withLogger: true })
    expect(shown).toEqual([])
    expect(logged).toEqual([
      { blocks: 200, total: 1_000, percent: 20, secondsLeft: 40, blocksPerSecond: 20, text: 'importing' },
    ])
    const share = watch({ unit: 'share', total: 1, perSecond: 0.05, seconds: 10, withLogger: true })
    expect(share.logged).toEqual([{ percent: 50, secondsLeft: 10, text: 'importing' }])
  })

  it('draws one line of a terminal again and again, and removes it at the end', () => {
    const { shown, afterEnd } = watch({ columns: 120, total: 1_000, perSecond: 100, seconds: 5 })
    expect(shown).toHaveLength(23)
    const bar = `${'█'.repeat(15)}${'░'.repeat(15)}`
    expect(shown.at(-1)).toBe(`\rimporting ${bar} 490 of 1,000 blocks, 49 %, 100 blocks/s, 5 s left\u001b[K\r`)
    expect(afterEnd).toEqual(['\r\u001b[K'])
  })

  it('fits a narrow terminal', () => {
    const { shown } = watch({ columns: 40, total: 1_000, perSecond: 100, seconds: 2 })
    expect(shown.at(-1)).toBe('\rimporting 190 of 1,000 blocks, 19 %, 10\u001b[K\r')
  })

  it.each([
    [
      'bytes of a total',
      { unit: 'bytes', total: 5e9, perSecond: 12.34e6 },
      '123.4 MB of 5.0 GB, 2 %, 12.3 MB/s, 6 min 35 s left',
    ],
    ['no total', { unit: 'chunks', perSecond: 0.25 }, '2.5 chunks, 0.25 chunks/s'],
    ['a share', { unit: 'share', total: 1, perSecond: 0.0001 }, '0 %, 2 h 46 min left'],
    [
      'work that went on',
      { from: 900, total: 1_000, perSecond: 1 },
      '910 of 1,000 blocks, 91 %, 1 blocks/s, 1 min 30 s left',
    ],
    ['work that stands still', { from: 5, total: 9, perSecond: 0 }, '5 of 9 blocks, 55 %, 0 blocks/s'],
    ['days', { total: 79e6, perSecond: 500 }, '5,000 of 79,000,000 blocks, 0 %, 500 blocks/s, 1 d 19 h left'],
    ['more than was said', { from: 20, total: 10, perSecond: 1 }, '30 of 10 blocks, 100 %, 1 blocks/s, 0 s left'],
  ] as const)('shows %s', (_, options, text) => {
    expect(watch({ ...options, seconds: 10 }).shown).toEqual([`importing: ${text}\n`])
  })
})

describe('SmoothedRate', () => {
  it('follows a change within half a minute, without a jump', () => {
    const rate = new SmoothedRate(0)
    expect(rate.perSecond()).toBe(0)
    let value = 0
    const run = (perSecond: number, seconds: number, fromMs: number): number[] => {
      const seen: number[] = []
      for (let second = 1; second <= seconds; second++) {
        value += perSecond
        rate.measure(value, fromMs + second * 1000)
        seen.push(rate.perSecond())
      }
      return seen
    }
    rate.measure(0, 0)
    expect(run(100, 60, 0).every((each) => Math.abs(each - 100) < 1e-6)).toBe(true)
    const after = run(1000, 60, 60_000)
    expect(after[0]).toBeLessThan(200)
    expect(after[29]).toBeGreaterThan(800)
    expect(after).toEqual(after.toSorted((a, b) => a - b))
  })

  it('begins anew when what it measures does', () => {
    const rate = new SmoothedRate(0)
    rate.measure(1_000, 0)
    rate.measure(10, 1_000)
    rate.measure(20, 2_000)
    expect(rate.perSecond()).toBe(10)
  })
})

it('knows no time where nobody can', () => {
  expect(secondsLeft(1, undefined, 5)).toBeUndefined()
  expect(secondsLeft(1, 2, 0)).toBeUndefined()
  expect(secondsLeft(2, 2, 0)).toBe(0)
  expect(secondsLeft(0, 3, 2)).toBe(2)
})

it('writes bytes in the units of disks', () => {
  expect([0, 999, 1000, 999_949, 999_960, 1.5e9, 2e15].map(bytesText)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '1.5 GB',
    '2000.0 TB',
  ])
})
