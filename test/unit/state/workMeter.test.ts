import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Journal } from '../../../src/state/journal.ts'
import { WORK_GAS, WorkMeter, WorkStopped } from '../../../src/state/workMeter.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const PREFIX = Uint8Array.of(7)
const VALUE = Uint8Array.of(1)
const keyOf = (number: number): Uint8Array => Uint8Array.of(7, number >> 8, number & 255)

/** A state with these keys. */
function stateWith(keys: readonly number[]): MemoryStateReader {
  const reader = new MemoryStateReader()
  for (const key of keys) reader.setNative(keyOf(key), VALUE)
  return reader
}

/** Gas of work that `run` causes. */
function gasOf({ native }: Journal, run: (native: Journal['native']) => unknown): number {
  const before = native.work.done
  run(native)
  return native.work.done - before
}

const walkAll = (native: Journal['native']): unknown => [...native.range(PREFIX)]

describe('work on native entries', () => {
  it('costs the same however often an entry was looked up before', () => {
    const journal = new Journal(new MemoryStateReader())
    const read = () => gasOf(journal, (native) => native.get(keyOf(1)))
    expect([read(), read()]).toEqual([WORK_GAS.read, WORK_GAS.read])
    journal.native.set(keyOf(1), VALUE)
    expect([read(), read()]).toEqual([WORK_GAS.read + 1, WORK_GAS.read + 1])
  })

  it('stays counted when it is reverted', () => {
    const journal = new Journal(new MemoryStateReader())
    const gas = gasOf(journal, (native) => {
      journal.checkpoint()
      native.set(keyOf(1), VALUE)
      journal.revert()
    })
    expect(gas).toBe(WORK_GAS.write + 4 * WORK_GAS.writeByte)
  })

  it('costs a walk nothing for keys that were added and are gone again, so that what a proposer left out changes no count', () => {
    const journal = new Journal(new MemoryStateReader())
    const empty = gasOf(journal, walkAll)
    journal.checkpoint()
    for (let i = 0; i < 1_000; i++) journal.native.set(keyOf(i), VALUE)
    for (let i = 0; i < 500; i++) journal.native.delete(keyOf(i))
    expect(gasOf(journal, walkAll)).toBe(empty + 500 * (WORK_GAS.step + WORK_GAS.read + WORK_GAS.readByte))
    journal.revert()
    expect(gasOf(journal, walkAll)).toBe(empty)
  })

  it('counts each stored key that a walk passes, also a deleted one', () => {
    const journal = new Journal(stateWith([...Array(100).keys()]))
    for (let i = 0; i < 100; i++) journal.native.delete(keyOf(i))
    expect(gasOf(journal, walkAll)).toBe(WORK_GAS.range + 100 * WORK_GAS.step)
  })

  it('is the same after any changes that were undone', () => {
    const change = fc.record({ key: fc.nat(20), isSet: fc.boolean() })
    fc.assert(
      fc.property(fc.array(change), fc.array(change), fc.array(fc.nat(20)), (before, undone, stored) => {
        const make = () => new Journal(stateWith(stored))
        const apply = ({ native }: Journal, changes: typeof before) => {
          for (const { key, isSet } of changes) {
            if (isSet) native.set(keyOf(key), VALUE)
            else native.delete(keyOf(key))
          }
        }
        const [plain, other] = [make(), make()]
        apply(plain, before)
        apply(other, before)
        other.checkpoint()
        apply(other, undone)
        other.revert()
        expect(gasOf(other, walkAll)).toBe(gasOf(plain, walkAll))
        expect([...other.native.range(PREFIX)]).toEqual([...plain.native.range(PREFIX)])
      }),
    )
  })
})

describe('a limited run', () => {
  it('ends at its limit, before the work beyond it', () => {
    const work = new WorkMeter()
    const done: number[] = []
    const run = work.limited(250n, () => {
      for (let i = 0; ; i++) {
        work.add(100)
        done.push(i)
      }
    })
    expect([run, done]).toEqual([{ kind: 'exceeded' }, [0, 1]])
    expect(work.limited(250n, () => work.add(250))).toMatchObject({ kind: 'done', gas: 250n })
  })

  it('ends at the limit of an outer run, which ends too', () => {
    const work = new WorkMeter()
    let hasContinued = false
    const outer = work.limited(100n, () => {
      work.limited(1_000n, () => work.add(500))
      hasContinued = true
    })
    expect([outer.kind, hasContinued]).toEqual(['exceeded', false])
  })

  it('leaves the outer run its own limit', () => {
    const work = new WorkMeter()
    const outer = work.limited(1_000n, () => {
      expect(work.limited(100n, () => work.add(500)).kind).toBe('exceeded')
      work.add(400)
      return 'reached'
    })
    expect(outer).toMatchObject({ kind: 'done', value: 'reached' })
    expect(work.left).toBe(Number.POSITIVE_INFINITY)
  })

  it('passes on what a deadline throws', () => {
    const work = new WorkMeter()
    work.pollWith(() => {
      throw new WorkStopped('too late')
    })
    expect(() => work.limited(1_000_000n, () => work.add(100))).toThrow('too late')
    work.pollWith(undefined)
    expect(work.limited(1_000_000n, () => work.add(100)).kind).toBe('done')
  })
})
