import { describe, expect, it } from 'vitest'
import { createClockWatch } from '../../../src/consensus/clockWatch.ts'

const NOW_MS = 1_750_000_000_000

function setUp() {
  let nowMs = 0
  const lines: string[] = []
  const offsets: number[] = []
  const note = (level: string) => (fields: object, message: string) =>
    lines.push(`${level} ${JSON.stringify(fields)} ${message.slice(0, 33)}`)
  const watch = createClockWatch({
    timing: { precisionMs: 500 },
    clock: { monotonicMs: () => nowMs },
    log: { info: note('info'), warn: note('warn') },
    onOffset: (offsetMs) => offsets.push(offsetMs),
  })
  /** Proposals that arrive so long after their time, 400 ms apart. */
  const arrive = (...delays: readonly number[]) => {
    for (const delayMs of delays) {
      nowMs += 400
      watch(NOW_MS + nowMs, NOW_MS + nowMs + delayMs)
    }
  }
  return { lines, offsets, arrive }
}

const repeat = (count: number, delayMs: number): number[] => new Array(count).fill(delayMs)

describe('the watch on the clock', () => {
  it('says nothing while most proposals arrive in time, whatever a single proposer or a slow line does', () => {
    const { lines, offsets, arrive } = setUp()
    for (let i = 0; i < 20; i++) arrive(40, 80, -3_600_000, 499, 3_000, 30)
    expect(lines).toEqual([])
    expect(offsets.at(-1)).toBe(80)
  })

  it.each([
    [3_600_000, 'ahead of'],
    [501, 'ahead of'],
    [-501, 'behind'],
    [-3_600_000, 'behind'],
  ] as const)(
    'warns after nine blocks that are %s ms off, once a minute, and says when that ends',
    (offsetMs, side) => {
      const { lines, offsets, arrive } = setUp()
      arrive(...repeat(8, offsetMs))
      expect(lines).toEqual([])
      arrive(...repeat(1 + 200, offsetMs))
      const warning = `warn {"offsetMs":${offsetMs},"allowedMs":500} this node's clock is ${side}`
      expect(lines.length).toBe(2)
      for (const line of lines) expect(line).toContain(warning.slice(0, 60))
      expect(offsets.at(-1)).toBe(offsetMs)
      arrive(...repeat(4, 20))
      expect(lines.length).toBe(2)
      arrive(20, ...repeat(20, 20))
      expect(lines.length).toBe(3)
      expect(lines.at(-1)).toMatch(/^info .*agrees/)
    },
  )
})
