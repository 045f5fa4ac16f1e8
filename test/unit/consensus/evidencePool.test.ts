import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { createDuplicateVoteEvidence, evidenceSize } from '../../../src/chain/comet/evidence.ts'
import type { Evidence, Vote } from '../../../src/chain/comet/types.ts'
import { EvidencePool, type EvidencePoolOptions } from '../../../src/consensus/evidencePool.ts'
import {
  decodeEvidenceRecord,
  type EvidenceStore,
  encodeEvidenceRecord,
  openEvidenceFiles,
} from '../../../src/consensus/evidenceStore.ts'
import { runs } from '../../propertyRuns.ts'
import { blockOf, createValidators, voteOf } from '../../support/consensus/gossipWorld.ts'

const validators = createValidators(7)
const genesisHash = new Uint8Array(32).fill(0xab)
const GENESIS_MS = 1000

class MemoryStore implements EvidenceStore {
  readonly texts = new Map<string, string>()
  isBroken = false

  read() {
    return [...this.texts].map(([name, text]) => ({ name, text }))
  }

  write(name: string, text: string): void {
    if (this.isBroken) throw new Error('ENOSPC')
    this.texts.set(name, text)
  }

  remove(name: string): void {
    if (this.isBroken) throw new Error('EIO')
    this.texts.delete(name)
  }
}

const warnings: string[] = []
afterEach(() => warnings.splice(0))

function open(store: EvidenceStore, options: Partial<EvidencePoolOptions> = {}): EvidencePool {
  return new EvidencePool({
    genesisHash,
    genesisTimeMs: GENESIS_MS,
    params: { maxAgeBlocks: 10, maxAgeMs: 4000 },
    ownAddresses: [],
    store,
    last: { height: 4, timeMs: timeOf(4) },
    warn: (message) => warnings.push(message),
    ...options,
  })
}

const timeOf = (height: number) => GENESIS_MS + height * 400
const heightAt = (height: number) => ({ height, timeMs: timeOf(height) })

/** Two votes that an honest validator does not sign. */
function pairOf(index: number, height: number, fields: { timestampMs?: number; round?: number } = {}): [Vote, Vote] {
  const vote = { ...voteOf(validators, index, { height }), timestampMs: timeOf(height), ...fields }
  return [{ ...vote, blockId: blockOf(2, 1).blockId }, vote]
}

function evidenceOf(index: number, height: number): Evidence {
  return createDuplicateVoteEvidence(...pairOf(index, height), { validators, timeMs: timeOf(height) })
}

const ALL = 1e9

describe('two votes of one validator', () => {
  it('become evidence when their height is decided, with the time of its block', () => {
    const pool = open(new MemoryStore())
    expect(pool.addEquivocation(...pairOf(2, 5), validators)).toBeUndefined()
    expect(pool.pending(ALL)).toEqual([])
    expect(pool.decided(heightAt(5), [])).toEqual([evidenceOf(2, 5)])
    expect(pool.pending(ALL)).toEqual([evidenceOf(2, 5)])
    const { voteA, voteB, timestampMs, totalVotingPower, validatorPower } = pool.pending(ALL)[0]!
    expect({ timestampMs, totalVotingPower, validatorPower }).toEqual({
      timestampMs: timeOf(5),
      totalVotingPower: 70n,
      validatorPower: 10n,
    })
    // A nil block ID sorts first.
    expect([voteA.blockId.hash.length, voteB.blockId.hash.length]).toEqual([0, 32])
    expect(pool.decided(heightAt(5), [])).toEqual([])
    expect(warnings).toEqual(['a validator signed two different votes'])
  })

  it('of a decided height are evidence at once, the votes in whatever order', () => {
    const pool = open(new MemoryStore())
    for (const height of [5, 6, 7]) pool.decided(heightAt(height), [])
    const [first, second] = pairOf(1, 6)
    expect(pool.addEquivocation(second, first, validators)).toEqual(evidenceOf(1, 6))
    expect(pool.addEquivocation(...pairOf(3, 4), validators)).toEqual(evidenceOf(3, 4))
    expect(pool.addEquivocation(...pairOf(3, 3), validators)).toBeUndefined()
    expect(pool.pending(ALL)).toEqual([evidenceOf(3, 4), evidenceOf(1, 6)])
  })

  it('count once for a validator and height, in whatever rounds', () => {
    const pool = open(new MemoryStore())
    pool.addEquivocation(...pairOf(1, 5), validators)
    pool.addEquivocation(...pairOf(1, 5, { round: 3 }), validators)
    pool.addEquivocation(...pairOf(2, 5), validators)
    pool.addEquivocation(...pairOf(1, 6), validators)
    expect(pool.decided(heightAt(5), [])).toHaveLength(2)
    expect(pool.decided(heightAt(6), [])).toEqual([evidenceOf(1, 6)])
    expect(pool.addFromPeer(evidenceOf(1, 5))).toBe(false)
    expect(pool.size).toBe(3)
  })

  it('from before the genesis time are none', () => {
    const store = new MemoryStore()
    const pool = open(store)
    for (const order of [0, 1]) {
      const pair = pairOf(1, 5)
      pair[order] = { ...pair[order]!, timestampMs: GENESIS_MS - 1 }
      pool.addEquivocation(...pair, validators)
    }
    expect([pool.size, store.texts.size]).toEqual([0, 0])
  })

  it('of this node itself are evidence too, with a loud warning', () => {
    const pool = open(new MemoryStore(), { ownAddresses: [validators.validators[2]!.address] })
    pool.addEquivocation(...pairOf(2, 5), validators)
    expect(warnings[0]).toContain('THIS VALIDATOR SIGNED TWO DIFFERENT VOTES')
    expect(pool.decided(heightAt(5), [])).toHaveLength(1)
  })
})

