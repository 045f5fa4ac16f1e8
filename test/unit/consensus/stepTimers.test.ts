import { describe, expect, it } from 'vitest'
import { type PaceAnchor, paceHeight } from '../../../src/consensus/stepTimers.ts'

const rules = { intervalMs: 400, maxLagMs: 10_000, followsOthers: false }
const anchor: PaceAnchor = { height: 10, atMs: 1000 }

describe('pace', () => {
  it.each([
    {
      what: 'the first height begins at once',
      anchor: undefined,
      height: 5,
      nowMs: 77,
      delayMs: 0,
      next: { height: 5, atMs: 77 },
    },
    { what: 'an early height waits', anchor, height: 11, nowMs: 1100, delayMs: 300, next: anchor },
    { what: 'a height on time does not', anchor, height: 12, nowMs: 1800, delayMs: 0, next: anchor },
    { what: 'a late one is made up for', anchor, height: 12, nowMs: 2500, delayMs: 0, next: anchor },
    {
      what: 'the schedule is kept over many heights',
      anchor,
      height: 1010,
      nowMs: 400_900,
      delayMs: 100,
      next: anchor,
    },
    { what: 'the largest lag is still made up for', anchor, height: 11, nowMs: 11_400, delayMs: 0, next: anchor },
    { what: 'a larger one is not', anchor, height: 11, nowMs: 11_401, delayMs: 0, next: { height: 11, atMs: 11_401 } },
  ])('$what', ({ anchor: from, height, nowMs, delayMs, next }) => {
    expect(paceHeight(from, height, nowMs, rules)).toEqual({ delayMs, anchor: next })
  })

  it('gives way, little by little, to the schedules of others', () => {
    const following = { ...rules, followsOthers: true }
    let own: PaceAnchor = anchor
    // The others are 300 ms later in all heights.
    for (let height = 11; height < 311; height++) {
      own = paceHeight(own, height, anchor.atMs + 400 * (height - 10) + 300, following).anchor
    }
    expect(own.atMs - anchor.atMs).toBeGreaterThan(290)
    expect(own.atMs - anchor.atMs).toBeLessThanOrEqual(300)
    expect(paceHeight(own, 312, anchor.atMs + 400 * 301 + 300, following).delayMs).toBeLessThanOrEqual(400)
  })

  it('waits no longer than the interval when others are ahead', () => {
    const paced = paceHeight(anchor, 12, 1100, { ...rules, followsOthers: true })
    expect(paced).toEqual({ delayMs: 400, anchor: { height: 12, atMs: 1500 } })
  })
})

describe('the schedules of four validators', () => {
  /** from the proposal to the decision */
  const decisionMs = 70

  it.each([
    { what: 'that began one after the other', offsets: [-4500, -3000, -1500, 0] },
    { what: 'one of which is far ahead', offsets: [0, 0, -9000, 0] },
    { what: 'that are a little apart', offsets: [-200, -400, 0, -100] },
    { what: 'one of which is behind', offsets: [0, 0, 0, 900] },
  ])('$what meet', ({ offsets }) => {
    const anchors: PaceAnchor[] = offsets.map((atMs) => ({ height: 1, atMs }))
    const starts: number[] = []
    let enteredMs = 0
    for (let height = 1; height < 80; height++) {
      const delays = anchors.map((own, index) => {
        const paced = paceHeight(own, height, enteredMs, { ...rules, followsOthers: true })
        anchors[index] = paced.anchor
        return paced.delayMs
      })
      starts.push(enteredMs + delays[height % 4]!)
      enteredMs = starts.at(-1)! + decisionMs
    }
    const gaps = starts.slice(40).map((start, index) => start - starts[39 + index]!)
    for (const gap of gaps) expect(Math.abs(gap - 400)).toBeLessThanOrEqual(decisionMs + 1)
    expect(Math.abs((starts.at(-1)! - starts[38]!) / 40 - 400)).toBeLessThan(4)
  })
})
