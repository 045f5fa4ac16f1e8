import { describe, expect, it } from 'vitest'
import { recoverNatively } from '../../../src/primitives/secp256k1.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS, SelfTestError } from '../../../src/primitives/selfTest.ts'

describe('the self-test', () => {
  it('passes on this installation, with the native binding', () => {
    expect(recoverNatively).toBeDefined()
    checkKnownAnswers(PRIMITIVE_ANSWERS)
  })

  it('names what answers wrongly or fails, and what to do', () => {
    const [first, ...others] = PRIMITIVE_ANSWERS
    const check = (run: () => string) => () => checkKnownAnswers([...others, { ...first!, run }])
    expect(check(() => 'nonsense')).toThrow(SelfTestError)
    expect(check(() => 'nonsense')).toThrow(
      /^self-test: latin1Slice of Buffer returned nonsense instead of .*: run npm ci/s,
    )
    expect(
      check(() => {
        throw new TypeError('latin1Slice is not a function')
      }),
    ).toThrow(/^self-test: latin1Slice of Buffer fails \(latin1Slice is not a function\); .*: run npm ci/)
  })

  it('covers each function that is called', () => {
    const names = new Set(PRIMITIVE_ANSWERS.map(({ what }) => what.split(' ')[0]))
    expect([...names]).toEqual(['latin1Slice', 'hexSlice', 'ecdsaRecover', 'ecdsaVerify', 'publicKeyConvert'])
  })
})