describe('pending evidence', () => {
  it('is given oldest first, as much as fits', () => {
    const pool = open(new MemoryStore())
    const found = [evidenceOf(3, 4), evidenceOf(1, 2), evidenceOf(2, 3), evidenceOf(4, 2)]
    for (const evidence of found) expect(pool.addFromPeer(evidence)).toBe(true)
    const heights = (maxBytes: number) => pool.pending(maxBytes).map(({ voteA }) => voteA.height)
    expect(heights(ALL)).toEqual([2, 2, 3, 4])
    for (let count = 0; count <= 4; count++) {
      const bytes = evidenceSize(pool.pending(ALL).slice(0, count))
      expect(heights(bytes)).toHaveLength(count)
      if (count > 0) expect(heights(bytes - 1)).toHaveLength(count - 1)
    }
  })

  it('ends when a block reports it, and does not come back', () => {
    const store = new MemoryStore()
    const pool = open(store)
    pool.addFromPeer(evidenceOf(1, 3))
    pool.addEquivocation(...pairOf(2, 5), validators)
    pool.decided(heightAt(5), [evidenceOf(1, 3)])
    expect(pool.pending(ALL)).toEqual([evidenceOf(2, 5)])
    expect(pool.addFromPeer(evidenceOf(1, 3))).toBe(false)
    // Reported by others before this node saw it.
    pool.decided(heightAt(6), [evidenceOf(4, 5)])
    expect(pool.addEquivocation(...pairOf(4, 5), validators)).toBeUndefined()
    expect(pool.pending(ALL)).toEqual([evidenceOf(2, 5)])
    pool.remove(evidenceOf(2, 5))
    expect([pool.size, store.texts.size]).toEqual([0, 0])
  })

  it('ends with all pieces of a validator when a block reports one of them', () => {
    const store = new MemoryStore()
    const pool = open(store)
    pool.addFromPeer(evidenceOf(1, 3))
    pool.addEquivocation(...pairOf(1, 6), validators)
    pool.addFromPeer(evidenceOf(2, 3))
    pool.decided(heightAt(5), [evidenceOf(1, 4)])
    expect(pool.pending(ALL)).toEqual([evidenceOf(2, 3)])
    expect([pool.size, store.texts.size]).toEqual([1, 1])
    expect(pool.addFromPeer(evidenceOf(1, 2))).toBe(false)
    expect(pool.addEquivocation(...pairOf(1, 6), validators)).toBeUndefined()
    expect(pool.size).toBe(1)
  })

  it('of peers is wanted only where it would be added', () => {
    const pool = open(new MemoryStore())
    expect(pool.wants(evidenceOf(1, 4))).toBe(true)
    for (const height of [2, 3]) pool.addFromPeer(evidenceOf(1, height))
    pool.decided(heightAt(5), [evidenceOf(3, 4)])
    // Known, no room for a third, reported; and of another validator.
    const wanted = [evidenceOf(1, 2), evidenceOf(1, 4), evidenceOf(3, 3), evidenceOf(2, 3)].map((each) =>
      pool.wants(each),
    )
    expect(wanted).toEqual([false, false, false, true])
    pool.decided({ height: 100, timeMs: timeOf(100) }, [])
    expect(pool.wants(evidenceOf(2, 3))).toBe(false)
  })

  it('is left out for a growing time after blocks with it were not accepted', () => {
    const pool = open(new MemoryStore(), { params: { maxAgeBlocks: 1e6, maxAgeMs: 1e9 } })
    pool.addFromPeer(evidenceOf(1, 3))
    pool.addFromPeer(evidenceOf(2, 3))
    const proposedAt: number[] = []
    for (let height = 5; height < 200; height++) {
      const pending = pool.pending(ALL)
      expect(pending).toContainEqual(evidenceOf(2, 3))
      if (pending.length > 1) {
        proposedAt.push(height)
        pool.postpone([evidenceOf(1, 3)])
        // Nor in later rounds of the height.
        expect(pool.pending(ALL)).toEqual([evidenceOf(2, 3)])
      }
      pool.decided(heightAt(height), [])
    }
    expect(proposedAt).toEqual([5, 13, 29, 61, 125])
    pool.postpone([evidenceOf(6, 4)])
    expect(pool.size).toBe(2)
  })

  it('ends when it is older than both ages, or than twice the one in time', () => {
    const params = { maxAgeBlocks: 10, maxAgeMs: 6000 }
    const pool = open(new MemoryStore(), { params })
    pool.addFromPeer(evidenceOf(1, 4))
    pool.decided({ height: 15, timeMs: timeOf(4) + 6000 }, [])
    expect(pool.size).toBe(1)
    pool.decided({ height: 16, timeMs: timeOf(4) + 6001 }, [])
    expect(pool.size).toBe(0)
    expect(pool.addFromPeer(evidenceOf(1, 4))).toBe(false)
    const slow = open(new MemoryStore(), { params })
    slow.addFromPeer(evidenceOf(1, 4))
    slow.decided({ height: 13, timeMs: timeOf(4) + 12_000 }, [])
    expect(slow.size).toBe(1)
    slow.decided({ height: 14, timeMs: timeOf(4) + 12_001 }, [])
    expect(slow.size).toBe(0)
  })

  it('is bounded for each validator and in all', () => {
    const many = createValidators(300)
    const pool = open(new MemoryStore())
    for (let height = 5; height < 30; height++) pool.addEquivocation(...pairOf(1, height), validators)
    expect(pool.size).toBe(2)
    for (let height = 5; height < 8; height++) {
      for (let index = 0; index < 300; index++) {
        const vote = { ...voteOf(many, index, { height }), timestampMs: timeOf(height) }
        pool.addEquivocation({ ...vote, blockId: blockOf(2, 1).blockId }, vote, many)
      }
    }
    expect(pool.size).toBe(512)
  })
})

