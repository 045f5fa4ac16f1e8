import { describe, expect, it } from 'vitest'
import { containDefect, reasonWithCause } from '../../../src/modules/containDefect.ts'
import { isSdkError, type SdkError, sdkError } from '../../../src/modules/sdkError.ts'

const failed = (cause: unknown): SdkError => {
  const outcome = containDefect(() => {
    throw cause
  })
  if (!isSdkError(outcome)) throw new Error('nothing failed')
  return outcome
}

describe('a contained defect', () => {
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
    expect(containDefect(() => 7)).toBe(7)
    expect(containDefect(() => sdkError('logic'))).toEqual(sdkError('logic'))
  })
})
