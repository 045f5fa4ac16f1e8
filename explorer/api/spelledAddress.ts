import { z } from 'zod'
import { type Address, parseTypedAddress } from '../../src/primitives/address.ts'

/** Characters of any spelling, and some that people add by mistake. */
const MAX_LENGTH = 100

/** A parameter that is an address in either spelling, for every route that takes one; its 20 bytes. Bad ones are told what is wrong. */
export const spelledAddress = z
  .string()
  .max(MAX_LENGTH)
  .transform((text, context): Address => {
    try {
      return parseTypedAddress(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  })