describe('after a crash', () => {
  it('every observer may die before the height is decided', () => {
    const store = new MemoryStore()
    open(store).addEquivocation(...pairOf(2, 5), validators)
    const pool = open(store)
    expect(pool.pending(ALL)).toEqual([])
    expect(pool.decided(heightAt(5), [])).toEqual([evidenceOf(2, 5)])
    expect(open(store, { last: heightAt(6) }).pending(ALL)).toEqual([evidenceOf(2, 5)])
  })

  it('a height that was decided just before it counts', () => {
    const store = new MemoryStore()
    open(store).addEquivocation(...pairOf(2, 5), validators)
    expect(open(store, { last: heightAt(5) }).pending(ALL)).toEqual([evidenceOf(2, 5)])
  })

  it('a pair whose block time nobody knows is dropped and reported', () => {
    const store = new MemoryStore()
    open(store).addEquivocation(...pairOf(2, 5), validators)
    warnings.length = 0
    expect(open(store, { last: heightAt(7) }).size).toBe(0)
    expect(warnings).toEqual(['the block time for evidence is not known, it is dropped'])
    expect(store.texts.size).toBe(0)
  })

  type Step =
    | { readonly do: 'equivocate'; readonly index: number; readonly ahead: number }
    | { readonly do: 'decide'; readonly reports: boolean }
    | { readonly do: 'crash' }
    | { readonly do: 'disk'; readonly isBroken: boolean }
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('equivocate' as const), index: fc.nat(6), ahead: fc.integer({ min: 0, max: 2 }) }),
      fc.record({ do: fc.constant('decide' as const), reports: fc.boolean() }),
      fc.record({ do: fc.constant('crash' as const) }),
      fc.record({ do: fc.constant('disk' as const), isBroken: fc.boolean() }),
    ),
    { maxLength: 60 },
  )

  it('anywhere, nothing that was seen is lost, and nothing that is committed comes back', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const store = new MemoryStore()
        const params = { maxAgeBlocks: 1000, maxAgeMs: 1e9 }
        let pool = open(store, { params })
        let height = 4
        const waiting = new Map<string, Evidence>()
        const reported = new Set<number>()
        const keyOf = ({ voteA }: Evidence) => `${String(voteA.height).padStart(3, '0')}/${voteA.validatorIndex}`
        const ofValidator = (index: number) => [...waiting].filter(([, { voteA }]) => voteA.validatorIndex === index)
        for (const step of script) {
          if (step.do === 'equivocate') {
            const evidence = evidenceOf(step.index, height + step.ahead)
            pool.addEquivocation(...pairOf(step.index, height + step.ahead), validators)
            const hasRoom = ofValidator(step.index).length < 2
            if (!reported.has(step.index) && hasRoom) waiting.set(keyOf(evidence), evidence)
          } else if (step.do === 'decide') {
            height++
            const pieces = step.reports ? pool.pending(700) : []
            for (const { voteA } of pieces) {
              reported.add(voteA.validatorIndex)
              for (const [key] of ofValidator(voteA.validatorIndex)) waiting.delete(key)
            }
            pool.decided(heightAt(height), pieces)
          } else if (step.do === 'crash') {
            // What a broken disk did not take is lost with the process, and not promised; so it recovers first.
            store.isBroken = false
            pool.decided(heightAt(height), [])
            pool = open(store, { params, last: heightAt(height) })
          } else {
            store.isBroken = step.isBroken
          }
          const ready = [...waiting.values()].filter(({ voteA }) => voteA.height <= height)
          const pending = pool.pending(ALL)
          const unreported = pending.filter(({ voteA }) => !reported.has(voteA.validatorIndex))
          expect(unreported.map(keyOf)).toEqual(ready.map(keyOf).sort())
          // A disk that failed to remove a file, and a crash: the application refuses it then, as there is nothing left to punish.
          if (!script.some((each) => each.do === 'disk')) expect(pending).toHaveLength(ready.length)
        }
      }),
      { numRuns: runs(300) },
    )
  })

  it('what a full disk did not take is written at the next block', () => {
    const store = new MemoryStore()
    const pool = open(store)
    store.isBroken = true
    pool.addEquivocation(...pairOf(2, 6), validators)
    expect(warnings).toContain('evidence cannot be written to disk')
    store.isBroken = false
    pool.decided(heightAt(5), [])
    expect(open(store, { last: heightAt(6) }).pending(ALL)).toEqual([evidenceOf(2, 6)])
  })
})

