import { describe, expect, it } from 'vitest'
import { entryHash } from '../../../../../src/chain/block/entries.ts'
import { readJournal } from '../../../../../src/node/roles/pool/readJournal.ts'

/** A transaction of so many bytes; whose signature is wrong when it begins with 0xff. */
function rawOf(index: number, bytes = 100): Uint8Array {
  const raw = Buffer.alloc(bytes)
  raw.writeUInt32BE(index)
  return raw
}

const SENDER = new Uint8Array(20).fill(1)

async function* framesOf(...frames: readonly (readonly Uint8Array[])[]) {
  for (const frame of frames) yield frame
}

/** A pool that takes all, and what it was asked. */
function poolOf() {
  const asked: number[] = []
  const offered: Uint8Array[] = []
  const errors: unknown[] = []
  const stopping = new AbortController()
  return {
    asked,
    offered,
    errors,
    stopping,
    signal: stopping.signal,
    recoverSenders: async (raws: readonly Uint8Array[]) => {
      asked.push(raws.length)
      return raws.map((raw) => (raw[0] === 0xff ? undefined : SENDER))
    },
    admit: async (transactions: readonly { readonly raw: Uint8Array | string; readonly hash: Uint8Array }[]) => {
      for (const { raw, hash } of transactions) {
        expect(hash).toEqual(entryHash(raw as Uint8Array))
        offered.push(raw as Uint8Array)
      }
      return transactions.length
    },
    onError: (error: unknown) => void errors.push(error),
  }
}

describe('readJournal', () => {
  it('offers the transactions in order, a few at a time, whatever the frames', async () => {
    const pool = poolOf()
    const raws = Array.from({ length: 1_000 }, (_, index) => rawOf(index))
    const single = raws.slice(0, 150).map((raw) => [raw])
    const journal = framesOf(...single, raws.slice(150))
    expect(await readJournal({ ...pool, journal })).toEqual({ read: 1_000, admitted: 1_000 })
    expect(pool.offered).toEqual(raws)
    expect(pool.asked).toEqual([...Array(15).fill(64), 40])
  })

  it('takes fewer of large ones', async () => {
    const pool = poolOf()
    await readJournal({ ...pool, journal: framesOf(Array.from({ length: 5 }, (_, index) => rawOf(index, 30_000))) })
    expect(pool.asked).toEqual([2, 2, 1])
  })

  it('offers none whose signature is wrong', async () => {
    const pool = poolOf()
    const journal = framesOf([rawOf(1), rawOf(0xff000000), rawOf(2)], [rawOf(0xff000001)])
    expect(await readJournal({ ...pool, journal })).toEqual({ read: 4, admitted: 2 })
    expect(pool.offered).toEqual([rawOf(1), rawOf(2)])
  })

  it('leaves out a part at which the other threads fail, and continues', async () => {
    const pool = poolOf()
    const raws = Array.from({ length: 192 }, (_, index) => rawOf(index))
    const recoverSenders = async (part: readonly Uint8Array[]) => {
      if (part[0] === raws[64]) throw new Error('the thread has stopped')
      return pool.recoverSenders(part)
    }
    const journal = framesOf(raws)
    expect(await readJournal({ ...pool, recoverSenders, journal })).toEqual({ read: 192, admitted: 128 })
    expect(pool.errors).toEqual([new Error('the thread has stopped')])
  })

  it('ends with the node, and closes the file', async () => {
    const pool = poolOf()
    let isClosed = false
    const journal = (async function* () {
      try {
        for (let index = 0; ; index++) yield [rawOf(index)]
      } finally {
        isClosed = true
      }
    })()
    const admit = async () => {
      pool.stopping.abort()
      throw new Error('the thread has stopped')
    }
    expect(await readJournal({ ...pool, admit, journal })).toEqual({ read: 64, admitted: 0 })
    expect(pool.errors).toEqual([])
    expect(isClosed).toBe(true)
  })
})
