import { describe, expect, it } from 'vitest'
import { type CacheableRequest, createAnswerCache } from '../../../../src/rpc/jsonrpc/answerCache.ts'
import {
  answerBuffer,
  answerLength,
  answerString,
  packText,
  resultAnswer,
  textOf,
} from '../../../../src/rpc/jsonrpc/resultText.ts'

const request: CacheableRequest = { from: 5, to: 5, method: 'eth_getBlockByNumber', params: ['0x5', true] }
const chain = { headHeight: 5, oldestBlock: 0 }

describe('kept answers', () => {
  it('are made once, for all who wait', async () => {
    const kept = createAnswerCache(10_000)
    const { promise, resolve } = Promise.withResolvers<string>()
    let runs = 0
    const run = (): Promise<string> => {
      runs++
      return promise
    }
    const both = [kept.find(chain, request, run), kept.find(chain, { ...request }, run)]
    resolve('{}')
    expect(await Promise.all(both)).toEqual(['{}', '{}'])
    expect(kept.find(chain, request, run)).toBe('{}')
    expect(runs).toBe(1)
  })

  it('are asked for again by who waited for a client that left', async () => {
    const kept = createAnswerCache(10_000)
    const first = kept.find(chain, request, () => Promise.reject(new Error('left')))
    const second = kept.find(chain, request, () => Promise.resolve('{}'))
    await expect(first).rejects.toThrow('left')
    expect(await second).toBe('{}')
    await expect(kept.find(chain, request, () => Promise.reject(new Error('left')))).rejects.toThrow('left')
  })

  it('are not given for a block that is not there, or no more', async () => {
    const kept = createAnswerCache(10_000)
    await kept.find(chain, request, () => Promise.resolve('{}'))
    const run = (): never => {
      throw new Error('asked')
    }
    expect(kept.find({ headHeight: 4, oldestBlock: 0 }, request, run)).toBeUndefined()
    expect(kept.find({ headHeight: 9, oldestBlock: 6 }, request, run)).toBeUndefined()
    expect(kept.find({ headHeight: 9, oldestBlock: 5 }, request, run)).toBe('{}')
  })

  it('stay within their bytes', async () => {
    const kept = createAnswerCache(8_000)
    let runs = 0
    const ask = (height: number, length: number): unknown =>
      kept.find(
        { headHeight: 1_000, oldestBlock: 0 },
        { ...request, from: height, to: height, params: [height] },
        () => {
          runs++
          return Promise.resolve('x'.repeat(length))
        },
      )
    await ask(1, 1_001)
    await ask(1, 1_001)
    expect(runs, 'a long one is not kept').toBe(2)
    for (let height = 2; height < 100; height++) await ask(height, 900)
    expect(ask(99, 900)).toBe('x'.repeat(900))
    await ask(2, 900)
    expect(runs, 'the oldest are dropped').toBe(101)
  })
})

describe('the text of a result', () => {
  it('is the same as bytes and as a string', () => {
    const text = JSON.stringify({ long: 'ä€😀'.repeat(10_000) })
    const packed = packText(text)
    expect(packed).toBeInstanceOf(Uint8Array)
    expect(packText('{}')).toBe('{}')
    expect(textOf(packed)).toBe(text)
    const whole = `{"jsonrpc":"2.0","id":"é","result":${text}}`
    for (const answer of [resultAnswer('"é"', packed), resultAnswer('"é"', text)]) {
      expect(answerString(answer)).toBe(whole)
      expect(answerBuffer(answer).toString()).toBe(whole)
      expect(answerLength(answer)).toBe(Buffer.byteLength(whole))
    }
  })
})