describe('files', () => {
  const directories: string[] = []
  afterEach(() => {
    for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
  })
  function newDirectory(): string {
    const directory = mkdtempSync(join(tmpdir(), 'coind-evidence-'))
    directories.push(directory)
    return join(directory, 'wal', 'evidence')
  }

  it('hold the evidence, for the owner alone, and go when it is committed', () => {
    const directory = newDirectory()
    const pool = open(openEvidenceFiles(directory))
    pool.addEquivocation(...pairOf(2, 5), validators)
    const [name] = readdirSync(directory)
    expect(statSync(join(directory, name!)).mode & 0o777).toBe(0o600)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(readdirSync(directory)).toHaveLength(1)
    const again = open(openEvidenceFiles(directory), { last: heightAt(5) })
    expect(again.pending(ALL)).toEqual([evidenceOf(2, 5)])
    again.decided(heightAt(6), [evidenceOf(2, 5)])
    expect(readdirSync(directory)).toEqual([])
  })

  it('that a crash left half-written do no harm', () => {
    const directory = newDirectory()
    open(openEvidenceFiles(directory)).addEquivocation(...pairOf(2, 5), validators)
    const [name] = readdirSync(directory)
    const text = readFileSync(join(directory, name!))
    writeFileSync(join(directory, `${name}.new`), text.subarray(0, 10))
    const store = openEvidenceFiles(directory)
    expect(readdirSync(directory)).toEqual([name])
    expect(open(store, { last: heightAt(5) }).pending(ALL)).toEqual([evidenceOf(2, 5)])
  })

  it('that are damaged are reported and removed, wherever the damage is', () => {
    const text = encodeEvidenceRecord({ kind: 'evidence', evidence: evidenceOf(2, 4) }, genesisHash)
    expect(decodeEvidenceRecord(text, genesisHash)).toEqual({ kind: 'evidence', evidence: evidenceOf(2, 4) })
    expect(decodeEvidenceRecord(text, new Uint8Array(32))).toBeUndefined()
    for (let length = 0; length < text.length; length++) {
      expect(decodeEvidenceRecord(text.slice(0, length), genesisHash)).toBeUndefined()
      const flipped = `${text.slice(0, length)}${String.fromCharCode(text.charCodeAt(length) ^ 1)}${text.slice(length + 1)}`
      expect(decodeEvidenceRecord(flipped, genesisHash)).toBeUndefined()
    }
    const directory = newDirectory()
    const store = openEvidenceFiles(directory)
    store.write('0000000000000004-aa', text.slice(0, 100))
    store.write('0000000000000004-bb', text)
    const pool = open(store)
    expect([pool.size, readdirSync(directory)]).toEqual([0, []])
    expect(warnings).toHaveLength(2)
  })

  it('that cannot be written are reported, and consensus goes on', () => {
    const directory = newDirectory()
    const pool = open(openEvidenceFiles(directory))
    rmSync(directory, { recursive: true })
    pool.addEquivocation(...pairOf(2, 5), validators)
    expect(warnings).toContain('evidence cannot be written to disk')
    expect(pool.decided(heightAt(5), [])).toEqual([evidenceOf(2, 5)])
  })
})
