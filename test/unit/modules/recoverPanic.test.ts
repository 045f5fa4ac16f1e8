import { describe, expect, it } from 'vitest'
import { reasonWithCause, recoverPanic } from '../../../src/modules/recoverPanic.ts'
import { isSdkError, type SdkError, sdkError } from '../../../src/modules/sdkError.ts'

const failed = (cause: unknown): SdkError => {
  const outcome = recoverPanic(() => {
    throw cause
  })
  if (!isSdkError(outcome)) throw new Error('nothing failed')
  return outcome
}

describe('a defect that a passed proposal comes upon', () => {
  it('says the same whatever it was, as a proposal keeps what it failed with', () => {
    for (const cause of [new TypeError('x is not a function'), 'text', undefined]) {
      expect(failed(cause)).toMatchObject({ codespace: 'undefined', code: 111_222, message: 'recovered: panic' })
    }
  })

  it('tells its cause where no hash is made of it', () => {
    expect(reasonWithCause(failed(new TypeError('x')))).toBe('recovered: panic: TypeError: x')
    expect(reasonWithCause(sdkError('logic'))).toBe('internal logic error')
  })

  it('leaves values and expected errors as they are', () => {
    expect(recoverPanic(() => 7)).toBe(7)
    expect(recoverPanic(() => sdkError('logic'))).toEqual(sdkError('logic'))
  })
})
