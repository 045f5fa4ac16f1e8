import { z } from 'zod'
import { type Address, parseTypedAddress } from '../../src/primitives/address.ts'

/** Characters of any spelling, and some that people add by mistake. */
const MAX_LENGTH = 100

/** A parameter with an address in either spelling, read as 20 bytes. The error says what is wrong with an invalid one. */
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
